import { expect, test } from 'vitest'
import { dataOfEvents } from '../../../../base/web/scripts/event-data.ts'

/** Reads a stream that arrives in pieces of `size` bytes. */
function read(text: string, size: number): Promise<unknown[]> {
  const bytes = new TextEncoder().encode(text)
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.slice(at * size, (at + 1) * size),
  )
  return Array.fromAsync(dataOfEvents(ReadableStream.from(pieces)))
}

test.each([1, 7, 1000])('dataOfEvents: events in pieces of %i bytes are returned in order', async (size) => {
  const stream = ': here\n\nid: 7\ndata: {"text":"grün"}\n\n:\n\ndata: {"text":"two"}\n\n'
  expect(await read(stream, size)).toEqual([{ text: 'grün' }, { text: 'two' }])
})

test('dataOfEvents: a text with line separators is returned whole', async () => {
  const text = 'one\u2028two\u2029three'
  expect(await read(`id: 1\ndata: ${JSON.stringify({ text })}\n\n`, 1000)).toEqual([{ text }])
})

test('dataOfEvents: an event that the connection cut off is left out', async () => {
  expect(await read('data: {"a":1}\n\ndata: {"b":', 1000)).toEqual([{ a: 1 }])
})
