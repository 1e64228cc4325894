import { expect, test } from 'vitest'
import { readBundle } from '../../../runtime/bundle/read-bundle.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { bundleOf, moduleFile } from '../../support/zip.ts'

const NONE = { function: 'run', authentication: 'none' }

async function faultsOf(endpoints: unknown, more: Record<string, unknown> = {}, files: Record<string, string> = {}) {
  const { faults } = await readBundle(await bundleOf({ endpoints, ...more }, files as never), createLimits())
  return faults.map(({ code, file, message }) => `${file} ${code} ${message}`)
}

const ofOne = (endpoint: unknown) => faultsOf({ 'POST /a': endpoint })

test('endpoints: addresses with each method and each kind of segment are accepted', async () => {
  const accepted = [
    'GET /a',
    'POST /orders/{id}/lines/{line}',
    'PUT /A.b_~-9',
    'PATCH /1/2/3/4/5/6/7/8',
    'DELETE /{id}',
  ]
  expect(await faultsOf(Object.fromEntries(accepted.map((address) => [address, NONE])))).toEqual([])
})

test('endpoints: invalid addresses are refused', async () => {
  const refused = [
    'get /a',
    'HEAD /a',
    'GET a',
    'GET /',
    'GET /a/',
    'GET /a//b',
    'GET /../a',
    'GET /a b',
    'GET /%20',
  ].concat([
    'GET /{a b}',
    'GET /{id}.csv',
    'GET /1/2/3/4/5/6/7/8/9',
    `GET /${'a'.repeat(65)}`,
    'GET /{toString}',
    'GET /{a}/{a}',
  ])
  for (const address of refused) {
    expect((await faultsOf({ [address]: NONE }))[0], address).toContain('manifest_invalid the name "endpoints.')
  }
})

test('endpoints: two addresses of the same shape are endpoint_twice; main overrides modules', async () => {
  const [fault, ...others] = await faultsOf({ 'GET /a/{id}': NONE, 'GET /a/{name}': NONE, 'GET /a/b': NONE })
  expect(fault).toBe(
    'solution.json endpoint_twice the endpoints "GET /a/{id}" and "GET /a/{name}" match the same requests',
  )
  expect(others).toEqual([])
  const module = moduleFile('sub', { endpoints: { 'GET /a/{name}': NONE } })
  expect(await faultsOf({ 'GET /a/{id}': NONE }, { modules: ['sub'] }, module as never)).toEqual([])
})

test('endpoints: authentication has no default, and "none" can’t be combined with other values', async () => {
  expect(await ofOne({ function: 'run' })).toHaveLength(1)
  for (const authentication of [['none', 'token'], [], ['session', 'session'], 'basic', null]) {
    const [fault] = await ofOne({ function: 'run', authentication })
    expect(fault).toContain('must be "session", "token", "signature" or "none"')
  }
})

test('endpoints: combinations of settings that have no effect together, and invalid values, are refused', async () => {
  const signature = { scheme: 'stripe', secret: 'HOOK' }
  const cases: [Record<string, unknown>, string][] = [
    [{ authentication: 'session', cors: '*' }, '.cors" must not be set if "authentication" contains "session"'],
    [{ authentication: 'signature' }, 'must be set if, and only if'],
    [{ authentication: 'token', signature }, 'must be set if, and only if'],
    [
      { authentication: 'none', permission: 'A' },
      '.permission" must not be set unless "authentication" contains "session" or "token"',
    ],
    [
      { authentication: ['signature'], signature, permission: 'A' },
      '.permission" must not be set unless "authentication" contains "session" or "token"',
    ],
    [{ authentication: 'none', cors: ['https://a.example/'] }, 'must be an origin such as https://shop.example.org'],
    [{ authentication: 'none', cors: [] }, 'must be "*" or a list of 1 to 100 origins'],
    [{ authentication: 'none', function: 'while' }, 'must not be a reserved word'],
    [{ authentication: 'none', function: 'a.b' }, '.function" must be a name'],
    [
      { authentication: 'signature', signature: { scheme: 'md5', secret: 'HOOK' } },
      'must be one of stripe, github, standard',
    ],
    [
      { authentication: 'signature', signature: { scheme: 'stripe', secret: '%%HOOK%%' } },
      'must be the name of a secret',
    ],
    [{ authentication: 'none', permision: 'A' }, 'has an unknown property "permision"; did you mean "permission"?'],
  ]
  for (const [endpoint, message] of cases) {
    expect((await ofOne({ function: 'run', ...endpoint })).join('\n'), JSON.stringify(endpoint)).toContain(message)
  }
  const both = { function: 'run', authentication: ['signature', 'token'], signature, permission: 'A', cors: '*' }
  expect(await ofOne(both)).toEqual([])
})

