import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** The platform's own texts: locale ('en', 'nl', …) -> key -> text. `{0}`, `{1}` stand for values. */
export type Texts = ReadonlyMap<string, ReadonlyMap<string, string>>

/** The languages of the platform's own pages. The first is the fallback for everybody else. */
export const PLATFORM_LOCALES = ['en', 'nl', 'de', 'fr', 'es'] as const satisfies readonly string[]

/** Read once, from `texts/`. */
export const TEXTS: Texts = checkTexts(
  new Map(PLATFORM_LOCALES.map((locale) => [locale, readTable(new URL(`texts/${locale}.json`, import.meta.url))])),
)

/**
 * One text in the language of `locale`: 'nl-BE' (or 'nl_BE') takes 'nl', a language that the platform lacks takes
 * 'en'. An unknown key becomes `!key!`, as in a solution's own i18n table. Values are put in as they are: whoever
 * writes the text into a page escapes it.
 */
export function platformText(locale: string, key: string, values: readonly (string | number)[] = []): string {
  const text = TEXTS.get(platformLanguage(locale))?.get(key)
  if (text === undefined) return `!${key}!`
  return text.replace(/\{(\d+)\}/g, (placeholder, place) => String(values[Number(place)] ?? placeholder))
}

/** The language that the platform's texts have for `locale`; fit for the `lang` attribute of a page. */
export function platformLanguage(locale: string): string {
  const language = locale.split(/[-_]/, 1)[0]?.toLowerCase() ?? ''
  return TEXTS.has(language) ? language : PLATFORM_LOCALES[0]
}

/**
 * @returns the same texts
 * @throws TypeError that names every key which one language has and another lacks
 */
export function checkTexts(texts: Texts): Texts {
  const keys = new Set([...texts.values()].flatMap((table) => [...table.keys()]))
  const missing = [...texts].flatMap(([locale, table]) =>
    [...keys].filter((key) => !table.has(key)).map((key) => `${locale}: ${key}`),
  )
  if (missing.length > 0) throw new TypeError(`texts are missing: ${missing.join(', ')}`)
  return texts
}

function readTable(file: URL): ReadonlyMap<string, string> {
  const table = z.record(z.string(), z.string().min(1)).parse(JSON.parse(readFileSync(file, 'utf8')))
  return new Map(Object.entries(table))
}
