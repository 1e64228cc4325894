import vm from 'node:vm'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Json } from '../../../runtime/plugin.ts'
import { createProbe } from '../../support/probe/host.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { createScriptLab } from '../../support/solutions.ts'

// Tests how values of every kind cross the boundary of an isolate. A recipe describes each value. The same code builds
// it in a real sandbox process, which sends it to the host, and in this process, which computes the expected result.

const SEED = 20_260_101

/** Describes how to build a value. Plain data is included literally; everything else has a name. */
type Recipe =
  | { readonly kind: 'plain'; readonly value: unknown }
  | { readonly kind: 'list'; readonly items: readonly Recipe[]; readonly holes: readonly number[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, Recipe])[] }
  | { readonly kind: 'around'; readonly how: keyof typeof AROUND; readonly inner: Recipe }
  | { readonly kind: 'odd'; readonly name: string }

/** Source code of functions that wrap a value in another value. */
const AROUND = {
  getter: '(v) => ({ get a() { return v } })',
  changing: '(v) => { let n = 0; return { get a() { return n++ === 0 ? v : () => 1 } } }',
  proxy: "(v) => (typeof v === 'object' && v !== null ? new Proxy(v, {}) : v)",
  inherits: '(v) => Object.create({ inherited: v })',
  hidden: "(v) => Object.defineProperty({ a: 1 }, 'b', { value: v, enumerable: false })",
  symbolKey: '(v) => ({ [Symbol.iterator]: v, a: 1 })',
  nullPrototype: '(v) => Object.assign(Object.create(null), { a: v })',
  instance: '(v) => new (class Thing { #private = 1; field = v; method() {} })()',
  frozen: '(v) => Object.freeze([v])',
  subclass: '(v) => { const list = new (class List extends Array {})(); list.push(v); return list }',
  extra: '(v) => Object.assign([v], { extra: v })',
  deep: '(v) => { let a = v; for (let i = 0; i < 6; i++) a = i % 2 ? [a] : { a }; return a }',
  deeper: '(v) => { let a = v; for (let i = 0; i < 20; i++) a = [a]; return a }',
  shared: '(v) => ({ one: v, two: v })',
  arguments: '(v) => (function () { return arguments })(v, 1)',
  resolved: '(v) => { const p = Promise.resolve(v); p.catch(() => {}); return p }',
  ownToJSON: '(v) => ({ toJSON: () => v })',
  dataToJSON: '(v) => ({ toJSON: 1, a: v })',
} as const

/** Source code of expressions whose values are unusual in some way. */
const ODD = {
  undefined: 'undefined',
  NaN: 'NaN',
  infinity: '-Infinity',
  minusZero: '-0',
  function: '() => 1',
  class: 'class A {}',
  symbol: "Symbol('s')",
  bigint: '10n ** 30n',
  map: 'new Map([[1, 2]])',
  set: 'new Set([1])',
  regExp: '/x/gi',
  error: "new Error('message')",
  bytes: 'new Uint8Array([1, 2, 255])',
  buffer: 'new ArrayBuffer(8)',
  view: 'new DataView(new ArrayBuffer(2))',
  weakMap: 'new WeakMap()',
  generator: '(function* () { yield 1 })()',
  global: 'Object.create(globalThis)',
  cyclicObject: '(() => { const a = {}; a.a = a; return a })()',
  cyclicList: '(() => { const a = []; a.push([a]); return a })()',
  throwsOnGet: "({ get a() { throw new EvalError('own') } })",
  throwsOnKeys: "new Proxy({}, { ownKeys() { throw new EvalError('own') } })",
  throwsOnLength: "new Proxy([], { get() { throw new EvalError('own') } })",
  throwsOnType: "({ a: 1, get [Symbol.toStringTag]() { throw new EvalError('own') } })",
  revoked: '(() => { const { proxy, revoke } = Proxy.revocable([], {}); revoke(); return proxy })()',
  lengthOfText: "new Proxy([1, 2], { get: (t, k) => (k === 'length' ? '2' : t[k]) })",
  lengthBelowZero: "new Proxy([1, 2], { get: (t, k) => (k === 'length' ? -1 : t[k]) })",
  lengthNaN: "new Proxy([1, 2], { get: (t, k) => (k === 'length' ? NaN : t[k]) })",
  lies: "new Proxy({ a: 1 }, { get: () => 2, ownKeys: () => ['a', 'b'], getOwnPropertyDescriptor: () => ({ value: 3, enumerable: true, configurable: true }) })",
  surrogates: "'\\ud800 \\udfff \\ud83d\\ude00 \\u2028\\u2029'",
  surrogateKey: "({ '\\ud800': '\\udc00' })",
  protoKey: 'JSON.parse(\'{"__proto__":{"a":1},"constructor":2,"a":3}\')',
  indexKeys: "({ b: 1, 2: 'two', 1: 'one', '-1': 0, '01': 0 })",
  long: "'x'.repeat(20000)",
  document: 'Object.create(Object.create({ a: 1 }))',
} as const

