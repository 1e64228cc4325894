import { type Call, command, type Json, type Plugin, type Tables } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'

/** The host services behind the binding `i18n`. */
export interface I18nPorts {
  /** The locale of the call, such as `nl` or `nl-BE`. */
  locale(call: Call): string
  /**
   * The texts that the client's scripts have set so far, including in this call. Null if texts are not stored between
   * calls.
   */
  messages(call: Call): ReadonlyMap<string, string> | null
  /**
   * The fallback for the solution's own texts, by locale (`default`, `nl`, `nl-BE`) with the prefix `platform `.
   */
  readonly platformTables: Tables
  setLocale(call: Call, locale: string): void
  /** Overrides the text for a key. null removes the override. */
  setMessage(call: Call, key: string, text: string | null): void
  /** Reports a key that no table contains, once per context. */
  missing(call: Call, key: string): void
}

const Language = z.string().regex(/^[a-z]{2,3}$/)
const Country = z.string().regex(/^([A-Z]{2}|[0-9]{3})$/)
const Key = z.string().min(1).max(200)
/**
 * Maximum number of texts that a client stores, and of characters in them, including keys. All of them are sent with
 * each call.
 */
const MOST_MESSAGES = 200
const MOST_MESSAGE_TEXT = 65_536

export default function i18n(ports: I18nPorts): Plugin {
  return {
    name: 'i18n',
    onlyIfNamed: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {
      setLocale: command(
        z.tuple([Language, Country.nullable()]),
        (call, [language, country]) => ports.setLocale(call, country === null ? language : `${language}-${country}`),
        { withoutLogin: true },
      ),
      setMessage: command(
        z.tuple([Key, z.string().max(20_000).nullable()]),
        (call, [key, text]) => {
          // The binding throws this error in the script first, so only a compromised guest gets here.
          if (text === null || hasRoom(ports.messages(call), key, text)) ports.setMessage(call, key, text)
        },
        { withoutLogin: true },
      ),
      missing: command(z.tuple([Key]), (call, [key]) => ports.missing(call, key), { withoutLogin: true }),
    },
    tables: ({ texts }) => texts,
    sharedTables: ports.platformTables,
    state: (call): Json => stateOf(ports.locale(call), ports.messages(call)),
  }
}

/** For logins, the state is a plain string, which keeps each login message small. */
function stateOf(locale: string, messages: ReadonlyMap<string, string> | null): Json {
  return messages === null || messages.size === 0 ? locale : { locale, messages: Object.fromEntries(messages) }
}

function hasRoom(messages: ReadonlyMap<string, string> | null, key: string, text: string): boolean {
  if (messages === null) return true
  const others = [...messages].filter(([other]) => other !== key)
  const size = others.reduce((sum, [other, value]) => sum + other.length + value.length, key.length + text.length)
  return others.length < MOST_MESSAGES && size <= MOST_MESSAGE_TEXT
}
