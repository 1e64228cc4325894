import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FAULT_CODES, WARNING_CODES } from '../../runtime/bundle/faults.ts'
import { FAILURES } from '../../runtime/outcome.ts'
import { checkFromSandbox } from '../../runtime/protocol-check.ts'
import { propertyRuns } from '../support/property-runs.ts'

// Compares the host's check of messages from sandbox processes with a second, slow and simple implementation
// (`isMessage`). Both must accept the same messages and reject all others. Accepted messages must not be changed.

const SEED = 20_260_101

// --- the second implementation ----------------------------------------------------------------------------------------

type Check = (value: unknown) => boolean

const isText =
  (max = Number.POSITIVE_INFINITY): Check =>
  (value) =>
    typeof value === 'string' && value.length <= max
const isInteger =
  (min: number, max = Number.MAX_SAFE_INTEGER): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
const isFiniteNumber: Check = (value) => Number.isFinite(value)
const isDuration: Check = (value) => Number.isFinite(value) && (value as number) >= 0
const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value)
const isList =
  (check: Check, max = Number.POSITIVE_INFINITY): Check =>
  (value) =>
    Array.isArray(value) && value.length <= max && value.every(check)
const isRecord =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check)
/** Accepts an object with exactly these keys. Keys marked with "?" are optional. */
function isShape(shape: Readonly<Record<string, Check>>): Check {
  const checks = new Map(Object.entries(shape).map(([key, check]) => [key.replace('?', ''), check]))
  const needed = Object.keys(shape).filter((key) => !key.endsWith('?'))
  return (value) =>
    isObject(value) &&
    needed.every((key) => Object.hasOwn(value, key)) &&
    Object.entries(value).every(([key, one]) => checks.get(key)?.(one) ?? false)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const isId = isInteger(0)
const isName = isText(100)
const isMessageText = isText(10_000)
const isArgs = isList(() => true, 100)
const isPosition = isShape({ file: isText(300), line: isInteger(0, 1e9), column: isInteger(0, 1e9) })
const isFinding = (codes: object) =>
  isShape({
    file: isText(300),
    'line?': isInteger(0, 1e9),
    'column?': isInteger(0, 1e9),
    code: isOneOf(...Object.keys(codes)),
    message: isMessageText,
  })
const isFault = isFinding(FAULT_CODES)
const isWarning = isFinding(WARNING_CODES)
const isReturned = isShape({
  ok: isOneOf(true),
  result: (value) => value === null || isText()(value),
  'odd?': isText(100),
  commands: isList(isShape({ plugin: isName, method: isName, args: isArgs }), 10_000),
  milliseconds: isDuration,
})
const isFailed = isShape({
  ok: isOneOf(false),
  code: isOneOf(...Object.keys(FAILURES)),
  message: isMessageText,
  'position?': isPosition,
  'limit?': isShape({ name: isName, allowed: isFiniteNumber, 'used?': isFiniteNumber }),
  milliseconds: isDuration,
})

const isScope = isShape({
  name: isText(300),
  names: isList(isName),
  shared: isList(isName),
  isOwn: (value) => typeof value === 'boolean',
})

const MESSAGES: Readonly<Record<string, Record<string, Check>>> = {
  ready: { 'snapshot?': isText() },
  pong: {},
  unready: { message: isMessageText },
  loaded: { faults: isList(isFault, 10_000) },
  started: { id: isId },
  hung: { id: isId },
  gone: { clients: isList(isId, 1000) },
  ended: { id: isId, outcome: (value) => isReturned(value) || isFailed(value) },
  probed: { id: isId, faults: isList(isFault, 10), found: isList(isName, 300) },
  log: {
    id: isId,
    level: isOneOf('debug', 'info', 'warn', 'error'),
    message: isMessageText,
    'position?': isPosition,
  },
  request: { id: isId, request: isId, plugin: isName, method: isName, args: isArgs },
  checked: {
    checked: isShape({
      faults: isList(isFault, 100_000),
      warnings: isList(isWarning, 100_000),
      scripts: isList(isText()),
      scopes: isList(isScope),
      formScripts: isList(isText()),
      formFunctions: isList(isShape({ names: isList(isName), bound: isList(isName) })),
      forms: isList(() => true),
      i18n: isList(isRecord(isText())),
      template: () => true,
      'realmNames?': isList(isShape({ globals: isList(isName), lexicals: isList(isName) })),
    }),
  },
}

function isMessage(value: unknown): boolean {
  if (!isObject(value) || typeof value.kind !== 'string' || !Object.hasOwn(MESSAGES, value.kind)) return false
  return isShape({ kind: isOneOf(value.kind), ...MESSAGES[value.kind] })(value)
}

// --- valid messages ------------------------------------------------------------------------------------------------------

const Id = fc.maxSafeNat()
const Name = fc.string({ unit: 'binary', maxLength: 20 })
const Text = fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.constantFrom('', '\ud800', 'x'.repeat(10_000)))
const Value = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('__proto__'))
const Args = fc.array(Value, { maxLength: 4 })
const Position = fc.record({ file: Name, line: fc.nat(1e9), column: fc.nat(1e9) })
const Finding = (codes: object) =>
  fc.record(
    {
      file: Name,
      line: fc.nat(1e9),
      column: fc.nat(1e9),
      code: fc.constantFrom(...Object.keys(codes)),
      message: Text,
    },
    { requiredKeys: ['file', 'code', 'message'] },
  )
