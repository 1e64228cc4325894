import { afterAll, expect, test } from 'vitest'
import { createScriptLab, manifestOf, NO_FILES } from '../../support/solutions.ts'

const lab = createScriptLab({ keepsSpare: false })
afterAll(() => lab.stop())

const solution = lab.solution({ manifest: manifestOf({}) }).loadable.solution()

/** Checks translation files. @returns the errors, and the number of texts that the host receives */
async function checkTables(tables: Readonly<Record<string, object>>) {
  const i18n = Object.entries(tables).map(([locale, texts]) => {
    return { module: null, locale, file: `i18n/${locale}.json`, source: JSON.stringify(texts) }
  })
  const { checked, faults } = await lab.supervisor.checkUpload({ ...NO_FILES, i18n }, async () => solution, [])
  const texts = checked?.i18n.reduce((total, table) => total + Object.keys(table).length, 0)
  return { faults, texts }
}

function table(count: number, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, key) => [`k${key}`, value]))
}

test('translations: 100,000 texts are accepted; with more, the host receives none', async () => {
  expect(await checkTables({ default: table(50_000, ''), nl: table(50_000, '') })).toEqual({
    faults: [],
    texts: 100_000,
  })
  const message =
    'the translation files contain 100001 texts in total, and the maximum is 100000: remove texts that are not used'
  expect(await checkTables({ default: table(50_001, ''), nl: table(50_000, '') })).toEqual({
    faults: [{ code: 'i18n_invalid', file: 'bundle.zip', message }],
    texts: 0,
  })
})

test('translations: of many values that are not strings, the first hundred are listed', async () => {
  const { faults } = await checkTables({ nl: table(5000, 1), de: table(5000, 1) })
  expect(faults).toHaveLength(101)
  expect(faults[99]).toMatchObject({ code: 'i18n_invalid', file: 'i18n/nl.json', line: 1 })
  expect(faults[100]).toMatchObject({ code: 'more_faults', message: '9900 more errors are not listed' })
})
