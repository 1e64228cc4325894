import { expect, test } from 'vitest'
import { jsonPlaces } from '../../../runtime/bundle/json-places.ts'
import { parseStrictJson } from '../../../runtime/bundle/strict-json.ts'

const SOURCE = `{
  "name": "crm", "title" : "a \\"b\\" {[,:",
  "list": [1, [2, 3], {"deep": {"x": null, "a\\u0062": "found"}}],
  "empty": {}, "none": [],
  "last": "crm"
}
`

test('JSON places: each value and key is found at its line and column, whatever the strings contain', () => {
  const places = jsonPlaces(SOURCE)
  const at = (path: (string | number)[]) => {
    const { line = 0, column = 0 } = places.value(path)
    return SOURCE.split('\n')[line - 1]?.slice(column - 1, column + 4)
  }
  expect([at([]), at(['name']), at(['title']), at(['list', 0])]).toEqual(['{', '"crm"', '"a \\"', '1, [2'])
  expect([at(['list', 1]), at(['list', 1, 1]), at(['list', 2, 'deep', 'x'])]).toEqual(['[2, 3', '3], {', 'null,'])
  expect([at(['list', 2, 'deep', 'ab']), at(['empty']), at(['none'])]).toEqual(['"foun', '{}, "', '[],'])
  expect([places.key(['name']), places.key(['title'])]).toEqual([
    { line: 2, column: 3 },
    { line: 2, column: 18 },
  ])
  expect(places.key(['list', 2, 'deep', 'ab'])).toEqual({ line: 3, column: 44 })
})

test('JSON places: the place of a missing value is the nearest enclosing object, without a key', () => {
  const places = jsonPlaces(SOURCE)
  expect(places.value(['list', 2, 'deep', 'y', 'z'])).toEqual(places.value(['list', 2, 'deep']))
  expect(places.value(['version'])).toEqual({ line: 1, column: 1 })
  expect(places.key(['version'])).toEqual({})
})

test('JSON places: a string is found at its first occurrence as a value, never as a key', () => {
  const places = jsonPlaces(SOURCE)
  expect([places.text('crm'), places.text('found')]).toEqual([
    { line: 2, column: 11 },
    { line: 3, column: 55 },
  ])
  expect([places.text('name'), places.text('absent')]).toEqual([{}, {}])
})

test('JSON places: a long key that contains many values is stored once', () => {
  const source = `{"${'k'.repeat(100_000)}": [${'0,'.repeat(70_000)}0]}`
  expect(parseStrictJson(source)).toHaveProperty('value')
  const before = process.memoryUsage().heapUsed
  expect(jsonPlaces(source).value(['k'.repeat(100_000), 70_000])).toEqual({ line: 1, column: 240_007 })
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(60 * 1024 ** 2)
})
