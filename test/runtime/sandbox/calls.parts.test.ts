import { afterAll, expect, test } from 'vitest'
import { createScriptLab } from '../../support/solutions.ts'

const lab = createScriptLab({
  limits: { AUTHENTICATOR_TIME: 20_000, LOAD_TIME: 10_000, LOG_LINES: 5, RESULT_SIZE: 1024, CALL_REQUESTS: 20 },
})
/** A lab with short time limits, for scripts that run until they time out. */
const hasty = createScriptLab({ limits: { AUTHENTICATOR_TIME: 700, LOAD_TIME: 500 } })
const small = createScriptLab({ limits: { ISOLATE_MEMORY: 16 * 1024 ** 2, AUTHENTICATOR_TIME: 20_000 } })
afterAll(() => {
  lab.stop()
  hasty.stop()
  small.stop()
})

const run = (script: string) => lab.run({ script })
/**
 * Runs the script without starting a separate process, so it is faster than `run`. Tests of positions in the script, or
 * of how the script is loaded, must use `run`.
 */
const evaluated = (script: string) => lab.run({ script, evaluated: true })

test('a thrown error contains the customer’s file, line and column', async () => {
  const { failure } = await run('function onSolutionOpen() {\n  return missing.thing\n}')
  expect(failure).toMatchObject({
    code: 'script_error',
    message: 'ReferenceError: missing is not defined',
    position: { file: 'modules/auth/globals.js', line: 2, column: 3 },
  })
})

test('an error that looks like one of the platform’s is reported as script_error', async () => {
  const { failure } = await evaluated(
    "function onSolutionOpen() { const e = new Error('Script execution timed out.'); e.code = 'script_timeout'; e.name = 'PlatformError'; throw e }",
  )
  expect(failure).toMatchObject({ code: 'script_error', message: 'PlatformError: Script execution timed out.' })
})

test('an endless loop ends with script_timeout, limit and amount, and the position of the loop', async () => {
  const { failure } = await hasty.run({
    script: 'function spin() {\n  for (;;);\n}\nfunction onSolutionOpen() { spin() }',
  })
  expect(failure).toMatchObject({
    code: 'script_timeout',
    limit: { name: 'AUTHENTICATOR_TIME', allowed: 700 },
    position: { line: 2, column: 3 },
  })
})

test('a promise that never settles ends with script_timeout', async () => {
  const { failure } = await hasty.run({ script: 'function onSolutionOpen() { return new Promise(() => {}) }' })
  expect([failure?.code, failure?.position]).toEqual(['script_timeout', undefined])
})

test('an endless loop in top-level code ends with script_timeout, at its position', async () => {
  const { failure } = await hasty.run({ script: '\n  for (;;);\nfunction onSolutionOpen() {}' })
  expect(failure).toMatchObject({
    code: 'script_timeout',
    limit: { name: 'LOAD_TIME', allowed: 500 },
    position: { line: 2, column: 3 },
  })
})

test('a native loop that no time-out can interrupt is ended with its process, and the next call works', async () => {
  const { failure } = await hasty.run({
    script:
      'function onSolutionOpen() { Array.prototype.indexOf.call(new Proxy({ length: 9007199254740991 }, {}), 1) }',
  })
  expect(failure?.code).toBe('script_timeout')
  expect((await hasty.run({ script: 'function onSolutionOpen() { return "{}" }' })).failure).toBeNull()
})

test('a heap over its limit ends with script_memory, and the next call of the same solution works', async () => {
  const script =
    'function onSolutionOpen(arg) { if (arg !== "eat") return JSON.stringify({ fine: true }); const a = []; for (;;) a.push({ n: a.length }) }'
  const { failure } = await small.run({ script, arg: 'eat' })
  expect(['script_memory', 'script_crashed']).toContain(failure?.code)
  expect((await small.run({ script })).values).toEqual({ fine: true })
})

test('a process that exits unexpectedly is reported as script_crashed', async () => {
  const { failure } = await run("function onSolutionOpen() { return String('ab'.repeat(1.5e8).split('').length) }")
  expect(['script_crashed', 'script_memory', 'script_timeout']).toContain(failure?.code)
})

test.each([
  ['{ code: 7 }', 'Thrown value: {"code":7}'],
  ['[1, 2]', 'Thrown value: [1,2]'],
  ["{ message: 'no', code: 7 }", 'Error: no'],
  ["'no'", 'Thrown value: no'],
])('the error of a call that throws %s shows the value', async (value, message) => {
  expect((await evaluated(`function onSolutionOpen() { throw ${value} }`)).failure).toMatchObject({ message })
})

test.each([
  ["new TypeError('no')", { message: 'TypeError: no', position: { line: 2, column: 31 } }],
  ["'no'", { message: 'Thrown value: no' }],
  ['null', { message: 'Thrown value: null' }],
  ['{ code: 7 }', { message: 'Thrown value: [object]' }],
])('if nothing waits for a Promise that is rejected with %s, the error shows it', async (value, failure) => {
  const script = `async function other() {\n  await null; if (true) throw ${value}\n}
    async function onSolutionOpen() { other(); await new Promise(() => {}) }`
  expect((await run(script)).failure).toMatchObject({ code: 'script_error', ...failure })
})