const Faults = fc.array(Finding(FAULT_CODES), { maxLength: 3 })
const Duration = fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e300, noNaN: true, noDefaultInfinity: true }))
const Outcome = fc.oneof(
  fc.record(
    {
      ok: fc.constant(true),
      result: fc.option(Text),
      odd: Name,
      commands: fc.array(fc.record({ plugin: Name, method: Name, args: Args }), { maxLength: 3 }),
      milliseconds: Duration,
    },
    { requiredKeys: ['ok', 'result', 'commands', 'milliseconds'] },
  ),
  fc.record(
    {
      ok: fc.constant(false),
      code: fc.constantFrom(...Object.keys(FAILURES)),
      message: Text,
      position: Position,
      limit: fc.record(
        { name: Name, allowed: fc.integer(), used: fc.integer() },
        { requiredKeys: ['name', 'allowed'] },
      ),
      milliseconds: Duration,
    },
    { requiredKeys: ['ok', 'code', 'message', 'milliseconds'] },
  ),
)
const Valid = fc.oneof(
  fc.record({ kind: fc.constant('pong') }),
  fc.record({ kind: fc.constant('ready'), snapshot: Text }, { requiredKeys: ['kind'] }),
  fc.record({ kind: fc.constant('unready'), message: Text }),
  fc.record({ kind: fc.constant('loaded'), faults: Faults }),
  fc.record({ kind: fc.constantFrom('started', 'hung'), id: Id }),
  fc.record({ kind: fc.constant('gone'), clients: fc.array(Id, { maxLength: 5 }) }),
  fc.record({ kind: fc.constant('ended'), id: Id, outcome: Outcome }),
  fc.record({ kind: fc.constant('probed'), id: Id, faults: Faults, found: fc.array(Name, { maxLength: 12 }) }),
  fc.record(
    {
      kind: fc.constant('log'),
      id: Id,
      level: fc.constantFrom('debug', 'info', 'warn', 'error'),
      message: Text,
      position: Position,
    },
    { requiredKeys: ['kind', 'id', 'level', 'message'] },
  ),
  fc.record({ kind: fc.constant('request'), id: Id, request: Id, plugin: Name, method: Name, args: Args }),
  fc.record({
    kind: fc.constant('checked'),
    checked: fc.record({
      faults: Faults,
      warnings: fc.array(Finding(WARNING_CODES), { maxLength: 3 }),
      scripts: fc.array(Text, { maxLength: 3 }),
      scopes: fc.array(
        fc.record({
          name: Name,
          names: fc.array(Name, { maxLength: 3 }),
          shared: fc.array(Name, { maxLength: 3 }),
          isOwn: fc.boolean(),
        }),
        { maxLength: 3 },
      ),
      formScripts: fc.array(Text, { maxLength: 3 }),
      formFunctions: fc.array(
        fc.record({ names: fc.array(Name, { maxLength: 3 }), bound: fc.array(Name, { maxLength: 3 }) }),
        { maxLength: 3 },
      ),
      forms: fc.array(Value, { maxLength: 3 }),
      i18n: fc.array(
        fc.dictionary(
          Name.filter((key) => key !== '__proto__'),
          Text,
          { maxKeys: 3, noNullPrototype: true },
        ),
        { maxLength: 3 },
      ),
      template: Value,
    }),
  }),
)