const BUILD = `function build(recipe) {
  const around = { ${Object.entries(AROUND)
    .map(([name, source]) => `${name}: ${source}`)
    .join(', ')} }
  const odd = { ${Object.entries(ODD)
    .map(([name, source]) => `${name}: () => (${source})`)
    .join(', ')} }
  if (recipe.kind === 'plain') return recipe.value
  if (recipe.kind === 'odd') return odd[recipe.name]()
  if (recipe.kind === 'around') return around[recipe.how](build(recipe.inner))
  if (recipe.kind === 'list') {
    const list = recipe.items.map(build)
    for (const index of recipe.holes) delete list[index]
    return list
  }
  const object = {}
  for (const [key, one] of recipe.entries) {
    Object.defineProperty(object, key, { value: build(one), enumerable: true, configurable: true, writable: true })
  }
  return object
}`

/** Builds a value in this process. Uses a separate V8 context, as in the isolate. */
const build = vm.runInNewContext(`${BUILD}; build`) as (recipe: Recipe) => unknown

const Plain = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }).map((value): Recipe => ({ kind: 'plain', value }))
const Odd = fc.constantFrom(...Object.keys(ODD)).map((name): Recipe => ({ kind: 'odd', name }))
const Key = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'length', '0', 'then', 'toJSON', 'valueOf', ''),
)
const Recipe = fc.letrec<{ recipe: Recipe }>((tie) => ({
  recipe: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'recipe' },
    Plain,
    Odd,
    fc.record({
      kind: fc.constant('list' as const),
      items: fc.array(tie('recipe'), { maxLength: 3, depthIdentifier: 'recipe' }),
      holes: fc.array(fc.nat(3), { maxLength: 1 }),
    }),
    fc.record({
      kind: fc.constant('object' as const),
      entries: fc.array(fc.tuple(Key, tie('recipe')), { maxLength: 3, depthIdentifier: 'recipe' }),
    }),
    fc.record({
      kind: fc.constant('around' as const),
      how: fc.constantFrom(...(Object.keys(AROUND) as (keyof typeof AROUND)[])),
      inner: tie('recipe'),
    }),
  ),
})).recipe

const probe = createProbe()
const lab = createScriptLab({ plugins: [probe] })
afterAll(() => lab.stop())

/**
 * The value that arrived, or in `refused` the error's name. `TypeError` means that the value isn't plain data, and
 * `RangeError` that it is nested too deeply. `EvalError` means that the value's own code threw an error.
 */
type Sent = { readonly value: Json } | { readonly refused: string }

const SEND = `${BUILD}
const nameOf = (error) => (Object.getPrototypeOf(error) === globalThis[error.name].prototype ? error.name : 'odd ' + error)
async function onSolutionOpen(arg, queryParams) {
  const recipes = JSON.parse(arg)
  const ends = []
  for (let index = 0; index < recipes.length; index++) {
    let end = ''
    try {
      if (queryParams.by === 'command') probe.keep(index, build(recipes[index]))
      else end = JSON.stringify(await probe.ask(index, build(recipes[index])))
      ends.push({ end })
    } catch (error) {
      ends.push({ refused: nameOf(error) })
    }
  }
  return JSON.stringify({ ends })
}`

