import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'
import { createChecks } from './checks.guest.ts'
import { createMissing } from './missing.guest.ts'

/** The locale, and the texts that the client's scripts have set, if any. */
type State = string | { readonly locale: string; readonly messages: Record<string, string> }

export default function i18n(api: GuestApi<null, State>) {
  const { safe } = api
  const { readLanguage, readCountry, readKey } = createChecks(api)
  const missing = createMissing(api)
  // Limits for the texts that a client stores between calls; host.ts enforces the same limits.
  const MOST_MESSAGES = 200
  const MOST_MESSAGE_TEXT = 65_536
  let language = 'en'
  let country = ''
  let overrides = api.record<string>()

  api.onCall((state, lastCounted) => {
    const locale = typeof state === 'string' ? state : state.locale
    const dash = safe.indexOf(locale, '-')
    language = dash < 0 ? locale : safe.slice(locale, 0, dash)
    country = dash < 0 ? '' : safe.slice(locale, dash + 1)
    overrides = api.record()
    if (typeof state !== 'string') copyMessages(state.messages)
    missing.nextCall(lastCounted)
  })

  function copyMessages(messages: Record<string, string>): void {
    const names = safe.keys(messages)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      overrides[name] = messages[name] as string
    }
  }

  /** @throws RangeError if the client's texts would exceed a limit */
  function needRoom(name: string, value: string): void {
    const names = safe.keys(overrides)
    let count = 1
    let size = name.length + value.length
    for (let index = 0; index < names.length; index++) {
      const other = names[index] as string
      if (other === name) continue
      count++
      size += other.length + (overrides[other] as string).length
    }
    if (count <= MOST_MESSAGES && size <= MOST_MESSAGE_TEXT) return
    throw new safe.RangeError(
      `i18n.setI18NMessage: a client can have at most ${MOST_MESSAGES} texts with ${MOST_MESSAGE_TEXT} characters in total, including keys; this change would result in ${count} texts with ${size} characters`,
    )
  }

  function find(key: string, inLanguage: string, inCountry: string): string | null {
    if (safe.hasOwn(overrides, key)) return overrides[key] as string
    const full = `${inLanguage}-${inCountry}`
    return (
      (inCountry === '' ? null : api.lookUp(full, key)) ??
      api.lookUp(inLanguage, key) ??
      api.lookUp('default', key) ??
      (inCountry === '' ? null : api.lookUp(`platform ${full}`, key)) ??
      api.lookUp(`platform ${inLanguage}`, key) ??
      api.lookUp('platform default', key)
    )
  }

  /** Replaces {n} by values[n]; a placeholder without a value is unchanged. */
  function fill(text: string, values: unknown, what: string): string {
    if (values === undefined || values === null) return text
    if (!safe.isArray(values)) throw new safe.TypeError(`${what}: values must be an array, such as [name], or null`)
    const count = api.lengthOf(values)
    let filled = ''
    let from = 0
    for (;;) {
      const start = safe.indexOf(text, '{', from)
      if (start < 0) return filled + safe.slice(text, from)
      const place = safe.match(/^\{[0-9]{1,3}\}/, safe.slice(text, start, start + 6))
      const index = place === null ? -1 : +safe.slice(place, 1, place.length - 1)
      const known = place !== null && index < count
      const end = start + (place === null ? 1 : place.length)
      filled += safe.slice(text, from, start) + (known ? safe.describe(values[index]) : safe.slice(text, start, end))
      from = end
    }
  }

  return {
    setLocale(newLanguage: unknown, newCountry?: unknown): void {
      const one = readLanguage(newLanguage, 'i18n.setLocale')
      const two = readCountry(newCountry, 'i18n.setLocale')
      api.command('setLocale', [one, two === '' ? null : two])
      language = one
      country = two
    },
    getCurrentLanguage: (): string => language,
    getCurrentCountry: (): string => country,
    getI18NMessage(key: unknown, values?: unknown, inLanguage?: unknown, inCountry?: unknown): string {
      const what = 'i18n.getI18NMessage'
      const name = readKey(key, what)
      const own = inLanguage === undefined || inLanguage === null
      const text = own
        ? find(name, language, country)
        : find(name, readLanguage(inLanguage, what), readCountry(inCountry, what))
      if (text !== null) return fill(text, values, what)
      missing.note(name)
      return `!${name}!`
    },
    setI18NMessage(key: unknown, value: unknown): void {
      const name = readKey(key, 'i18n.setI18NMessage')
      if (value !== null && (typeof value !== 'string' || value.length > 20_000)) {
        throw new safe.TypeError(
          'i18n.setI18NMessage: value must be a string of at most 20000 characters, or null to restore the original text',
        )
      }
      if (api.isClient && value !== null) needRoom(name, value)
      api.command('setMessage', [name, value])
      if (value === null) delete overrides[name]
      else overrides[name] = value
    },
  }
}
