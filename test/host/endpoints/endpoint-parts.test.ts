import { expect, test, vi } from 'vitest'
import { decodeSegments, endpointsOf, matchEndpoints } from '../../../base/bundles/endpoint-table.ts'
import { createBodyTurns } from '../../../host/endpoints/body-turns.ts'
import { createCallLimit } from '../../../host/endpoints/call-limit.ts'
import { zodOf } from '../../../host/endpoints/check-input.ts'
import { createNetworkLimit } from '../../../host/endpoints/network-limit.ts'
import { parseBody } from '../../../host/endpoints/read-request.ts'
import { INPUT_KEYS, type InputSchema } from '../../../runtime/bundle/endpoint-schema.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { manifestOf } from '../../support/solutions.ts'

const item: InputSchema = { type: 'integer' }
/** For each key, a value that is accepted and one that is rejected. */
const CASES: Readonly<Record<(typeof INPUT_KEYS)[number], [schema: InputSchema, accepted: unknown, refused: unknown]>> =
  {
    type: [{ type: 'null' }, null, 0],
    description: [{ type: 'string', description: 'what' }, 'a', 1],
    properties: [{ type: 'object', properties: { a: item } }, { a: 1 }, { a: '1' }],
    required: [{ type: 'object', properties: { a: item }, required: ['a'] }, { a: 1 }, {}],
    items: [{ type: 'array', items: item }, [1], [1, 'a']],
    enum: [{ enum: ['a', 1, null] }, null, 'b'],
    minimum: [{ type: 'number', minimum: 2 }, 2, 1.9],
    maximum: [{ type: 'integer', maximum: 2 }, 2, 3],
    minLength: [{ type: 'string', minLength: 2 }, 'ab', 'a'],
    maxLength: [{ type: 'string', maxLength: 2 }, 'ab', 'abc'],
    minItems: [{ type: 'array', items: item, minItems: 1 }, [1], []],
    maxItems: [{ type: 'array', items: item, maxItems: 1 }, [1], [1, 2]],
  }

test('input schemas: each key that manifests may use has an effect', () => {
  expect(Object.keys(CASES).sort()).toEqual([...INPUT_KEYS].sort())
  for (const [key, [schema, accepted, refused]] of Object.entries(CASES)) {
    expect([zodOf(schema).safeParse(accepted).success, zodOf(schema).safeParse(refused).success], key).toEqual([
      true,
      false,
    ])
  }
})

test('input schemas: undeclared properties are refused at every level, even without "properties"', () => {
  const nested: InputSchema = { type: 'array', items: { type: 'object', properties: { a: { type: 'object' } } } }
  expect(zodOf(nested).safeParse([{ a: {} }]).success).toBe(true)
  for (const value of [[{ b: 1 }], [{ a: { b: 1 } }]]) expect(zodOf(nested).safeParse(value).success).toBe(false)
})

test('input schemas: the check of a list stops after 20 errors', () => {
  const names = Array.from({ length: 30 }, (_, index) => `p${index}`)
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]))
  const items: InputSchema = { type: 'object', properties, required: names }
  const errorsOf = (schema: InputSchema, value: unknown) => zodOf(schema).safeParse(value).error?.issues ?? []
  const list: InputSchema = { type: 'array', items }
  const [first, ...others] = errorsOf(
    list,
    Array.from({ length: 1000 }, () => ({})),
  )
  expect(first?.path).toEqual([0, 'p0'])
  expect(others).toHaveLength(19)
  const twice = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => ({})))
  expect(errorsOf({ type: 'array', items: list }, twice)).toHaveLength(20)
  const good = Object.fromEntries(names.map((name) => [name, 'a']))
  expect(errorsOf(list, [good, { ...good, p7: 1 }, good, { ...good, p8: 1 }]).map(({ path }) => path)).toEqual([
    [1, 'p7'],
    [3, 'p8'],
  ])
})