test('protocol: every message is accepted unchanged', () => {
  fc.assert(
    fc.property(Valid, (message) => {
      const text = JSON.stringify(message)
      expect(isMessage(JSON.parse(text))).toBe(true)
      expect(checkFromSandbox(text)).toEqual(JSON.parse(text))
    }),
    { numRuns: propertyRuns(2000), seed: SEED },
  )
})

// --- hostile changes -----------------------------------------------------------------------------------------------------

/** JSON texts of unexpected values. `change` replaces values in a message with them. */
const HOSTILE = [
  ...[
    'null',
    'true',
    'false',
    '0',
    '1',
    '-1',
    '1.5',
    '-0.5',
    '1e9',
    '1000000001',
    '9007199254740992',
    '1e300',
    '-1e300',
  ],
  ...['1e999', '-1e999', '-0', '""', '"0"', '"1"', '"true"', '"ready"', '"ended"', '"script_error"', '"toString"'],
  ...['"constructor"', '"__proto__"', '"hasOwnProperty"', '[]', '[null]', '[[]]', '{}', '{"length":0}', '{"0":"a"}'],
  ...['{"ok":true}', '{"__proto__":{"ok":true}}', '{"toString":1}', '["ready"]', '"\\ud800"', '"\\u0000"'],
  JSON.stringify('x'.repeat(101)),
  JSON.stringify('x'.repeat(301)),
  JSON.stringify('x'.repeat(10_001)),
  JSON.stringify(Array(101).fill(0)),
  JSON.stringify(Array(11).fill('a')),
  JSON.stringify(Array(10_001).fill(null)),
]
const KEYS = [
  ...['kind', 'id', 'ok', 'x', '', '0', 'length', 'toString', 'constructor', 'prototype', 'then', 'toJSON', 'line'],
  ...['column', 'odd', 'position', 'limit', 'used', 'result', 'commands', 'faults', 'Kind', 'kind ', 'args', 'code'],
]

type Change = { readonly how: 'replace' | 'remove' | 'add' | 'double'; readonly where: number; readonly what: number }
const Change = fc.record<Change>({
  how: fc.constantFrom('replace', 'replace', 'remove', 'add', 'add', 'double'),
  where: fc.nat(),
  what: fc.nat(),
})

/** Lists the message itself, and every object and array in it. */
function containers(value: unknown): (Record<string, unknown> | unknown[])[] {
  if (typeof value !== 'object' || value === null) return []
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(containers)]
}

/** Makes one change in the message. `raw` inserts JSON that JSON.stringify can't produce, such as 1e999. */
function change(message: unknown, { how, where, what }: Change, raw: (text: string) => string): void {
  const places = containers(message)
  const place = places[where % places.length] as Record<string, unknown>
  const keys = Object.keys(place)
  const key = keys[what % Math.max(1, keys.length)]
  const hostile = raw(HOSTILE[(where + what) % HOSTILE.length] as string)
  if (how === 'add' && Array.isArray(place)) place.push(hostile)
  else if (how === 'add') place[KEYS[what % KEYS.length] as string] = hostile
  else if (key === undefined) return
  else if (how === 'replace') place[key] = hostile
  else if (how === 'double') place[key] = [place[key], place[key]]
  else if (Array.isArray(place)) place.splice(Number(key), 1)
  else delete place[key]
}

/**
 * Makes these changes in a copy of the message.
 * @returns the copy as JSON text
 */
function changedText(message: unknown, changes: readonly Change[]): string {
  const copy = JSON.parse(JSON.stringify({ message })) as { message: unknown }
  const raws: string[] = []
  const raw = (text: string) => `raw text ${raws.push(text) - 1};`
  for (const one of changes) change(copy.message, one, raw)
  return JSON.stringify(copy.message).replace(/"raw text (\d+);"/g, (_, index) => raws[Number(index)] as string)
}

