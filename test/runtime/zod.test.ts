import { describe, expect, test } from 'vitest'
import { readBrowserFrame } from '../../host/web/frames.ts'
import { checkManifest } from '../../runtime/bundle/manifest.ts'
import { z } from '../../runtime/zod.ts'

/**
 * A client may send an object like this one. Comparing it with another value throws, because its `valueOf` is not a
 * function.
 */
const UNCOMPARABLE = { toString: 1, valueOf: 1 }
const VALUES = [
  { length: UNCOMPARABLE },
  { size: UNCOMPARABLE },
  { length: [UNCOMPARABLE], size: [UNCOMPARABLE] },
  UNCOMPARABLE,
  [UNCOMPARABLE],
]
const SCHEMAS = {
  'a longest string': z.string().max(3),
  'a shortest string': z.string().min(1),
  'a string of one length': z.string().length(3),
  'an address': z.url().max(5),
  'an array': z.array(z.string()).min(1).max(3),
  'an array of one length': z.array(z.string()).length(2),
  'a set': z.set(z.string()).min(1).max(2),
  'a set of one size': z.set(z.string()).size(2),
  'a record': z.record(z.string().max(3), z.string().max(3)),
  'one of two kinds': z.union([z.string().max(2), z.number().min(1)]),
  'a number': z.number().min(1).max(4).multipleOf(2),
}

describe('a value of another type is rejected, whatever its length property contains', () => {
  test.each(Object.entries(SCHEMAS))('%s', (_name, schema) => {
    for (const value of VALUES) expect(schema.safeParse(value).success).toBe(false)
    expect(z.object({ inner: schema }).safeParse({ inner: VALUES[0] }).success).toBe(false)
  })
})

test('lengths and sizes of valid types are checked', () => {
  const passes = (schema: z.ZodType, ...values: unknown[]) => values.map((value) => schema.safeParse(value).success)
  expect(passes(z.string().min(2).max(3), 'x', 'xx', 'xxx', 'xxxx')).toEqual([false, true, true, false])
  expect(passes(z.string().length(2), 'x', 'xx')).toEqual([false, true])
  expect(passes(z.array(z.int()).min(1).max(2), [], [1], [1, 2, 3])).toEqual([false, true, false])
  expect(passes(z.set(z.int()).max(1), new Set([1]), new Set([1, 2]))).toEqual([true, false])
})

test('a manifest and a browser frame with an object that cannot be compared are rejected', () => {
  const manifest = checkManifest({ $schema: { length: UNCOMPARABLE }, name: { length: UNCOMPARABLE } }, 'solution.json')
  expect(manifest.faults.map(({ message }) => message).join()).toContain('must be')
  const frame = { kind: 'event', seq: 1, form: { length: UNCOMPARABLE }, element: 'ok', type: 'onAction', value: null }
  expect(readBrowserFrame(JSON.stringify(frame))).toBeNull()
})
