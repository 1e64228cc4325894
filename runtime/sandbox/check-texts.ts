import type { Warning } from '../bundle/faults.ts'
import { Findings, showName } from '../bundle/findings.ts'
import { jsonPlaces } from '../bundle/json-places.ts'
import { PLATFORM_KEYS } from '../bundle/layout.ts'
import type { UploadFiles } from '../protocol.ts'

export type TextTable = Readonly<Record<string, string>>

/** Maximum number of missing keys that a warning names. */
const MAX_NAMED = 5

const PLACEHOLDER = /\{[0-9]{1,3}\}/g

/**
 * Compares each translation file with the default texts.
 * @param tables the files' texts, in the order of `files`
 * @param faulty the files that have an error; they are not compared
 */
export function warnOfTexts(
  files: UploadFiles['i18n'],
  tables: readonly TextTable[],
  faulty: ReadonlySet<string>,
): readonly Warning[] {
  const found = new Findings()
  const all = files.map((file, index) => ({ ...file, texts: tables[index] ?? {} }))
  const defaults = textsOf(all, 'default')
  for (const { module, locale, file, source, texts } of all) {
    if (locale === 'default' || faulty.has(file)) continue
    const places = jsonPlaces(source)
    const own = all.find((other) => other.module === module && other.locale === 'default')
    // A table for a region, such as `nl-BE`, needs only the texts that differ from those of its language.
    if (own !== undefined && !locale.includes('-')) {
      const translated = textsOf(all, locale)
      const missing = Object.keys(own.texts).filter((key) => !translated.has(key))
      if (missing.length > 0) found.warn(file, 'i18n_key_missing', missingMessage(own.file, missing))
    }
    for (const [key, text] of Object.entries(texts)) {
      const expected = defaults.get(key)
      const unknown = expected && text.match(PLACEHOLDER)?.find((one) => !expected.some((other) => other.includes(one)))
      if (!unknown) continue
      const message = `the text of "${showName(key)}" contains ${unknown}, but the text in default.json doesn’t`
      found.warn(file, 'i18n_placeholder', message, found.isFullOfWarnings ? {} : places.value([key]))
    }
  }
  return found.warnings
}

/**
 * Warns about each text of the login page that no `default.json` contains, at its first use.
 * @param tables the translation files' texts, in the order of `files`
 */
export async function warnOfPageTexts(
  page: { readonly file: string; readonly source: string },
  files: UploadFiles['i18n'],
  tables: readonly TextTable[],
): Promise<readonly Warning[]> {
  const [{ findPlaceholders }, { TemplateWarnings }] = await Promise.all([
    import('../template/placeholders.ts'),
    import('../template/template-warnings.ts'),
  ])
  const known = new Set(
    tables.flatMap((texts, index) => (files[index]?.locale === 'default' ? Object.keys(texts) : [])),
  )
  const source = page.source.replace(/^\ufeff/, '')
  const warnings = new TemplateWarnings(page.file, source, 0)
  for (const { start, lookup } of findPlaceholders(source)) {
    const { from, name } = lookup
    if (from !== 'i18n' || known.has(name) || name.startsWith(PLATFORM_KEYS)) continue
    known.add(name)
    const key = showName(name)
    const message = `no default.json contains the key "${key}", so users whose language has no translation see "!${key}!"`
    warnings.add('template_text_missing', message, start)
  }
  return warnings.listed()
}

/** Returns the texts of all modules for a locale, by key. */
function textsOf(
  all: readonly { readonly locale: string; readonly texts: TextTable }[],
  locale: string,
): ReadonlyMap<string, readonly string[]> {
  const texts = new Map<string, string[]>()
  for (const table of all) {
    if (table.locale !== locale) continue
    for (const [key, text] of Object.entries(table.texts)) {
      const same = texts.get(key)
      if (same === undefined) texts.set(key, [text])
      else same.push(text)
    }
  }
  return texts
}

function missingMessage(file: string, missing: readonly string[]): string {
  const names = missing.slice(0, MAX_NAMED).map((key) => `"${showName(key)}"`)
  const more = missing.length - names.length
  const list = more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ')
  return `keys of ${file} are missing: ${list}. Users see the default texts for them`
}
