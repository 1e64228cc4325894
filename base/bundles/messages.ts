import type { Tables } from '../../runtime/plugin.ts'
import { PLATFORM_LOCALES, PLATFORM_TEXTS } from '../web/texts.ts'

type SolutionTexts = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The platform's texts that solutions can use and override: the texts of end users' pages, not of the admin pages. */
const TEXTS = new Map(
  [...PLATFORM_TEXTS.all].map(([locale, table]) => [
    locale,
    new Map([...table].filter(([key]) => key.startsWith('platform.'))),
  ]),
)
/** The platform's texts as message tables for the binding `i18n`, for all solutions. */
export const PLATFORM_TABLES: Tables = Object.fromEntries(
  [...TEXTS, ['default', TEXTS.get(PLATFORM_LOCALES[0])] as const].map(([locale, table = []]) => [
    `platform ${locale}`,
    Object.fromEntries(table),
  ]),
)

/** Looks up a key for one locale; null if neither the solution nor the platform has it. */
export type Messages = (key: string) => string | null

/**
 * Looks up a key in the solution's tables for the locale, then its language, then `default`; then in the platform's
 * tables in the same order. Solutions override the platform's texts by using their keys.
 * @param overrides texts that a script set for this response; null removes an override
 */
export function createMessages(
  texts: SolutionTexts,
  locale: string,
  overrides?: ReadonlyMap<string, string>,
): Messages {
  const language = locale.split('-', 1)[0] ?? locale
  return (key) =>
    overrides?.get(key) ??
    textOfTables(texts, locale, key) ??
    TEXTS.get(locale)?.get(key) ??
    TEXTS.get(language)?.get(key) ??
    TEXTS.get(PLATFORM_LOCALES[0])?.get(key) ??
    null
}

/** Looks up a key in the given tables, in the same order: the locale, then its language, then the fallback. */
export function textOfTables(texts: SolutionTexts, locale: string, key: string): string | undefined {
  const language = locale.split('-', 1)[0] ?? locale
  return own(texts[locale], key) ?? own(texts[language], key) ?? own(texts.default, key)
}

/**
 * Returns the available locales: the platform's first locale, then the solution's, then the platform's other locales.
 */
export function availableLocales(texts: SolutionTexts): readonly string[] {
  const known = localesOfTexts.get(texts)
  if (known !== undefined) return known
  const locales = findLocales(texts)
  localesOfTexts.set(texts, locales)
  return locales
}

/** Each request needs the locales, but a version's texts don't change. */
const localesOfTexts = new WeakMap<SolutionTexts, readonly string[]>()

function findLocales(texts: SolutionTexts): readonly string[] {
  const own = Object.keys(texts).filter((locale) => locale !== 'default')
  // This locale comes first, because it is the fallback.
  const fallback: string = PLATFORM_LOCALES[0]
  return [...new Set([fallback, ...own, ...PLATFORM_LOCALES])]
}

function own(table: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined
}