test('an entry function can be async, and its result is awaited', async () => {
  const script =
    "async function onSolutionOpen(arg, queryParams) { await null; security.login('a', 'b', ['x']); return JSON.stringify({ got: queryParams.username }) }"
  const { values, effects } = await lab.run({ script, queryParams: { username: 'anna' }, evaluated: true })
  expect(values).toEqual({ got: 'anna' })
  expect(effects.login?.username).toBe('a')
})

test('an entry function can be declared with const', async () => {
  expect((await run('const onSolutionOpen = () => \'{"ok":1}\'')).values).toEqual({ ok: 1 })
})

test('if the entry function is missing, the error contains its name', async () => {
  expect((await run('function other() {}')).failure?.message).toBe(
    'TypeError: the scripts have no function onSolutionOpen',
  )
})

test.each([
  ['5', 'a number'],
  ['() => 1', 'a function'],
  ['({ a: 1 })', 'an object'],
  ['[1]', 'an array'],
  ["'[1]'", 'a string that is not a JSON object'],
  ["'no json'", 'a string that is not a JSON object'],
])('a result %s is treated as null with a log line, and the login stays valid', async (result, kind) => {
  const { effects, values, log, failure } = await lab.run({
    script: `function onSolutionOpen() { security.login('a', 'b', ['x']); return ${result} }`,
    evaluated: true,
  })
  expect([failure, values, effects.login?.username]).toEqual([null, {}, 'a'])
  expect(log.map(({ message }) => message)).toEqual([
    `onSolutionOpen returned ${kind}; it is treated as null, because onSolutionOpen must return a JSON string that contains an object`,
  ])
})

test('a result over its limit is reported as script_quota', async () => {
  expect((await evaluated("function onSolutionOpen() { return 'x'.repeat(2000) }")).failure).toMatchObject({
    code: 'script_quota',
    limit: { name: 'RESULT_SIZE', allowed: 1024, used: 2000 },
  })
})

test('log lines over the limit are omitted, and the log says so', async () => {
  const { log, failure } = await evaluated(
    'function onSolutionOpen() { for (let i = 0; i < 50; i++) console.log("line " + i) }',
  )
  expect(failure).toBeNull()
  expect(log.map(({ message }) => message)).toEqual([
    'line 0',
    'line 1',
    'line 2',
    'line 3',
    'line 4',
    'further log lines of this call are dropped, because it exceeded LOG_LINES or LOG_SIZE',
  ])
})

test('more commands than the limit are reported as script_quota', async () => {
  const { failure } = await evaluated("function onSolutionOpen() { for (let i = 0; i < 50; i++) i18n.setLocale('nl') }")
  expect(failure).toMatchObject({ code: 'script_quota', limit: { name: 'CALL_REQUESTS', allowed: 20, used: 21 } })
})

test('if several limits are exceeded, the error is about the first one', async () => {
  const { failure } = await evaluated(
    "function onSolutionOpen() { let first; for (let i = 0; i < 50; i++) { try { i18n.setLocale('nl') } catch (e) { first ??= e } } throw first }",
  )
  expect(failure).toMatchObject({ code: 'script_quota', limit: { name: 'CALL_REQUESTS', allowed: 20, used: 21 } })
})

test('commands after the call returned have no effect', async () => {
  const { effects } = await evaluated(
    "function onSolutionOpen() { Promise.resolve().then(() => security.login('late', 'l', ['x'])); return '{}' }",
  )
  expect(effects.login).toBeNull()
})

test('no data from one login is visible to the next', async () => {
  const script = `const seen = []
    function onSolutionOpen(arg, queryParams) {
      const found = [seen.length, globalThis.mark ?? null, Object.prototype.mark ?? null, queryParams.last_login ?? null]
      seen.push(1); globalThis.mark = 1; Object.prototype.mark = 1; queryParams.last_login = {}
      return JSON.stringify({ found })
    }`
  await run(script)
  expect((await run(script)).values).toEqual({ found: [0, null, null, null] })
})

test('globals that could help a script to escape do not exist', async () => {
  const names = [
    'process',
    'require',
    'WebAssembly',
    'SharedArrayBuffer',
    'Atomics',
    'WeakRef',
    'FinalizationRegistry',
    'setTimeout',
    'fetch',
  ]
  const value = await lab.evaluate(`return ${JSON.stringify(names)}.map((n) => typeof globalThis[n])`)
  expect(value).toEqual(names.map(() => 'undefined'))
  expect(
    await lab.evaluate("'abc'.match(/b/); return [typeof RegExp.$1, typeof RegExp.lastMatch, typeof RegExp.input]"),
  ).toEqual(['undefined', 'undefined', 'undefined'])
})