test('endpoints: sessions need an authenticator, in modules too', async () => {
  const session = { 'GET /a': { function: 'run', authentication: ['token', 'session'] } }
  const more = { authenticator: 'NONE', modules: ['sub'] }
  const faults = await faultsOf({}, more, moduleFile('sub', { endpoints: session }) as never)
  expect(faults).toEqual([
    expect.stringContaining('modules/sub/solution.json manifest_invalid "endpoints.GET /a" requires a session'),
  ])
})

test('endpoints: endpoints in an authenticator are an error, because they would have no effect', async () => {
  const auth = moduleFile('auth', { type: 'authenticator', endpoints: { 'GET /a': NONE } })
  const faults = await faultsOf({}, { authenticator: 'AUTHENTICATOR', modules: ['auth'] }, auth as never)
  expect(faults).toEqual([
    expect.stringContaining('modules/auth/solution.json module_invalid "endpoints" has no effect in the module "auth"'),
  ])
})

test('endpoints: a solution and its modules can have at most 200', async () => {
  const many = (count: number, prefix: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`GET /${prefix}${index}`, NONE]))
  expect(await faultsOf(many(200, 'a'))).toEqual([])
  expect(await faultsOf(many(201, 'a'))).toEqual([expect.stringContaining('must have at most 200 endpoints')])
  const module = moduleFile('sub', { endpoints: many(1, 'b') })
  expect(await faultsOf(many(200, 'a'), { modules: ['sub'] }, module as never)).toEqual([
    expect.stringContaining('have 201 endpoints; at most 200 are allowed'),
  ])
})

test('endpoints: schemas may use only the keys that are checked, up to 8 levels and 500 keys', async () => {
  const string = { type: 'string' }
  const nested = (levels: number): object => (levels === 1 ? string : { type: 'array', items: nested(levels - 1) })
  const wide = (count: number) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type: 'string' }])),
  })
  const body = (schema: unknown) => ofOne({ ...NONE, body: schema })
  expect(await body(nested(8))).toEqual([])
  expect(await body(wide(249))).toEqual([])
  const cases: [unknown, string][] = [
    [nested(9), 'must not be nested more than 8 levels deep'],
    [wide(250), 'must have at most 500 keys'],
    [{}, 'must have "type" or "enum"'],
    [{ type: 'array' }, 'must have "items"'],
    [{ type: 'object', required: ['a'] }, 'must list only names that are in "properties"; "a" is not'],
    [
      { type: 'string', pattern: '(a+)+$' },
      'has an unknown property "pattern"; the allowed properties are type, description, properties, required, items, enum, minimum, maximum, minLength, maxLength, minItems, maxItems',
    ],
    [{ $ref: 'https://example.org/schema' }, 'has an unknown property "$ref"'],
    [{ type: 'object', properties: { a: { type: 'string', format: 'email' } } }, 'has an unknown property "format"'],
    [{ type: ['string', 'null'] }, 'must be one of object'],
    [{ type: 'string', maxLength: -1 }, 'must be a whole number'],
  ]
  for (const [schema, message] of cases)
    expect((await body(schema)).join('\n'), JSON.stringify(schema)).toContain(message)
  for (const query of [string, { type: 'object', properties: { page: { type: 'integer' } } }]) {
    expect((await ofOne({ ...NONE, query })).join()).toContain(
      'must have "type": "object", and its properties must be strings',
    )
  }
})

test('endpoints: a permission that no manifest lists is a warning, if users call the endpoint', async () => {
  const endpoints = {
    'GET /a': { function: 'run', authentication: ['session', 'token'], permission: 'Edti' },
    'GET /b': { function: 'run', authentication: 'session', permission: 'Edit' },
    'GET /c': { function: 'run', authentication: 'token', permission: 'Machines' },
    'GET /d': { function: 'run', authentication: 'session' },
  }
  const warningsOf = async (more: Record<string, unknown>) => {
    const bundle = await bundleOf({ endpoints, authenticator: 'DEFAULT', ...more }, {} as never)
    const { warnings } = await readBundle(bundle, createLimits())
    return warnings.map(({ code, line, message }) => `${code} ${line} ${message}`)
  }
  expect(await warningsOf({ permissions: ['Edit'] })).toEqual([
    'endpoint_permission_unlisted 1 "endpoints.GET /a" requires the permission "Edti", which no manifest lists, so no user can have it; did you mean "Edit"?',
  ])
  expect(await warningsOf({})).toEqual([])
})
