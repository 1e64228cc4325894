import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

/** The locale; in a client whose scripts set texts, also those texts. */
type State = string | { readonly locale: string; readonly messages: Record<string, string> }

export default function i18n(api: GuestApi<null, State>) {
  const { safe } = api
  // Limits of what a client stores between calls; host.ts enforces the same.
  const MOST_MESSAGES = 200
  const MOST_MESSAGE_TEXT = 65_536
  const MOST_MISSING_A_CALL = 20
  const MOST_MISSING = 1000
  let language = 'en'
  let country = ''
  let overrides = api.record<string>()
  /** Missing keys already reported to the host; `missingNow` has those of this call or the last one. */
  const missing = api.record<true>()
  let missingCount = 0
  let missingNow = api.list<string>()

  api.onCall((state, lastCounted) => {
    const locale = typeof state === 'string' ? state : state.locale
    const dash = safe.indexOf(locale, '-')
    language = dash < 0 ? locale : safe.slice(locale, 0, dash)
    country = dash < 0 ? '' : safe.slice(locale, dash + 1)
    overrides = api.record()
    if (typeof state !== 'string') copyMessages(state.messages)
    if (!lastCounted) forgetMissing()
    missingNow = api.list()
  })

  function copyMessages(messages: Record<string, string>): void {
    const names = safe.keys(messages)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      overrides[name] = messages[name] as string
    }
  }

  /** A failed call reported nothing. */
  function forgetMissing(): void {
    for (let index = 0; index < missingNow.length; index++) delete missing[missingNow[index] as string]
    missingCount -= missingNow.length
  }

  /** Only a log line depends on it, so it never fails the call. */
  function noteMissing(key: string): void {
    const isLoading = api.state() === null
    if (isLoading || missing[key] === true || missingCount >= MOST_MISSING) return
    if (missingNow.length >= MOST_MISSING_A_CALL) return
    try {
      api.command('missing', [key])
    } catch {
      return
    }
    missing[key] = true
    missingCount++
    missingNow[missingNow.length] = key
  }

  /** @throws RangeError if a client would store too much */
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
      `i18n.setI18NMessage: a client keeps ${MOST_MESSAGES} texts of ${MOST_MESSAGE_TEXT} characters in all, keys included; these would be ${count} of ${size}`,
    )
  }

  function readLanguage(value: unknown, what: string): string {
    const text = typeof value === 'string' ? safe.lowerCase(value) : ''
    if (safe.match(/^[a-z]{2,3}$/, text) !== null) return text
    throw new safe.TypeError(`${what}: language must be two or three letters, such as "nl"`)
  }

  function readCountry(value: unknown, what: string): string {
    if (value === undefined || value === null || value === '') return ''
    const text = typeof value === 'string' ? safe.upperCase(value) : ''
    if (safe.match(/^([A-Z]{2}|[0-9]{3})$/, text) !== null) return text
    throw new safe.TypeError(`${what}: country must be two letters, such as "BE", or left out`)
  }

  function readKey(value: unknown, what: string): string {
    if (typeof value === 'string' && value.length > 0 && value.length <= 200) return value
    throw new safe.TypeError(`${what}: key must be a string of 1 to 200 characters`)
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
  function fill(text: string, values: unknown): string {
    if (!safe.isArray(values)) return text
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
      if (text !== null) return fill(text, values)
      noteMissing(name)
      return `!${name}!`
    },
    setI18NMessage(key: unknown, value: unknown): void {
      const name = readKey(key, 'i18n.setI18NMessage')
      if (value !== null && (typeof value !== 'string' || value.length > 20_000)) {
        throw new safe.TypeError(
          'i18n.setI18NMessage: value must be a string of at most 20000 characters, or null to take it back',
        )
      }
      if (api.isClient && value !== null) needRoom(name, value)
      api.command('setMessage', [name, value])
      if (value === null) delete overrides[name]
      else overrides[name] = value
    },
  }
}
