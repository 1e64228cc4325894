import Negotiator from 'negotiator'
import { cachedByText } from '../program/by-text.ts'

/**
 * Returns the locale for a response: the best match in `available` for the browser's Accept-Language. A browser that
 * requests `nl-BE` gets `nl` if there is no `nl-BE`; one that requests `nl` gets `nl-BE` if there is no `nl`.
 * @param available locales such as `nl` and `nl-BE`, the fallback first
 */
export function chooseLocale(acceptLanguage: string, available: readonly string[]): string {
  for (const one of languagesOf(acceptLanguage)) {
    const found = one === '*' ? available[0] : bestFor(one, available)
    if (found !== undefined) return found
  }
  return available[0] ?? 'en'
}

/**
 * Returns the locale for dates and numbers: `locale`, with the browser's region if `locale` has none. For example, if
 * `locale` is `en` and the browser requests `en-GB`, the result is `en-GB`.
 */
export function localeOfFormats(locale: string, acceptLanguage: string): string {
  const prefix = `${locale.toLowerCase()}-`
  return languagesOf(acceptLanguage).find((one) => one.toLowerCase().startsWith(prefix)) ?? locale
}

const languagesOf = cachedByText(100, (acceptLanguage): readonly string[] =>
  new Negotiator({ headers: { 'accept-language': acceptLanguage.slice(0, 1000) } }).languages(),
)

function bestFor(asked: string, available: readonly string[]): string | undefined {
  const wanted = asked.toLowerCase()
  const language = wanted.split('-', 1)[0] ?? wanted
  return (
    available.find((locale) => locale.toLowerCase() === wanted) ??
    available.find((locale) => locale.toLowerCase() === language) ??
    available.find((locale) => locale.toLowerCase().startsWith(`${language}-`))
  )
}