test('protocol: regardless of how a message is changed, it is rejected or still a valid message', () => {
  const counts = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(Valid, fc.array(Change, { minLength: 1, maxLength: 3 }), (message, changes) => {
      const text = changedText(message, changes)
      const value = JSON.parse(text) as unknown
      const isAccepted = isMessage(value)
      counts[isAccepted ? 'accepted' : 'refused']++
      expect([text.slice(0, 500), checkFromSandbox(text)]).toEqual([text.slice(0, 500), isAccepted ? value : null])
    }),
    { numRuns: propertyRuns(12_000), seed: SEED },
  )
  expect(counts.accepted).toBeGreaterThan(propertyRuns(500))
  expect(counts.refused).toBeGreaterThan(propertyRuns(5000))
})

test('protocol: texts that are almost JSON never cause an exception', () => {
  const Edit = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), text: fc.string({ maxLength: 3 }) })
  fc.assert(
    fc.property(Valid, fc.array(Edit, { minLength: 1, maxLength: 3 }), fc.nat(3), (message, edits, removed) => {
      let text = JSON.stringify(message)
      for (const { at, text: added } of edits) {
        const place = Math.floor(at * text.length)
        text = text.slice(0, place) + added + text.slice(place + removed)
      }
      const got = checkFromSandbox(text)
      if (got !== null) expect(isMessage(got)).toBe(true)
    }),
    { numRuns: propertyRuns(4000), seed: SEED },
  )
})

test('protocol: any text or JSON that is not a message is read as null', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), (text) => {
      expect(checkFromSandbox(text)).toBeNull()
    }),
    { numRuns: propertyRuns(2000), seed: SEED },
  )
})

// --- individual differences -------------------------------------------------------------------------------------------

const FAULT = { file: 'a.js', line: 1, column: 2, code: 'script_load', message: 'm' }
const RETURNED = { ok: true, result: null, commands: [{ plugin: 'p', method: 'm', args: [1] }], milliseconds: 0.5 }
const FAILED = {
  ok: false,
  code: 'script_error',
  message: 'm',
  position: { file: 'a.js', line: 0, column: 0 },
  limit: { name: 'CALL_TIME', allowed: 1, used: 2 },
  milliseconds: 1,
}
const CHECKED = {
  faults: [FAULT],
  warnings: [{ ...FAULT, code: 'file_unused' }],
  scripts: ['a'],
  scopes: [{ name: 'a', names: ['f'], shared: ['g'], isOwn: true }],
  realmNames: [{ globals: ['f'], lexicals: ['g'] }],
  formScripts: ['b'],
  formFunctions: [{ names: ['f'], bound: ['f'] }],
  forms: [null],
  i18n: [{ a: 'A' }],
  template: null,
}
const SAMPLES: readonly Record<string, unknown>[] = [
  { kind: 'ready' },
  { kind: 'ready', snapshot: 'c25hcA==' },
  { kind: 'clientSnapshot' },
  { kind: 'clientSnapshot', snapshot: 'c25hcA==' },
  { kind: 'pong' },
  { kind: 'unready', message: 'm' },
  { kind: 'loaded', faults: [FAULT] },
  { kind: 'started', id: 1 },
  { kind: 'ended', id: 1, outcome: RETURNED },
  { kind: 'ended', id: 1, outcome: FAILED },
  { kind: 'probed', id: 1, faults: [FAULT], found: ['onSolutionOpen'] },
  { kind: 'log', id: 1, level: 'info', message: 'm', position: { file: 'a.js', line: 1, column: 1 } },
  { kind: 'request', id: 1, request: 2, plugin: 'p', method: 'm', args: [null] },
  { kind: 'checked', checked: CHECKED },
]

/** Lists the paths of the value and of everything in it. */
function paths(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, one]) => paths(one, [...path, key]))]
}

function withAt(value: unknown, path: readonly string[], edit: (place: never, key: string) => void): string {
  const copy = JSON.parse(JSON.stringify(value))
  const place = path.slice(0, -1).reduce((one, key) => one[key], copy)
  edit(place as never, path.at(-1) as string)
  return JSON.stringify(copy)
}

