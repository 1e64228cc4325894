import { expect, test } from 'vitest'
import { readWith } from '../../../base/api/read-with.ts'
import { z } from '../../../runtime/zod.ts'

const Value = z.strictObject({
  name: z.string().min(2).max(3).optional(),
  ids: z.array(z.string()).min(1).max(2).optional(),
  pair: z.array(z.string()).length(2).optional(),
  size: z.int().min(1).max(9).optional(),
  share: z.number().positive().optional(),
  level: z.enum(['off', 'on']).optional(),
  type: z.literal('x').optional(),
  on: z.boolean().optional(),
  own: z.array(z.string()).min(1, 'must name a solution').optional(),
  inner: z.object({ key: z.string() }).optional(),
})

test.each([
  [{ name: 'x' }, 'name: must have at least 2 characters'],
  [{ name: 'xxxx' }, 'name: must have at most 3 characters'],
  [{ name: 5 }, 'name: must be a string'],
  [{ ids: [] }, 'ids: must have at least 1 item'],
  [{ ids: ['a', 'b', 'c'] }, 'ids: must have at most 2 items'],
  [{ ids: 'a' }, 'ids: must be a list'],
  [{ ids: ['a', 1] }, 'ids[1]: must be a string'],
  [{ pair: ['a'] }, 'pair: must have exactly 2 items'],
  [{ size: 0 }, 'size: must be at least 1'],
  [{ size: 10 }, 'size: must be at most 9'],
  [{ size: 1.5 }, 'size: must be a whole number'],
  [{ share: 0 }, 'share: must be more than 0'],
  [{ level: 'loud' }, 'level: must be one of off, on'],
  [{ type: 'y' }, 'type: must be x'],
  [{ on: 'yes' }, 'on: must be true or false'],
  [{ own: [] }, 'own: must name a solution'],
  [{ inner: {} }, 'inner.key: is missing'],
  [{ inner: null }, 'inner: must be an object'],
  [{ more: 1, most: 2 }, 'unknown property "more", "most"'],
  [[], 'must be an object'],
])('readWith: %j is refused in a plain sentence', (value, message) => {
  expect(() => readWith(Value, value)).toThrow(expect.objectContaining({ code: 'ERR_REQUEST_INVALID', message }))
})

test('readWith: several errors are listed, and a valid value is returned', () => {
  expect(() => readWith(Value, { name: 'x', size: 0 })).toThrow(
    'name: must have at least 2 characters; size: must be at least 1',
  )
  expect(readWith(Value, { size: 3 })).toEqual({ size: 3 })
})