/**
 * Passes the value of each recipe to a binding.
 * @returns what arrived for each value, or why the value was rejected, and the response to the request
 */
async function send(recipes: readonly Recipe[], by: 'command' | 'request') {
  probe.take()
  const { failure, values } = await lab.run({ script: SEND, arg: JSON.stringify(recipes), queryParams: { by } })
  expect(failure).toBeNull()
  const arrived = new Map(probe.take().map(([index, value]) => [index, value as Json]))
  return (values.ends as { end?: string; refused?: string }[]).map(({ end, refused }, index) => {
    expect(arrived.has(index)).toBe(refused === undefined)
    const sent: Sent = refused === undefined ? { value: arrived.get(index) as Json } : { refused }
    return { sent, answer: end }
  })
}

/**
 * Computes what the host should receive for a value.
 * @throws TypeError or RangeError if the value must be rejected, or any error that the value's own code throws
 */
function crossing(value: unknown, depth = 15): Json {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value !== 'object') throw new TypeError('not plain data')
  if (depth === 0) throw new RangeError('too deep')
  if (Array.isArray(value)) {
    const { length } = value
    if (typeof length !== 'number' || !(length >= 0)) throw new TypeError('no length')
    return Array.from({ length }, (_, index) => crossing(value[index], depth - 1))
  }
  const entries = Object.keys(value).map((key) => [key, crossing((value as Record<string, unknown>)[key], depth - 1)])
  return Object.fromEntries(entries) as Json
}

function expected(recipe: Recipe): Sent {
  try {
    return { value: crossing(build(recipe)) }
  } catch (error) {
    return { refused: (error as Error).name }
  }
}

/**
 * Converts a result to text. Comparing texts detects differences in `__proto__`, the order of keys and unpaired
 * surrogates.
 */
const shown = (sent: Sent) => JSON.stringify(sent)

test('data from scripts: plain data arrives exactly as JSON.parse(JSON.stringify()) returns it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Plain, { minLength: 1, maxLength: 12 }), async (recipes) => {
      const got = await send(recipes, 'command')
      got.forEach(({ sent }, index) => {
        const { value } = recipes[index] as { value: unknown }
        expect(shown(sent)).toBe(shown({ value: JSON.parse(JSON.stringify(value)) as Json }))
      })
    }),
    { numRuns: propertyRuns(300), seed: SEED },
  )
})

test('data from scripts: each unusual value, passed separately, arrives as the data that it represents or is rejected', async () => {
  const alone = Object.keys(ODD).map((name): Recipe => ({ kind: 'odd', name }))
  const around = (Object.keys(AROUND) as (keyof typeof AROUND)[]).flatMap((how) =>
    alone.map((inner): Recipe => ({ kind: 'around', how, inner })),
  )
  for (const recipes of [alone, around]) {
    const got = await send(recipes, 'command')
    got.forEach(({ sent }, index) => {
      const recipe = recipes[index] as Recipe
      expect([recipe, shown(sent)]).toEqual([recipe, shown(expected(recipe))])
    })
  }
  const ends = Object.fromEntries(
    (await send(alone, 'command')).map(({ sent }, index) => [Object.keys(ODD)[index], sent]),
  )
  const refused = (name: string) => (ends[name] as { refused?: string }).refused
  expect(
    ['function', 'class', 'symbol', 'bigint', 'revoked', 'lengthOfText', 'lengthBelowZero', 'lengthNaN'].map(refused),
  ).toEqual(Array(8).fill('TypeError'))
  expect(['cyclicObject', 'cyclicList'].map(refused)).toEqual(['RangeError', 'RangeError'])
  expect(['throwsOnGet', 'throwsOnKeys', 'throwsOnLength'].map(refused)).toEqual(Array(3).fill('EvalError'))
  const { value } = ends.protoKey as { value: Record<string, unknown> }
  expect([Object.getPrototypeOf(value), value.constructor, value.a]).toEqual([Object.prototype, 2, 3])
})

