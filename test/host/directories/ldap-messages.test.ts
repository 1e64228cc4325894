import fc from 'fast-check'
import { Attribute, BindResponse, MessageParser, SearchEntry, SearchReference, SearchResponse } from 'ldapts'
import { expect, test } from 'vitest'
import { createMessageReader } from '../../../host/directories/ldap-messages.ts'
import { propertyRuns } from '../../support/property-runs.ts'

const BIND = '300c02010361070a010004000400'
const DONE = '300c02010265070a010004000400'
const REFERENCE = '300a02010273050403612f62'
const ENTRY =
  '302c0201026427' +
  '0404636e3d61' +
  '301f' +
  '300f0403756964' +
  '3108' +
  '0402616e' +
  '04026e61' +
  '300c' +
  '04046d61696c' +
  '3104' +
  '0402' +
  '6140'
const MESSAGES = [BIND, DONE, REFERENCE, ENTRY].map((hex) => Buffer.from(hex, 'hex'))

const read = (...chunks: Buffer[]) => {
  const reader = createMessageReader()
  return chunks.flatMap((chunk) => reader.read(chunk)).map((message) => message.toString('hex'))
}

/** The messages as parsed by the library. */
function parsed(messages: readonly Buffer[]): unknown[] {
  const parser = new MessageParser()
  const found: unknown[] = []
  parser.on('message', (message) => found.push(message))
  parser.on('error', () => {})
  for (const message of messages) parser.read(message, new Map())
  return found
}

test('LDAP messages: complete messages pass, however they are split into chunks', () => {
  const all = Buffer.concat(MESSAGES)
  const expected = MESSAGES.map((message) => message.toString('hex'))
  expect(read(all)).toEqual(expected)
  expect(read(...[...all].map((byte) => Buffer.from([byte])))).toEqual(expected)
  const found = parsed(createMessageReader().read(all))
  expect(found.map((one) => one?.constructor)).toEqual([BindResponse, SearchResponse, SearchReference, SearchEntry])
  expect((found[3] as SearchEntry).attributes).toEqual([
    expect.objectContaining({ type: 'uid', values: ['an', 'na'] }),
    expect.objectContaining({ type: 'mail', values: ['a@'] }),
  ])
  expect((found[3] as SearchEntry).attributes[0]).toBeInstanceOf(Attribute)
})

test('LDAP messages: controls are dropped, because the host requests none', () => {
  // A control, such as the warning from some servers that a password is about to expire.
  const controls = 'a01d301b0417322e31362e3834302e312e3131333733302e332e342e350400'
  const message = Buffer.from(`302b020103${BIND.slice(10)}${controls}`, 'hex')
  expect(read(message)).toEqual([`3084${'0000000c'}${BIND.slice(4)}`])
})

test.each([
  ['a string that is longer than its message', '300c02010361070a010004000405'],
  ['a list that is longer than its message', '3013020102640e0404636e3d6130063084000fffff'],
  ['a list with the tag of a string', '3010020102640b' + '0404636e3d61' + '0403048101'],
  ['an indefinite length', '3080020103'],
  ['a length of five bytes', '30850000000001'],
  ['no message', '47455420'],
  ['a request', '300c020101600702010304008000'],
  ['a number without digits', '300b02010361060a0004000400'],
  ['a negative length of a control', `3010020103${BIND.slice(10)}a1020500`],
])('LDAP messages: %s ends the connection', (_what, hex) => {
  expect(() => read(Buffer.from(hex, 'hex'))).toThrow('the directory server’s response is not a valid LDAP message')
})

test('LDAP messages: a connection may receive 4 MB', () => {
  const reader = createMessageReader()
  const chunk = Buffer.from(`3084${(16 * 1024 ** 2).toString(16).padStart(8, '0')}${'00'.repeat(60_000)}`, 'hex')
  expect(() => {
    for (let at = 0; at < 100; at++) reader.read(chunk)
  }).toThrow('the directory server’s responses are larger than 4 MB in total')
})

test('LDAP messages: the library’s parser terminates for all messages that pass', () => {
  const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 })
  const property = fc.property(fc.constantFrom(...MESSAGES), changes, (message, changed) => {
    const bytes = Buffer.from(message)
    for (const [at, value] of changed) bytes[at % bytes.length] = value
    let passed: Buffer[] = []
    try {
      passed = createMessageReader().read(bytes)
    } catch (error) {
      expect((error as Error).message).toMatch(/^the directory server’s response/)
    }
    expect(parsed(passed).length).toBeLessThanOrEqual(1)
  })
  fc.assert(property, { numRuns: propertyRuns(3_000) })
})

test('LDAP messages: a flood of tiny messages is an error; many entries are not', () => {
  const reference = Buffer.from('30050201637300', 'hex')
  const flood = Buffer.concat(Array.from({ length: 9000 }, () => reference))
  expect(() => read(flood)).toThrow('more than 1000 messages that are too small to be entries')
  expect(() => read(...Array.from({ length: 1001 }, () => reference))).toThrow('more than 1000')
  expect(read(flood.subarray(0, 7 * 1000))).toHaveLength(1000)
  const entries = Buffer.concat(Array.from({ length: 5000 }, () => Buffer.from(ENTRY, 'hex')))
  expect(read(entries)).toHaveLength(5000)
})
