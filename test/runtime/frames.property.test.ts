import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFrameReader, encodeFrame } from '../../runtime/frames.ts'
import { propertyRuns } from '../support/property-runs.ts'

const SEED = 20_260_101
const Text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.json(),
  fc.constantFrom('', '\0', '\ufeff', '\ud800', '\udc00\ud800', '😀', '\r\n'),
  fc.integer({ min: 0, max: 70_000 }).map((length) => 'é'.repeat(length)),
)
/** Returns the text as it arrives after encoding in UTF-8, which replaces unpaired surrogates. */
const sent = (text: string) => text.toWellFormed()

/** Splits the bytes into chunks that end at these fractions of the length. Some chunks may be empty. */
function split(bytes: Buffer, shares: readonly number[]): Buffer[] {
  const ends = [...shares.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b), bytes.length]
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}
const Shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 })

test('frames: regardless of how the bytes are split, the same texts arrive in the same order', () => {
  fc.assert(
    fc.property(fc.array(Text, { maxLength: 6 }), Shares, (texts, shares) => {
      const got: string[] = []
      const { push } = createFrameReader(
        () => 1_000_000,
        (content) => void got.push(content.toString()),
      )
      for (const chunk of split(Buffer.concat(texts.map(encodeFrame)), shares)) expect(push(chunk)).toBe(true)
      expect(got).toEqual(texts.map(sent))
    }),
    { numRuns: propertyRuns(3000), seed: SEED },
  )
})

test('frames: if single bytes arrive, each text is delivered with its last byte', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { minLength: 1, maxLength: 4 }), (texts) => {
      const got: string[] = []
      const { push } = createFrameReader(
        () => 1000,
        (content) => void got.push(content.toString()),
      )
      texts.forEach((text, index) => {
        const frame = encodeFrame(text)
        for (let at = 0; at < frame.length; at++) {
          expect(got.length).toBe(index)
          push(frame.subarray(at, at + 1))
        }
        expect(got).toEqual(texts.slice(0, index + 1).map(sent))
      })
    }),
    { numRuns: propertyRuns(500), seed: SEED },
  )
})

test('frames: a length over the limit is rejected as soon as it is read, and nothing after it is delivered', () => {
  const Case = fc.record({
    before: fc.array(fc.string({ maxLength: 10 }), { maxLength: 3 }),
    bound: fc.integer({ min: 40, max: 70_000 }),
    over: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 0xffffffff - 70_000 })),
    shares: Shares,
    behind: fc.uint8Array({ maxLength: 50 }),
  })
  fc.assert(
    fc.property(Case, ({ before, bound, over, shares, behind }) => {
      const got: string[] = []
      const { push } = createFrameReader(
        () => bound,
        (content) => void got.push(content.toString()),
      )
      const head = Buffer.alloc(4)
      head.writeUInt32BE(bound + over)
      const sound = before.filter((text) => Buffer.byteLength(text) <= bound)
      const bytes = Buffer.concat([...sound.map(encodeFrame), head])
      const chunks = split(bytes, shares)
      const last = chunks.pop() as Buffer
      const answers = chunks.map((chunk) => push(chunk))
      const end = push(Buffer.concat([last, behind]))
      // If the last chunk is empty, the header is already complete before it arrives.
      expect([...answers, end]).toContain(false)
      expect(answers.filter((answer, index) => !answer && bytesUpTo(chunks, index) < bytes.length)).toEqual([])
      expect(got).toEqual(sound.map(sent))
    }),
    { numRuns: propertyRuns(2000), seed: SEED },
  )
})

function bytesUpTo(chunks: readonly Buffer[], last: number): number {
  return chunks.slice(0, last + 1).reduce((sum, { length }) => sum + length, 0)
}

test('frames: the limit is inclusive, counts bytes, and is read again for each frame', () => {
  fc.assert(
    fc.property(Text, (text) => {
      const length = encodeFrame(text).length - 4
      let bound = length
      const got: string[] = []
      const { push } = createFrameReader(
        () => bound,
        (content) => void got.push(content.toString()),
      )
      expect(push(encodeFrame(text))).toBe(true)
      bound = length - 1
      expect(push(encodeFrame(text))).toBe(false)
      expect(got).toEqual([sent(text)])
    }),
    { numRuns: propertyRuns(500), seed: SEED },
  )
})

test('frames: invalid UTF-8 is decoded to well-formed text without an exception', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const got: string[] = []
      const { push } = createFrameReader(
        () => 60,
        (content) => void got.push(content.toString()),
      )
      const head = Buffer.alloc(4)
      head.writeUInt32BE(bytes.length)
      expect(push(Buffer.concat([head, bytes]))).toBe(true)
      expect(got).toHaveLength(1)
      expect(got[0]?.isWellFormed()).toBe(true)
    }),
    { numRuns: propertyRuns(1000), seed: SEED },
  )
})