test('data from scripts: any combination of values arrives as the data that it represents or is rejected', async () => {
  const counts = { arrived: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(Recipe, { minLength: 1, maxLength: 12 }), async (recipes) => {
      const got = await send(recipes, 'command')
      got.forEach(({ sent }, index) => {
        const recipe = recipes[index] as Recipe
        counts['value' in sent ? 'arrived' : 'refused']++
        expect(shown(sent)).toBe(shown(expected(recipe)))
        checkAgainstJson(recipe, sent)
      })
    }),
    { numRuns: propertyRuns(1000), seed: SEED },
  )
  expect(counts.arrived).toBeGreaterThan(propertyRuns(500))
  expect(counts.refused).toBeGreaterThan(propertyRuns(200))
})

/**
 * Expects what JSON.stringify would produce, with two differences: toJSON is not called, and undefined becomes null.
 */
function checkAgainstJson(recipe: Recipe, sent: Sent): void {
  if (!('value' in sent)) return
  const text = JSON.stringify(build(recipe), (_key, value) => (value === undefined ? null : (value as unknown)))
  const hasToJSON = JSON.stringify(recipe).includes('toJSON')
  if (!hasToJSON) expect(shown(sent)).toBe(shown({ value: JSON.parse(text) as Json }))
}

test('data from scripts: requests accept the same values, and their answers are returned unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Recipe, { minLength: 1, maxLength: 12 }), async (recipes) => {
      const got = await send(recipes, 'request')
      got.forEach(({ sent, answer }, index) => {
        expect(shown(sent)).toBe(shown(expected(recipes[index] as Recipe)))
        if ('value' in sent) expect(answer).toBe(JSON.stringify(sent.value))
      })
    }),
    { numRuns: propertyRuns(300), seed: SEED },
  )
})

test('data from scripts: a script’s changes to prototypes do not affect what arrives', async () => {
  const hostile = `
    Object.prototype.toJSON = function () { return 'forged' }
    String.prototype.toJSON = () => 'forged'
    Number.prototype.toJSON = () => 'forged'
    Array.prototype.toJSON = () => 'forged'
    Array.prototype.map = Array.prototype.join = Array.prototype.push = () => { throw new Error('called') }
    Array.prototype[Symbol.iterator] = function* () { yield 'forged' }
    JSON.stringify = () => '"forged"'
    JSON.parse = () => 'forged'
    Object.keys = () => ['forged']
    Object.defineProperty(Object.prototype, 'forged', { get() { return 'forged' }, set() {}, configurable: true })
    Object.defineProperty(Object.prototype, 'plugin', { get() { return 'security' }, set() {}, configurable: true })
    Reflect.apply = Reflect.ownKeys = () => ['forged']
    Array.isArray = () => false
    String.prototype.slice = () => 'forged'`
  const script = `function onSolutionOpen() {
    ${hostile}
    probe.keep({ a: [1, 'two', { three: null }], b: true }, ['x'])
    return '{"done":true}'
  }`
  probe.take()
  const { failure, values } = await lab.run({ script })
  expect([failure, values]).toEqual([null, { done: true }])
  expect(probe.take()).toEqual([[{ a: [1, 'two', { three: null }], b: true }, ['x']]])
})

// --- results and thrown values -------------------------------------------------------------------------------------------

const RETURN = `${BUILD}
function onSolutionOpen(arg, queryParams) {
  security.login('anna', '1', ['Users'])
  const value = build(JSON.parse(arg))
  if (queryParams.by === 'return') return value
  if (queryParams.by === 'promise') return new Promise((resolve) => resolve(value))
  if (queryParams.by === 'throw') throw value
  return Promise.reject(value)
}`