test('paths: at each segment, literals take precedence over parameters', () => {
  const run = { function: 'run', authentication: 'none' }
  const addresses = ['GET /{a}/{b}', 'GET /a/{b}', 'GET /{a}/b', 'POST /a/b', 'PUT /a']
  const endpoints = endpointsOf({
    manifest: manifestOf({ endpoints: Object.fromEntries(addresses.map((address) => [address, run])) }),
    modules: [],
  })
  const matched = (path: string) =>
    [...matchEndpoints(endpoints, decodeSegments(path) ?? []).values()].map(({ endpoint, params }) => [
      endpoint.address,
      { ...params },
    ])
  expect(matched('a/b')).toEqual([
    ['POST /a/b', {}],
    ['GET /a/{b}', { b: 'b' }],
  ])
  expect(matched('x/b')).toEqual([['GET /{a}/b', { a: 'x' }]])
  expect(matched('x/y')).toEqual([['GET /{a}/{b}', { a: 'x', b: 'y' }]])
  expect([matched('A'), matched('a/b/c')]).toEqual([[], []])
  for (const path of ['', 'a/', '/a', 'a//b', '.', 'a/..', '%2E%2e', 'a%2fb', 'a%5cb', 'a%0ab', 'a%7f', '%c3', '%']) {
    expect(decodeSegments(path), path).toBeNull()
  }
})

test('the network limit counts an IPv4 address or an IPv6 /64, per minute', async () => {
  let time = 0
  const limit = createNetworkLimit({ REQUESTS_NETWORK: 2 }, () => time)
  limit.count('10.0.0.1')
  limit.count('2001:db8::1')
  limit.count('10.0.0.1')
  limit.count('2001:db8::2')
  time = 30_000
  expect(() => limit.count('10.0.0.1')).toThrow('(limit: REQUESTS_NETWORK). Try again in 30 s.')
  expect(() => limit.count('2001:db8::3')).toThrow('REQUESTS_NETWORK')
  limit.count('10.0.0.2')
  time = 60_000
  limit.count('10.0.0.1')
  const { promise, resolve } = Promise.withResolvers<void>()
  const reading = Array.from({ length: 64 }, () => limit.reading('10.0.0.1', () => promise))
  await expect(limit.reading('10.0.0.1', async () => {})).rejects.toThrow('Too many requests')
  await limit.reading('10.0.0.2', async () => {})
  resolve()
  await Promise.all(reading)
  await limit.reading('10.0.0.1', async () => {})
})

test('the network limit starts a tenth of the requests immediately, and the others at a steady rate', async () => {
  let time = 0
  const limit = createNetworkLimit({ REQUESTS_NETWORK: 600 }, () => time)
  vi.useFakeTimers()
  try {
    let started = 0
    const admit = (address: string) => void limit.admit(address).then(() => started++)
    for (let sent = 0; sent < 600; sent++) admit('10.0.0.1')
    await vi.advanceTimersByTimeAsync(0)
    expect(started).toBeGreaterThanOrEqual(60)
    expect(started).toBeLessThanOrEqual(62)
    expect(() => limit.count('10.0.0.1')).toThrow('REQUESTS_NETWORK')
    await vi.advanceTimersByTimeAsync(1000)
    expect(started).toBeGreaterThanOrEqual(155)
    expect(started).toBeLessThanOrEqual(165)
    admit('10.0.0.2')
    await vi.advanceTimersByTimeAsync(0)
    expect(started).toBeLessThanOrEqual(166)
    await vi.advanceTimersByTimeAsync(5000)
    expect(started).toBe(601)
    time = 6000
    await expect(limit.admit('10.0.0.1')).rejects.toThrow('REQUESTS_NETWORK')
    await limit.admit('10.0.0.2')
  } finally {
    vi.useRealTimers()
  }
})

