import { readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'

/** The platform's own texts: locale ('en', 'nl', …) -> key -> text. `{0}`, `{1}` stand for values. */
export type Texts = ReadonlyMap<string, ReadonlyMap<string, string>>

/** The languages of the platform's own pages. The first is the fallback for everybody else. */
export const PLATFORM_LOCALES = ['en', 'nl', 'de', 'fr', 'es'] as const satisfies readonly string[]

const FOLDER = new URL('texts/', import.meta.url)

/** Read once, from `texts/`: a folder for each subject, in it a file for each language. */
export const TEXTS: Texts = checkTexts(new Map(PLATFORM_LOCALES.map((locale) => [locale, tableOf(locale)])))

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

/** @throws TypeError that names every key which two subjects have */
function tableOf(locale: string): ReadonlyMap<string, string> {
  const entries = readdirSync(FOLDER).flatMap((subject) => readEntries(new URL(`${subject}/${locale}.json`, FOLDER)))
  const table = new Map(entries)
  const twice = entries.map(([key]) => key).filter((key, index, all) => all.indexOf(key) !== index)
  if (twice.length > 0) throw new TypeError(`texts are there twice: ${twice.join(', ')}`)
  return table
}

function readEntries(file: URL): [key: string, text: string][] {
  return Object.entries(z.record(z.string(), z.string().min(1)).parse(JSON.parse(readFileSync(file, 'utf8'))))
}