const Result = fc.oneof(
  Recipe,
  fc.jsonValue({ maxDepth: 2 }).map((value): Recipe => ({ kind: 'plain', value: JSON.stringify(value) })),
  fc
    .constantFrom(
      '{}',
      '{"a":1}',
      ' {} ',
      '[]',
      '{',
      '',
      'null',
      '"{}"',
      '\ufeff{}',
      '{"__proto__":1}',
      '{"a":1,"a":2}',
    )
    .map((value): Recipe => ({ kind: 'plain', value })),
)

/**
 * Awaits the value, as the sandbox awaits a call's result. Awaiting calls the value's `then` function, if it has one.
 */
async function settled(recipe: Recipe): Promise<{ value: unknown } | { threw: unknown }> {
  try {
    return { value: await build(recipe) }
  } catch (threw) {
    return { threw }
  }
}

function kindOfResult(value: unknown): string {
  if (typeof value === 'string') return 'a string that is not a JSON object'
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Parses JSON. @returns null if it is invalid or not an object */
function objectOf(text: unknown): object | null {
  if (typeof text !== 'string') return null
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

const REFUSED_KEYS = /"(__proto__|constructor|prototype)"|"a":1,"a"/

test('data from scripts: a result of any kind becomes an object, nothing, or nothing with a log line; the login stays valid', async () => {
  await fc.assert(
    fc.asyncProperty(Result, fc.constantFrom('return', 'promise'), async (recipe, by) => {
      const end = await lab.run({ script: RETURN, arg: JSON.stringify(recipe), queryParams: { by } })
      const result = await settled(recipe)
      if ('threw' in result || isRevoked(result.value)) {
        expect([end.failure?.code, end.values, end.effects.login]).toEqual(['script_error', {}, null])
        return
      }
      const { value } = result
      expect([end.failure, end.effects.login?.username]).toEqual([null, 'anna'])
      const object = objectOf(value)
      const isUsed = object !== null && !REFUSED_KEYS.test(value as string)
      expect(JSON.stringify(end.values)).toBe(isUsed ? JSON.stringify(object) : '{}')
      const isSilent = isUsed || value === undefined || value === null
      expect(end.log.map(({ message }) => message)).toEqual(
        isSilent
          ? []
          : [
              `onSolutionOpen returned ${kindOfResult(value)}; it is treated as null, because onSolutionOpen must return a JSON string that contains an object`,
            ],
      )
    }),
    { numRuns: propertyRuns(1500), seed: SEED },
  )
})

function isRevoked(value: unknown): boolean {
  try {
    Array.isArray(value)
    return false
  } catch {
    return true
  }
}

const Thrown = fc.oneof(
  Recipe,
  fc.record({
    kind: fc.constant('object' as const),
    entries: fc.array(fc.tuple(fc.constantFrom('name', 'message', 'stack', 'code', 'cause', 'toString'), Recipe), {
      maxLength: 4,
    }),
  }),
  fc.string({ unit: 'binary', maxLength: 3000 }).map((value): Recipe => ({ kind: 'plain', value })),
)

test('data from scripts: a thrown value of any kind becomes a script_error with a short text, one log line and no effect', async () => {
  await fc.assert(
    fc.asyncProperty(Thrown, fc.constantFrom('throw', 'reject'), async (recipe, by) => {
      const end = await lab.run({ script: RETURN, arg: JSON.stringify(recipe), queryParams: { by } })
      const { failure, values, effects, log } = end
      expect([failure?.code, values, effects.login]).toEqual(['script_error', {}, null])
      const message = failure?.message ?? ''
      expect(message).toMatch(/^.{0,100}…?: /s)
      expect(message.length).toBeLessThan(2200)
      expect(message).not.toMatch(/solhost:|node:|isolated-vm|file:\/\/|\/runtime\//)
      expect(log.map(({ level, code }) => [level, code])).toEqual([['error', 'script_error']])
      const text = (recipe as { value?: unknown }).value
      if (typeof text === 'string' && text.length <= 2000) expect(message).toBe(`Thrown value: ${text}`)
    }),
    { numRuns: propertyRuns(1500), seed: SEED },
  )
})
