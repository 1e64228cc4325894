import { expect, test } from 'vitest'
import { type TextTable, warnOfPageTexts, warnOfTexts } from '../../../runtime/sandbox/check-texts.ts'

type Tables = Readonly<Record<string, TextTable>>

/** Checks tables by file name, such as `i18n/nl_BE.json`. Each text is on its own line. */
function warnings(tables: Tables, faulty: readonly string[] = []): string[] {
  const files = Object.entries(tables).map(([file, texts]) => {
    const [, module = null, locale = ''] = /^(?:modules\/(\w+)\/)?i18n\/(\w+)\.json$/.exec(file) ?? []
    return { module, locale: locale.replace('_', '-'), file, source: JSON.stringify(texts, null, 1) }
  })
  return warnOfTexts(files, Object.values(tables), new Set(faulty)).map(
    ({ code, file, line, message }) => `${code} ${file}:${line ?? ''} ${message}`,
  )
}

test('texts: a translation file that lacks keys of default.json causes one warning, which names five of them', () => {
  const texts = Object.fromEntries([...'abcdefg'].map((key) => [key, key.toUpperCase()]))
  expect(warnings({ 'i18n/default.json': texts, 'i18n/nl.json': { a: 'A' } })).toEqual([
    'i18n_key_missing i18n/nl.json: keys of i18n/default.json are missing: "b", "c", "d", "e", "f" and 1 more. Users see the default texts for them',
  ])
})

test('texts: a file for a region or with an error may lack keys; another module may have the translation', () => {
  const tables = {
    'modules/base/i18n/default.json': { a: 'A' },
    'modules/base/i18n/nl.json': {},
    'i18n/default.json': { b: 'B' },
    'i18n/nl.json': { a: 'A', b: 'B', only: '{0}' },
    'i18n/nl_BE.json': {},
    'i18n/de.json': {},
  }
  expect(warnings(tables, ['i18n/de.json'])).toEqual([])
})

test('texts: a placeholder that the default text lacks causes a warning at its line', () => {
  const tables = {
    'i18n/default.json': { a: '{0} of {2}', b: 'B' },
    'i18n/nl.json': { a: '{2} van {0}', b: '{x}' },
    'i18n/nl_BE.json': { b: 'B', a: '{0} van {1}' },
  }
  expect(warnings(tables)).toEqual([
    'i18n_placeholder i18n/nl_BE.json:3 the text of "a" contains {1}, but the text in default.json doesn’t',
  ])
})

test('texts: at most 100 warnings are listed', () => {
  const keys = Array.from({ length: 500 }, (_, index) => `k${index}`)
  const table = (text: string) => Object.fromEntries(keys.map((key) => [key, text]))
  const listed = warnings({ 'i18n/default.json': table('{0}'), 'i18n/nl.json': table('{1}') })
  expect([listed.length, listed.at(-1)]).toEqual([101, 'more_warnings bundle.zip: 400 more warnings are not listed'])
})

test('texts: a key of the login page that no default.json contains causes a warning at its first use', async () => {
  const source =
    '%%i18n:platform.title%% %%errorMessage%%\n%%i18n:login.title%%\n%%i18n:login.titel%% %%i18n:login.titel%%'
  const files = ['default', 'nl'].map((locale) => ({ module: null, locale, file: `i18n/${locale}.json`, source: '' }))
  const tables = [{ 'login.title': 'Sign in' }, { 'login.titel': 'Inloggen' }]
  expect(await warnOfPageTexts({ file: 'media/login.html', source }, files, tables)).toEqual([
    {
      code: 'template_text_missing',
      file: 'media/login.html',
      line: 3,
      column: 1,
      message:
        'no default.json contains the key "login.titel", so users whose language has no translation see "!login.titel!"',
    },
  ])
})