/** Whether the path is inside a key that allows any value. */
const isFree = (path: readonly string[]) => path.some((key) => ['args', 'template', 'i18n', 'forms'].includes(key))

test.each(SAMPLES)('protocol: $kind is accepted, and rejected with an extra key in any of its objects', (sample) => {
  expect(checkFromSandbox(JSON.stringify(sample))).toEqual(sample)
  for (const path of paths(sample).filter((one) => !isFree(one))) {
    const object = path.reduce<unknown>((one, key) => (one as Record<string, unknown>)[key], sample)
    if (!isObject(object)) continue
    for (const key of ['x', 'toString', 'constructor', '__proto__', 'Kind', '']) {
      const text = JSON.stringify(sample)
      const whole = JSON.stringify(object)
      const longer = `{${JSON.stringify(key)}:1${whole === '{}' ? '}' : `,${whole.slice(1)}`}`
      expect([path, key, checkFromSandbox(text.replace(whole, longer))]).toEqual([path, key, null])
    }
  }
})

test.each(SAMPLES)('protocol: $kind without a required key, or with a key of the wrong type, is rejected', (sample) => {
  const optional = new Set(['position', 'limit', 'used', 'odd', 'line', 'column', 'realmNames', 'snapshot'])
  for (const path of paths(sample).filter((one) => one.length > 0 && !isFree(one.slice(0, -1)))) {
    const key = path.at(-1) as string
    const isItem = /^\d+$/.test(key)
    const isInPosition = path.at(-2) === 'position'
    if (!isItem && (!optional.has(key) || isInPosition)) {
      const text = withAt(sample, path, (place: Record<string, unknown>, name) => void delete place[name])
      expect([path, checkFromSandbox(text)]).toEqual([path, null])
    }
    if (key === 'template') continue
    const value = path.reduce<unknown>((one, name) => (one as Record<string, unknown>)[name], sample)
    const others: unknown[] = [null, true, 7, 'seven', [], {}].filter((other) => kindOf(other) !== kindOf(value))
    for (const other of others) {
      if (key === 'result' && (other === null || typeof other === 'string')) continue
      const text = withAt(sample, path, (place: Record<string, unknown>, name) => {
        place[name] = other
      })
      expect([path, other, checkFromSandbox(text)]).toEqual([path, other, null])
    }
  }
})

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value
}

const ended = (outcome: object) => JSON.stringify({ kind: 'ended', id: 1, outcome })
const log = (extra: object) => JSON.stringify({ kind: 'log', id: 1, level: 'info', message: 'm', ...extra })
const ask = (extra: object) =>
  JSON.stringify({ kind: 'request', id: 1, request: 1, plugin: 'p', method: 'm', args: [], ...extra })

