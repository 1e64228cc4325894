import { afterAll, expect, test } from 'vitest'
import { createScriptLab } from '../../support/solutions.ts'

const lab = createScriptLab({ limits: { CALL_TIME: 20_000, RESULT_SIZE: 2048 } })
/** A lab with a short time limit, for scripts that run until they time out. */
const hasty = createScriptLab({ limits: { CALL_TIME: 700 } })
afterAll(() => {
  lab.stop()
  hasty.stop()
})

const configure = (body: string, before = '', on = lab) =>
  on.run({
    // `evaluated` is faster, but skips loading the script. Code in `before` must run while the script is loaded.
    evaluated: before === '',
    script: `${before}\nfunction getOAuthConfig(queryParams) { ${body} }`,
    entry: 'getOAuthConfig',
    queryParams: { tenant: 'north' },
  })
const warnings = (end: { log: readonly { level: string; message: string }[] }) =>
  end.log.filter(({ level }) => level === 'warn').map(({ message }) => message)

test('getOAuthConfig: the result can be an object, a promise for one, or JSON', async () => {
  const object = "{ api: 'Google', clientId: queryParams.tenant, nested: [1, { a: null }], left: undefined }"
  const values = { api: 'Google', clientId: 'north', nested: [1, { a: null }] }
  for (const body of [
    `return ${object}`,
    `return Promise.resolve(${object})`,
    `return JSON.stringify(${object})`,
    `return Object.assign(Object.create(null), ${object})`,
    `return new (class Configuration { constructor() { Object.assign(this, ${object}) } })()`,
  ]) {
    const end = await configure(body)
    expect(end).toMatchObject({ failure: null, values, hasValues: true, log: [] })
    expect(Object.getPrototypeOf(end.values)).toBeNull()
  }
})

test('getOAuthConfig: it can be an async function', async () => {
  const script = "async function getOAuthConfig() { await null; return { api: 'GitHub' } }"
  expect(await lab.run({ script, entry: 'getOAuthConfig' })).toMatchObject({
    values: { api: 'GitHub' },
    hasValues: true,
  })
})

test('getOAuthConfig: an empty object counts as a configuration; undefined and null do not', async () => {
  expect(await configure('return {}')).toMatchObject({ failure: null, values: {}, hasValues: true })
  for (const body of ['return null', 'return undefined', '', 'return Promise.resolve()']) {
    expect(await configure(body)).toMatchObject({ failure: null, values: {}, hasValues: false, log: [] })
  }
})

test.each([
  ['[1]', 'an array'],
  ['5', 'a number'],
  ['true', 'a boolean'],
  ["Symbol('s')", 'a symbol'],
  ['function () {}', 'a function'],
  ["'Google'", 'something that is not a plain object'],
  ["'[]'", 'something that is not a plain object'],
  ['{ toJSON: () => 5 }', 'something that is not a plain object'],
  ['{ toJSON: () => undefined }', 'an object'],
  ['new Date(NaN)', 'something that is not a plain object'],
  ['JSON.parse(\'{"__proto__":{"api":"Google"}}\')', 'something that is not a plain object'],
  ['((a) => { for (let n = 0; n < 40; n++) a = { a }; return a })({})', 'something that is not a plain object'],
  ["{ constructor: 'Google' }", 'something that is not a plain object'],
])('getOAuthConfig: %s counts as null, with a log line', async (value, what) => {
  const end = await configure(`return (${value})`)
  expect(end).toMatchObject({ failure: null, values: {}, hasValues: false })
  expect(warnings(end)).toEqual([
    `getOAuthConfig returned ${what}; it is treated as null, because getOAuthConfig must return an object`,
  ])
})

test('getOAuthConfig: symbol keys and non-enumerable keys are ignored', async () => {
  const body = "return Object.defineProperty({ api: 'Google', [Symbol('s')]: 1 }, 'hidden', { value: 'x' })"
  expect((await configure(body)).values).toEqual({ api: 'Google' })
})

test('getOAuthConfig: a Proxy is read like an object, and an error that it throws is reported as the script’s', async () => {
  expect((await configure("return new Proxy({ api: 'Google' }, {})")).values).toEqual({ api: 'Google' })
  const end = await configure("return new Proxy({}, { ownKeys() { throw new TypeError('no keys') } })")
  expect(end.failure).toMatchObject({ code: 'script_error', message: 'TypeError: no keys' })
})