test('if the clock is set back, the network limit neither delays requests nor counts earlier ones longer', async () => {
  let time = 1_000_000
  const limit = createNetworkLimit({ REQUESTS_NETWORK: 2 }, () => time)
  await limit.admit('10.0.0.1')
  time -= 500_000
  vi.useFakeTimers()
  try {
    let started = 0
    for (let sent = 0; sent < 2; sent++) void limit.admit('10.0.0.1').then(() => started++)
    await vi.advanceTimersByTimeAsync(6000)
    expect(started).toBe(2)
    expect(() => limit.count('10.0.0.1')).toThrow('Try again in 60 s.')
  } finally {
    vi.useRealTimers()
  }
})

test('the network limit counts a large body as many requests, and delays the next requests accordingly', async () => {
  const limit = createNetworkLimit({ REQUESTS_NETWORK: 600 }, () => 0)
  for (const bytes of [0, 65_535]) limit.countBody('10.0.0.1', bytes)
  for (let body = 0; body < 37; body++) limit.countBody('10.0.0.1', 1024 * 1024)
  expect(() => limit.countBody('10.0.0.1', 1024 * 1024)).toThrow('REQUESTS_NETWORK')
  limit.countBody('10.0.0.2', 20 * 65_536)
  vi.useFakeTimers()
  try {
    let started = 0
    for (let sent = 0; sent < 60; sent++) void limit.admit('10.0.0.2').then(() => started++)
    await vi.advanceTimersByTimeAsync(0)
    expect(started).toBeGreaterThanOrEqual(40)
    expect(started).toBeLessThanOrEqual(42)
  } finally {
    vi.useRealTimers()
  }
})

test('the network limit accepts a body of any size, and counts it as at most a quarter of the limit', () => {
  const limit = createNetworkLimit({ REQUESTS_NETWORK: 20 }, () => 0)
  for (let body = 0; body < 4; body++) limit.countBody('10.0.0.1', 50 * 1024 ** 2)
  expect(() => limit.countBody('10.0.0.1', 65_536)).toThrow('REQUESTS_NETWORK')
})

test('large bodies are read one at a time, and between two of them the host is free for as long', async () => {
  const inTurn = createBodyTurns()
  vi.useFakeTimers()
  try {
    const read: string[] = []
    const reading = (name: string, bytes: number) =>
      inTurn(bytes, () => {
        vi.advanceTimersByTime(80)
        read.push(name)
        if (name === 'invalid') throw new TypeError(name)
        return name
      })
    const failed = expect(reading('invalid', 1_000_000)).rejects.toThrow('invalid')
    const all = [reading('second', 1_000_000), reading('small', 1000)]
    await vi.advanceTimersByTimeAsync(0)
    expect(read.toSorted()).toEqual(['invalid', 'small'])
    await vi.advanceTimersByTimeAsync(81)
    expect(read).toHaveLength(3)
    await failed
    expect(await Promise.all(all)).toEqual(['second', 'small'])
  } finally {
    vi.useRealTimers()
  }
})

test('a JSON body may have at most 100,000 values', () => {
  const bodyOf = (values: number) => Buffer.from(JSON.stringify(Array.from({ length: values - 1 }, () => 1)))
  const parsed = (values: number) => parseBody({ kind: 'json', bytes: bodyOf(values) }, createLimits({}))
  expect(parsed(100_000)).toHaveLength(99_999)
  expect(() => parsed(100_001)).toThrow('The request body has too many values. At most 100000 are allowed.')
})

test('the call limit queues a solution’s further calls for a limited time, and does not delay other solutions', async () => {
  const inTurn = createCallLimit({ REQUESTS_AT_ONCE: 1 }, 0)
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = inTurn('shop', () => promise)
  expect(await inTurn('shop', async () => 'second')).toBeNull()
  expect(await inTurn('other', async () => 'other')).toBe('other')
  resolve('first')
  expect(await first).toBe('first')
  expect(await inTurn('shop', async () => 'third')).toBe('third')
})