test.each<[string, string, string]>([
  ['a name of 100 characters', ask({ plugin: 'x'.repeat(100) }), ask({ plugin: 'x'.repeat(101) })],
  ['a method of 100 characters', ask({ method: 'x'.repeat(100) }), ask({ method: 'x'.repeat(101) })],
  ['100 arguments', ask({ args: Array(100).fill(0) }), ask({ args: Array(101).fill(0) })],
  ['a message of 10,000 characters', log({ message: 'x'.repeat(10_000) }), log({ message: 'x'.repeat(10_001) })],
  [
    'a file of 300 characters',
    log({ position: { file: 'x'.repeat(300), line: 1, column: 1 } }),
    log({ position: { file: 'x'.repeat(301), line: 1, column: 1 } }),
  ],
  [
    'line 1,000,000,000',
    log({ position: { file: 'x', line: 1e9, column: 1 } }),
    log({ position: { file: 'x', line: 1e9 + 1, column: 1 } }),
  ],
  [
    'column 0',
    log({ position: { file: 'x', line: 1, column: 0 } }),
    log({ position: { file: 'x', line: 1, column: -1 } }),
  ],
  ['the largest safe id', ask({ id: Number.MAX_SAFE_INTEGER }), ask({ id: Number.MAX_SAFE_INTEGER + 1 })],
  ['the id 0', ask({ id: 0 }), ask({ id: -1 })],
  ['a whole id', ask({ id: 5 }), ask({ id: 5.5 })],
  ['a whole request id', ask({ request: 5 }), ask({ request: 0.1 })],
  ['a numeric id', log({ id: 7 }), log({ id: '7' })],
  ['no milliseconds', ended({ ...RETURNED, milliseconds: 0 }), ended({ ...RETURNED, milliseconds: -0.001 })],
  [
    'finite milliseconds',
    ended({ ...RETURNED, milliseconds: 1e300 }),
    ended({ ...RETURNED, milliseconds: 'x' }).replace('"x"', '1e999'),
  ],
  [
    'a finite limit',
    ended({ ...FAILED, limit: { name: 'n', allowed: -1.5 } }),
    ended({ ...FAILED, limit: { name: 'n', allowed: 'x' } }).replace('"x"', '-1e999'),
  ],
  [
    'an unusual result of 100 characters',
    ended({ ...RETURNED, odd: 'x'.repeat(100) }),
    ended({ ...RETURNED, odd: 'x'.repeat(101) }),
  ],
  [
    '10,000 commands',
    ended({ ...RETURNED, commands: Array(10_000).fill(RETURNED.commands[0]) }),
    ended({ ...RETURNED, commands: Array(10_001).fill(RETURNED.commands[0]) }),
  ],
  ['a known level', log({ level: 'debug' }), log({ level: 'trace' })],
  ['a known failure', ended({ ...FAILED, code: 'script_quota' }), ended({ ...FAILED, code: 'toString' })],
  ['a boolean ok', ended(RETURNED), ended({ ...RETURNED, ok: 1 })],
  ['a matching outcome', ended(FAILED), ended({ ...FAILED, ok: true })],
  ['300 functions, as many as there are endpoints and jobs', probed(300), probed(301)],
  ['a single message', '{"kind":"ready"}', '[{"kind":"ready"}]'],
  ['a kind that exists', '{"kind":"pong"}', '{"kind":"toString"}'],
  ['a kind as an own property', '{"kind":"pong"}', '{"__proto__":{"kind":"pong"}}'],
  ['a text without a byte order mark', '{"kind":"pong"}', '\ufeff{"kind":"pong"}'],
])('protocol: %s is accepted, and the nearest invalid value is rejected', (_what, accepted, refused) => {
  expect(checkFromSandbox(accepted)).toEqual(JSON.parse(accepted))
  expect(checkFromSandbox(refused)).toBeNull()
})

function probed(count: number): string {
  return JSON.stringify({ kind: 'probed', id: 1, faults: [], found: Array(count).fill('onSolutionOpen') })
}

test('protocol: deep and wide data never cause an exception or pollute a prototype', () => {
  for (const depth of [10, 1000, 100_000]) {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
      ['{"__proto__":', '}'],
    ] as const) {
      const deep = `${open.repeat(depth)}1${close.repeat(depth)}`
      checkFromSandbox(ask({ args: ['x'] }).replace('"x"', deep))
      checkFromSandbox(JSON.stringify({ kind: 'checked', checked: { ...CHECKED, template: 'x' } }).replace('"x"', deep))
      checkFromSandbox(deep)
    }
  }
  const polluting = '{"__proto__":{"polluted":"x"},"constructor":{"prototype":{"polluted":"x"}}}'
  const got = checkFromSandbox(ask({ args: ['x'] }).replace('"x"', polluting))
  expect('polluted' in {}).toBe(false)
  if (got?.kind === 'request') expect([Object.prototype, null]).toContain(Object.getPrototypeOf(got.args[0]))
  const texts = JSON.stringify({ kind: 'checked', checked: { ...CHECKED, i18n: ['x'] } })
  const table = checkFromSandbox(texts.replace('"x"', '{"__proto__":"x","toString":"y"}'))
  if (table?.kind === 'checked') {
    expect(Object.values(table.checked.i18n[0] ?? {}).every((text) => typeof text === 'string')).toBe(true)
    expect(table.checked.i18n[0]?.toString).toBe('y')
  }
  expect(checkFromSandbox(texts.replace('"x"', '{"__proto__":{"a":"x"}}'))).toBeNull()
})
