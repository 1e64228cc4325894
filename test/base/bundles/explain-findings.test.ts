import { expect, test } from 'vitest'
import { explainFindings, explainUpload } from '../../../base/bundles/explain-findings.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { zipOf } from '../../support/zip.ts'

const files = new Map([['globals.js', Buffer.from('let a = 1\r\nlet b = \n')]])
const fault = { file: 'globals.js', code: 'script_syntax', message: 'Unexpected token' } as const
const advice = 'Fix the script here, or just before this position.'

test('findings: each is shown with its line and what to change', () => {
  expect(explainFindings([{ ...fault, line: 2, column: 9 }], files)).toEqual([
    { ...fault, line: 2, column: 9, source: 'let b = ', advice },
  ])
})

test('findings: a finding has no line text if it has no line number, or if the line or the file does not exist', () => {
  const findings = [fault, { ...fault, line: 9 }, { ...fault, file: 'other.js', line: 1 }]
  expect(explainFindings(findings, files).map(({ source }) => source)).toEqual([null, null, null])
})

test('findings: only the first 300 characters of a long line are shown', () => {
  const long = new Map([['globals.js', Buffer.from('x'.repeat(1000))]])
  expect(explainFindings([{ ...fault, line: 1 }], long)[0]?.source).toBe('x'.repeat(300))
})

test('a rejected bundle: all errors and warnings are explained, and the code and message are kept', async () => {
  const packed = await zipOf({ 'globals.js': 'let b = ' })
  const warning = { file: 'notes.txt', code: 'file_unused', message: 'is not used' } as const
  const refusal = new PlatformError('ERR_BUNDLE_REFUSED', 'refused', {
    faults: [{ ...fault, line: 1 }],
    warnings: [warning],
  })
  const explained = explainUpload(packed, createLimits(), () => Promise.reject(refusal))
  await expect(explained).rejects.toMatchObject({
    code: 'ERR_BUNDLE_REFUSED',
    message: 'refused',
    details: {
      faults: [{ ...fault, line: 1, source: 'let b = ', advice }],
      warnings: [{ ...warning, source: null, advice: expect.stringContaining('Move the file') }],
    },
  })
})

test('for a file that is not a ZIP file, the explanation shows no lines', async () => {
  const refusal = new PlatformError('ERR_BUNDLE_REFUSED', 'refused', { faults: [{ ...fault, line: 1 }] })
  const explained = explainUpload(Buffer.from('no zip'), createLimits(), () => Promise.reject(refusal))
  await expect(explained).rejects.toMatchObject({ details: { faults: [{ source: null, advice }] } })
})

test('errors other than a rejected bundle are passed on unchanged', async () => {
  const other = new PlatformError('ERR_NAME_DIFFERS', 'another name')
  await expect(explainUpload(Buffer.from(''), createLimits(), () => Promise.reject(other))).rejects.toBe(other)
})

test('findings: secrets in the manifest are masked in the lines shown; names of secrets are not', () => {
  const manifest = '{ "oauth": {\n  "apiSecret":\n    "very\\"secret", "clientId": "x" },\n "apiSecret": "%%STORED%%" }'
  const lines = [1, 2, 3, 4].map((line) => ({ ...fault, file: 'solution.json', line }))
  const explained = explainFindings(lines, new Map([['solution.json', Buffer.from(manifest)]]))
  expect(explained.map(({ source }) => source)).toEqual([
    '{ "oauth": {',
    '  "apiSecret":',
    '    "…", "clientId": "x" },',
    ' "apiSecret": "%%STORED%%" }',
  ])
})