test.each([
  ['a getter that throws', "return { get api() { throw new Error('from a getter') } }", 'Error: from a getter'],
  ['a toJSON that throws', "return { toJSON() { throw new Error('from toJSON') } }", 'Error: from toJSON'],
  ['a cycle', 'const a = {}; a.a = a; return a', /circular/],
  ['a BigInt', 'return { n: 1n }', /BigInt/],
])('getOAuthConfig: %s is reported as script_error', async (_what, body, message) => {
  for (const each of [body, `return Promise.resolve().then(() => { ${body} })`]) {
    const { failure } = await configure(each)
    expect(failure?.code).toBe('script_error')
    expect(failure?.message).toMatch(message)
  }
})

test('getOAuthConfig: an endless getter is stopped after CALL_TIME, and the next call works', async () => {
  for (const body of ['return { get api() { for (;;); } }', 'return { get then() { for (;;); } }']) {
    const { failure } = await configure(body, '', hasty)
    expect(failure).toMatchObject({ code: 'script_timeout', limit: { name: 'CALL_TIME', allowed: 700 } })
    expect((await configure('return { api: 1 }', '', hasty)).values).toEqual({ api: 1 })
  }
})

test('getOAuthConfig: RESULT_SIZE limits the size of the object as JSON', async () => {
  for (const body of [
    "return { a: 'x'.repeat(4000) }",
    'let a = {}; for (let n = 0; n < 1e5; n++) a = { a }; return a',
    'return Object.fromEntries(Array.from({ length: 10000 }, (_, n) => [n, n]))',
  ]) {
    expect((await configure(body)).failure).toMatchObject({ code: 'script_quota', limit: { name: 'RESULT_SIZE' } })
  }
  const most = 2048 - '{"a":""}'.length
  expect((await configure(`return { a: 'x'.repeat(${most}) }`)).failure).toBeNull()
})

test('getOAuthConfig: a script’s changes to JSON, Object and their prototypes have no effect', async () => {
  const before = `
    JSON.stringify = () => '{"forged":1}'
    Object.keys = () => ['forged']
    Reflect.apply = () => 'forged'
    Array.isArray = () => true
    Promise.prototype.then = function (then) { then({ forged: 1 }) }
  `
  expect((await configure("return { api: 'Google' }", before)).values).toEqual({ api: 'Google' })
})

test('getOAuthConfig: its commands have no effect, and the log lists them', async () => {
  const end = await configure(`
    security.logout(); i18n.setLocale('nl'); i18n.setI18NMessage('a', 'b'); application.showURL('https://evil.example/')
    application.showURL('/'); security.setTenantValue(1); const loggedIn = security.login('a', 'b', ['c'])
    return { api: String(loggedIn) }
  `)
  expect(end.effects).toEqual({
    login: null,
    tenant: null,
    locale: null,
    showUrl: null,
    form: null,
    logout: null,
    messages: new Map(),
  })
  expect(end.values).toEqual({ api: 'false' })
  expect(warnings(end)).toEqual([
    'security.login returned false: this function can be called only in an authenticator or on the login form',
    'these calls in getOAuthConfig have no effect: security.logout, i18n.setLocale, i18n.setMessage, application.showURL, security.setTenantValue',
  ])
})

test('getOAuthConfig: its result is not logged', async () => {
  for (const body of [
    "return { api: 'x', apiSecret: 'hunter2' }",
    "return [{ apiSecret: 'hunter2' }]",
    "return 'hunter2'",
    "return { apiSecret: 'hunter2', get clientId() { return {}.a.b } }",
    "return { apiSecret: 'hunter2'.repeat(1000) }",
    'security.logout(); return \'{"apiSecret":"hunter2"\'',
  ]) {
    expect(JSON.stringify((await configure(body)).log)).not.toContain('hunter2')
  }
})

test('getOAuthConfig: a thrown error contains the line in the script', async () => {
  const script = "\nfunction getOAuthConfig() { throw new Error('no tenant') }"
  const end = await lab.run({ script, entry: 'getOAuthConfig' })
  expect(end).toMatchObject({ hasValues: false, failure: { message: 'Error: no tenant', position: { line: 2 } } })
  expect(end.log).toEqual([
    expect.objectContaining({ level: 'error', code: 'script_error', message: 'Error: no tenant' }),
  ])
})

test('onSolutionOpen: an object still counts as null, with a log line', async () => {
  const end = await lab.run({ script: 'function onSolutionOpen() { return { a: 1 } }' })
  expect(end).toMatchObject({ values: {}, hasValues: false })
  expect(warnings(end)).toEqual([
    'onSolutionOpen returned an object; it is treated as null, because onSolutionOpen must return a JSON string that contains an object',
  ])
})
