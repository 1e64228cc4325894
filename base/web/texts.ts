import { readdirSync, readFileSync } from 'node:fs'

/** The platform's own texts: locale ('en', 'nl', …) -> key -> text. `{0}`, `{1}` are placeholders for values. */
export type Texts = ReadonlyMap<string, ReadonlyMap<string, string>>

/** The languages of the platform's own pages. The first is the fallback for all other languages. */
export const PLATFORM_LOCALES = ['en', 'nl', 'de', 'fr', 'es'] as const satisfies readonly string[]

/** Texts by language and key, for rendering pages. */
export type TextTables = {
  /**
   * Returns a text in the language of `locale`: 'nl-BE' (or 'nl_BE') uses 'nl'; an unsupported language uses 'en'. An
   * unknown key becomes `!key!`, as in a solution's i18n table. Values are not escaped: the caller that writes the text
   * into a page escapes it.
   */
  readonly text: (locale: string, key: string, values?: readonly (string | number)[]) => string
  /** Returns the language of the texts for `locale`, for a page's `lang` attribute. */
  readonly language: (locale: string) => string
  readonly has: (language: string, key: string) => boolean
  readonly all: Texts
}

/**
 * Reads the texts. @param folders each has one subfolder per subject, with one file per language
 * @throws TypeError if a text is missing or defined twice
 */
export function readTextTables(folders: readonly URL[]): TextTables {
  const all = checkTexts(new Map(PLATFORM_LOCALES.map((locale) => [locale, tableOf(folders, locale)])))
  function language(locale: string): string {
    const asked = locale.split(/[-_]/, 1)[0]?.toLowerCase() ?? ''
    return all.has(asked) ? asked : PLATFORM_LOCALES[0]
  }
  return {
    all,
    language,
    text(locale, key, values = []) {
      const text = all.get(language(locale))?.get(key)
      if (text === undefined) return `!${key}!`
      return text.replace(/\{(\d+)\}/g, (placeholder, place) => String(values[Number(place)] ?? placeholder))
    },
    has: (locale, key) => all.get(locale)?.has(key) === true,
  }
}

/**
 * @returns the same texts
 * @throws TypeError that lists every key that is missing in a language
 */
export function checkTexts(texts: Texts): Texts {
  const keys = new Set([...texts.values()].flatMap((table) => [...table.keys()]))
  const missing = [...texts].flatMap(([locale, table]) =>
    [...keys].filter((key) => !table.has(key)).map((key) => `${locale}: ${key}`),
  )
  if (missing.length > 0) throw new TypeError(`texts are missing: ${missing.join(', ')}`)
  return texts
}

/** @throws TypeError that lists every key that is in two subjects */
function tableOf(folders: readonly URL[], locale: string): ReadonlyMap<string, string> {
  const entries = folders.flatMap((folder) =>
    readdirSync(folder).flatMap((subject) => readEntries(new URL(`${subject}/${locale}.json`, folder))),
  )
  const table = new Map(entries)
  if (table.size === entries.length) return table
  const twice = entries.map(([key]) => key).filter((key, index, all) => all.indexOf(key) !== index)
  throw new TypeError(`texts are defined twice: ${twice.join(', ')}`)
}

/** @throws TypeError that names the first entry that is not a text */
function readEntries(file: URL): [key: string, text: string][] {
  const entries = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>)
  const wrong = entries.find(([, text]) => typeof text !== 'string' || text === '')
  if (wrong !== undefined) throw new TypeError(`${file.pathname}: "${wrong[0]}" is not a text`)
  return entries as [string, string][]
}

/** Texts shared by the pages of both services. */
export const SHARED_TEXTS = new URL('texts/', import.meta.url)
export const PLATFORM_TEXTS = readTextTables([SHARED_TEXTS])
export const TEXTS = PLATFORM_TEXTS.all
export const platformText = PLATFORM_TEXTS.text
export const platformLanguage = PLATFORM_TEXTS.language
