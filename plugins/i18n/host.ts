import * as z from 'zod'
import { type Call, command, type Json, type Plugin, type SolutionFacts, type Tables } from '../../runtime/plugin.ts'

/** What the binding `i18n` needs of the host. */
export interface I18nPorts {
  /** The locale of the call, such as `nl` or `nl-BE`. */
  locale(call: Call): string
  /**
   * Texts by locale (`default`, `nl`, `nl-BE`): the solution's own, and under names that start with `platform ` the
   * platform's, which are used where the solution has none.
   */
  tables(solution: SolutionFacts): Tables
  setLocale(call: Call, locale: string): void
  /** null takes the override back. */
  setMessage(call: Call, key: string, text: string | null): void
}

const Language = z.string().regex(/^[a-z]{2,3}$/)
const Country = z.string().regex(/^([A-Z]{2}|[0-9]{3})$/)

export default function i18n(ports: I18nPorts): Plugin {
  return {
    name: 'i18n',
    guest: new URL('./guest.ts', import.meta.url),
    commands: {
      setLocale: command(
        z.tuple([Language, Country.nullable()]),
        (call, [language, country]) => ports.setLocale(call, country === null ? language : `${language}-${country}`),
        { withoutLogin: true },
      ),
      setMessage: command(
        z.tuple([z.string().min(1).max(200), z.string().max(20_000).nullable()]),
        (call, [key, text]) => ports.setMessage(call, key, text),
        { withoutLogin: true },
      ),
    },
    tables: (solution) => ports.tables(solution),
    state: (call): Json => ports.locale(call),
  }
}
