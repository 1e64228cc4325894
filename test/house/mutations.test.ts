import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MUTATIONS } from '../long/mutations.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('each mutation of `npm run long -- mutations` matches exactly one location in the code, and no two are the same', () => {
  const lost = MUTATIONS.filter(({ file, from }) => readFileSync(ROOT + file, 'utf8').split(from).length !== 2)
  expect(lost.map(({ file, fault }) => `${file}: ${fault}`)).toEqual([])
  expect(new Set(MUTATIONS.map(({ file, from }) => file + from)).size).toBe(MUTATIONS.length)
  expect(MUTATIONS.length).toBeGreaterThanOrEqual(30)
})