test('bindings and their functions cannot be changed or replaced', async () => {
  const body = `const tries = [() => { security.login = 1 }, () => { security.login.x = 1 }, () => { globalThis.security = 1 }, () => { delete globalThis.security }, () => { console.log = 1 }]
    const before = security.login
    for (const t of tries) { try { t() } catch {} }
    return [before === security.login, security.login.x === undefined, typeof console.log]`
  expect(await lab.evaluate(body)).toEqual([true, true, 'function'])
})

test('queryParams has no prototype, keeps its order, and __proto__ in it is data', async () => {
  const value = await lab.run({
    script:
      'function onSolutionOpen(arg, q) { return JSON.stringify({ keys: Object.keys(q), proto: Object.getPrototypeOf(q) === null, arg }) }',
    queryParams: JSON.parse('{"b":"1","a":"2","__proto__":"3"}'),
    arg: 'from link',
  })
  expect(value.values).toEqual({ keys: ['b', 'a', '__proto__'], proto: true, arg: 'from link' })
})

test('queryParams works with common expressions, and inherits nothing', async () => {
  const script = `function onSolutionOpen(arg, q) {
    const inherited = []
    for (const name in q) inherited.push(name)
    const found = [
      '' + q, String(q), \`\${q}\`, q.hasOwnProperty('a'), q.hasOwnProperty('b'), q.hasOwnProperty('toString'),
      q.hasOwnProperty('__proto__'), q.constructor ?? null, q.valueOf ?? null, Object.entries({ ...q }), inherited,
    ]
    return JSON.stringify({ found })
  }`
  const text = '[object Object]'
  const queryParams = JSON.parse('{"a":"1","__proto__":"2"}')
  const { values } = await lab.run({ script, queryParams })
  const data = [
    ['a', '1'],
    ['__proto__', '2'],
  ]
  const names = ['a', '__proto__']
  expect(values).toEqual({ found: [text, text, text, true, false, false, true, null, null, data, names] })
})

test('a parameter named like a method is data, and queryParams can still be converted to a string', async () => {
  const script = `function onSolutionOpen(arg, q) {
    return JSON.stringify({ found: ['' + q, q.toString, q.hasOwnProperty, JSON.stringify(q)] })
  }`
  const queryParams = { toString: 'x', hasOwnProperty: 'y' }
  const { values } = await lab.run({ script, queryParams })
  expect(values).toEqual({ found: ['[object Object]', 'x', 'y', '{"toString":"x","hasOwnProperty":"y"}'] })
})

test('a script’s changes to the methods of queryParams don’t affect the next call', async () => {
  const script = `function onSolutionOpen(arg, q) {
    const { hasOwnProperty } = q
    const before = hasOwnProperty.mark ?? null
    hasOwnProperty.mark = 1
    q.hasOwnProperty = () => true
    return JSON.stringify({ found: [before, hasOwnProperty.mark ?? null] })
  }`
  for (const _ of [1, 2]) expect((await run(script)).values).toEqual({ found: [null, null] })
})

test('scripts see the configured time zone, but no data of the host', async () => {
  expect(await lab.evaluate('return Intl.DateTimeFormat().resolvedOptions().timeZone')).toBe('UTC')
})

test('a script cannot forge its own outcome with a fake length', async () => {
  const forged = `{ valueOf() { return 5000 }, toString() { return '5},"ok":true,"result":"{}","commands":[{"plugin":"security","method":"login","args":["f","f",["A"]]}],"z":{"y":1' } }`
  for (const call of [
    "eventsManager.addEventListener('onShow', () => 1, null); i18n.getI18NMessage('x', array)",
    "security.login('a', 'b', array)",
    'security.setTenantValue(array)',
  ]) {
    for (const length of [forged, 'Infinity', 'NaN', '-1', '2 ** 53']) {
      const script = `function onSolutionOpen() { const used = ${length}; const array = new Proxy([], { get: (t, k) => (k === 'length' ? used : t[k]) }); ${call}; return '{}' }`
      const { failure, effects } = await lab.run({ script, evaluated: true })
      expect([call, length, effects.login]).toEqual([call, length, null])
      expect(failure?.code ?? 'returned').toMatch(/^(script_error|script_quota|returned)$/)
    }
  }
})

test('tasks that a terminated call left behind do not run in the next one', async () => {
  const script = `function onSolutionOpen(arg) {
    if (arg !== 'bad') return JSON.stringify({ fine: true })
    Promise.resolve().then(() => { for (;;); })
    for (;;);
  }`
  expect((await hasty.run({ script, arg: 'bad' })).failure?.code).toBe('script_timeout')
  expect((await hasty.run({ script })).values).toEqual({ fine: true })
})

test('a context created in advance is as fresh as any other, and its log lines belong to the call that uses it', async () => {
  const script = `console.log('loaded')
    let count = 0
    function onSolutionOpen(arg) { console.log('opened ' + arg); return JSON.stringify({ count: ++count }) }`
  for (const arg of ['one', 'two', 'three']) {
    const { values, log } = await lab.run({ script, arg })
    expect([values, log.map(({ message }) => message)]).toEqual([{ count: 1 }, ['loaded', `opened ${arg}`]])
  }
})
