import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import {
  checkTexts,
  PLATFORM_LOCALES,
  platformLanguage,
  platformText,
  readTextTables,
  TEXTS,
} from '../../../base/web/texts.ts'
import { CENTER_TEXTS } from '../../../control-center/web/render.ts'

const english = TEXTS.get('en') ?? new Map<string, string>()

test.each(PLATFORM_LOCALES)('texts: %s has the same keys as English, in the same order', (locale) => {
  expect([...(TEXTS.get(locale)?.keys() ?? [])]).toEqual([...english.keys()])
})

test.each(PLATFORM_LOCALES)('texts: %s has the same placeholders as English in every text', (locale) => {
  const placeholders = (text = '') => (text.match(/\{\d+\}/g) ?? []).sort()
  for (const [key, text] of english) {
    expect([key, placeholders(TEXTS.get(locale)?.get(key))]).toEqual([key, placeholders(text)])
  }
})

test.each(PLATFORM_LOCALES)('texts: platform.language in %s is the language’s own tag', (locale) => {
  expect(platformText(locale, 'platform.language')).toBe(locale)
})

test('texts: the error for a missing key contains the language and the key', () => {
  const texts = new Map([
    ['en', new Map([['a', 'A']])],
    ['nl', new Map([['b', 'B']])],
  ])
  expect(() => checkTexts(texts)).toThrow(new TypeError('texts are missing: en: b, nl: a'))
})

test.each([
  ['the same key in two files', { a: { k: 'x' }, b: { k: 'y' } }, 'texts are defined twice: k'],
  ['an empty text', { a: { k: '' } }, 'a/en.json: "k" is not a text'],
  ['a number in place of a text', { a: { k: 1 } }, 'a/en.json: "k" is not a text'],
])('texts: %s is an error that names it', (_what, subjects, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-texts-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [subject, texts] of Object.entries(subjects)) {
    mkdirSync(join(folder, subject))
    for (const locale of PLATFORM_LOCALES) writeFileSync(join(folder, subject, `${locale}.json`), JSON.stringify(texts))
  }
  expect(() => readTextTables([pathToFileURL(`${folder}/`)])).toThrow(message)
})

test.each([
  ['nl', 'nl'],
  ['nl-BE', 'nl'],
  ['nl_BE', 'nl'],
  ['NL', 'nl'],
  ['pt-BR', 'en'],
  ['', 'en'],
  ['<script>', 'en'],
])('texts: a reader of "%s" gets the language %s', (locale, language) => {
  expect(platformLanguage(locale)).toBe(language)
})

test('texts: platformText replaces {0} with values', () => {
  expect(platformText('de-AT', 'platform.login.busy', [5])).toBe(
    'Der Dienst ist ausgelastet. Bitte versuchen Sie es in 5 Sekunden erneut.',
  )
})

test('texts: a value that looks like a placeholder is not replaced again', () => {
  expect(platformText('en', 'platform.client.signedin', ['{0} $&'])).toBe('Signed in as {0} $&')
})

test('texts: an unknown key becomes !key!', () => {
  expect(platformText('en', 'platform.nothing')).toBe('!platform.nothing!')
})

test.each(PLATFORM_LOCALES)(
  'texts: %s quotes the name of the page “Credentials” as the control center’s menu shows it',
  (locale) => {
    const page = CENTER_TEXTS.text(locale, 'center.part.credentials')
    for (const text of [
      platformText(locale, 'admin.health.finding.cloud-login.token'),
      CENTER_TEXTS.text(locale, 'center.environment.never.hint'),
    ]) {
      expect(text).toContain(page)
    }
  },
)
