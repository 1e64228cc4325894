import type { Layer } from '@koa/router'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminApiParts, adminApi } from '../../host/api.ts'
import { createLimits } from '../../runtime/limits.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type Answer, ask } from '../support/http.ts'
import { bundleOf } from '../support/zip.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({ ADMIN_FAILURES: '100000', PLATFORM_TESTING_MODE: 'true' })
  await host.upload('crm', await bundleOf({ name: 'crm', authenticator: 'NONE' }))
})
afterAll(() => host.stop())

type Route = { readonly method: string; readonly path: string }

/** Values for path parameters. */
const VALUES: Readonly<Record<string, string>> = {
  name: 'crm',
  secret: 'A',
  sha256: '0'.repeat(64),
  id: 'none',
  job: 'none',
  uid: 'none',
  path: 'globals.js',
}

/** Every API route, as listed by the router. The routes are only registered, never called. */
const ROUTES = routesOf(
  adminApi({ requireAdmin: () => {}, version: 'test', limits: createLimits() } as unknown as AdminApiParts).stack,
)

function routesOf(layers: readonly Layer[]): readonly Route[] {
  const routes = layers.flatMap(({ path, methods }) => methods.map((method) => ({ path: String(path), method })))
  // Sorts deletions last, so that the other requests still find their objects.
  return routes
    .filter(({ method }) => method !== 'HEAD')
    .sort((one, other) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'))
}

const nameOf = ({ method, path }: Route) => `${method} ${path.slice('/admin/api'.length)}`

function send({ method, path }: Route, authorization?: string): Promise<Answer> {
  const url = host.url + path.replaceAll(/[:*](\w+)/g, (_, name: string) => VALUES[name] ?? `no value for ${name}`)
  return ask(url, { method, headers: authorization === undefined ? {} : { authorization } })
}

async function bearerWith(scopes: readonly string[]): Promise<string> {
  const made = await ask(`${host.url}/admin/api/tokens`, {
    method: 'POST',
    headers: { authorization: host.admin, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'walk', scopes }),
  })
  return `Bearer ${(made.json() as { token: string }).token}`
}

const SUBJECTS = ['solutions:crm', 'users', 'sessions', 'audit', 'maintenance']
const ALL_SCOPES = [
  'solutions:*:write',
  'solutions:other:write',
  ...SUBJECTS.flatMap((subject) => [`${subject}:read`, `${subject}:write`]),
  'health:read',
  'solutions:crm:call',
]

/** All scopes that grant the given scope. */
const including = (scope: string) => {
  const subjects = [scope.replace(/:\w+$/, ''), ...(scope.startsWith('solutions:') ? ['solutions:*'] : [])]
  const kinds = scope.endsWith(':read') ? ['read', 'write'] : ['write']
  return subjects.flatMap((subject) => kinds.map((kind) => `${subject}:${kind}`))
}

/** The scope that a route requires. `null` means only the admin account; `any` means any token. */
const NEEDED: Readonly<Record<string, string | null>> = {
  'GET /openapi.json': 'any',
  'GET /oauth-providers': 'any',
  'GET /solutions': 'solutions:*:read',
  'POST /solutions': 'solutions:*:write',
  'GET /solutions/:name': 'solutions:crm:read',
  'PUT /solutions/:name': 'solutions:crm:write',
  'DELETE /solutions/:name': 'solutions:crm:write',
  'POST /solutions/:name/activate': 'solutions:crm:write',
  'GET /solutions/:name/log': 'solutions:crm:read',
  'GET /solutions/:name/diff': 'solutions:crm:read',
  'GET /solutions/:name/versions/:sha256/bundle': 'solutions:crm:read',
  'DELETE /solutions/:name/versions/:sha256': 'solutions:crm:write',
  'GET /solutions/:name/drafts': 'solutions:crm:write',
  'POST /solutions/:name/drafts': 'solutions:crm:write',
  'GET /solutions/:name/drafts/:id': 'solutions:crm:write',
  'DELETE /solutions/:name/drafts/:id': 'solutions:crm:write',
  'GET /solutions/:name/drafts/:id/files/*path': 'solutions:crm:write',
  'PUT /solutions/:name/drafts/:id/files/*path': 'solutions:crm:write',
  'DELETE /solutions/:name/drafts/:id/files/*path': 'solutions:crm:write',
  'POST /solutions/:name/drafts/:id/rename': 'solutions:crm:write',
  'POST /solutions/:name/drafts/:id/revert': 'solutions:crm:write',
  'POST /solutions/:name/drafts/:id/check': 'solutions:crm:write',
  'GET /solutions/:name/drafts/:id/diff': 'solutions:crm:write',
  'GET /solutions/:name/drafts/:id/bundle': 'solutions:crm:write',
  'POST /solutions/:name/drafts/:id/try': 'solutions:crm:write',
  'POST /solutions/:name/drafts/:id/publish': 'solutions:crm:write',
  'POST /solutions/:name/drafts/:id/rebase': 'solutions:crm:write',
  'GET /solutions/:name/versions/:sha256/files': 'solutions:crm:read',
  'GET /solutions/:name/versions/:sha256/files/*path': 'solutions:crm:read',
  'GET /solutions/:name/endpoints': 'solutions:crm:read',
  'GET /solutions/:name/endpoints/openapi.json': 'solutions:crm:read',
  'GET /solutions/:name/jobs': 'solutions:crm:read',
  'PUT /solutions/:name/jobs': 'solutions:crm:write',
  'POST /solutions/:name/jobs/:job/run': 'solutions:crm:write',
  'GET /solutions/:name/runs': 'solutions:crm:read',
  'GET /solutions/:name/runs/:id': 'solutions:crm:read',
  'POST /solutions/:name/runs/:id/again': 'solutions:crm:write',
  'DELETE /solutions/:name/runs/:id': 'solutions:crm:write',
  'GET /solutions/:name/login-page': 'solutions:crm:read',
  'GET /solutions/:name/login-page/template': 'solutions:crm:read',
  'GET /solutions/:name/grants': 'solutions:crm:read',
  'PUT /solutions/:name/grants': null,
  'GET /solutions/:name/secrets': 'solutions:crm:read',
  'PUT /solutions/:name/secrets/:secret': 'solutions:crm:write',
  'DELETE /solutions/:name/secrets/:secret': 'solutions:crm:write',
  'GET /solutions/:name/oauth': 'solutions:crm:read',
  'PUT /solutions/:name/oauth': null,
  'DELETE /solutions/:name/oauth': null,
  'GET /solutions/:name/oauth/redirect-address': 'solutions:crm:read',
  'POST /solutions/:name/oauth/test': 'solutions:crm:write',
  'GET /solutions/:name/sign-in-policy': null,
  'PUT /solutions/:name/sign-in-policy': null,
  'DELETE /solutions/:name/sign-in-policy': null,
  'GET /solutions/:name/factors': null,
  'DELETE /solutions/:name/factors': null,
  'POST /solutions/:name/unlock-factors': null,
  'GET /directories': null,
  'GET /directories/:name': null,
  'PUT /directories/:name': null,
  'DELETE /directories/:name': null,
  'POST /directories/:name/test': null,
  'POST /solutions/:name/login-tokens': 'solutions:crm:write',
  'GET /users': 'users:read',
  'POST /users': 'users:write',
  'GET /users/:uid': 'users:read',
  'PATCH /users/:uid': 'users:write',
  'DELETE /users/:uid': 'users:write',
  'POST /users/:uid/erase': 'users:write',
  'POST /users/:uid/sign-out': 'users:write',
  'GET /users/:uid/factors': 'users:read',
  'DELETE /users/:uid/factors': 'users:write',
  'DELETE /users/:uid/factors/:id': 'users:write',
  'POST /users/:uid/unlock-factors': 'users:write',
  'POST /users/:uid/links': 'users:write',
  'GET /users.csv': 'users:read',
  'POST /users.csv': 'users:write',
  'GET /sessions': 'sessions:read',
  'DELETE /sessions/:id': 'sessions:write',
  'GET /tokens': null,
  'POST /tokens': null,
  'DELETE /tokens/:id': null,
  'GET /audit': 'audit:read',
  'GET /audit.csv': 'audit:read',
  'GET /maintenance': 'maintenance:read',
  'PUT /maintenance': 'maintenance:write',
  'GET /health': 'health:read',
  'GET /settings': null,
  'POST /testing': null,
}

test('scopes: the required scope of every route is listed', () => {
  expect(ROUTES.map(nameOf).sort()).toEqual(Object.keys(NEEDED).sort())
})

const refused = (answer: Answer) => answer.status === 401 || answer.status === 403

test('scopes: every route rejects requests without credentials', async () => {
  for (const route of ROUTES) expect([nameOf(route), (await send(route)).status]).toEqual([nameOf(route), 401])
})

test('scopes: every route rejects an unknown token', async () => {
  const unknown = `Bearer sol_${'A'.repeat(43)}`
  for (const route of ROUTES) expect([nameOf(route), (await send(route, unknown)).status]).toEqual([nameOf(route), 401])
})

test('scopes: a token with all scopes except the required one is rejected', async () => {
  for (const route of ROUTES.filter((one) => isScope(NEEDED[nameOf(one)]) || NEEDED[nameOf(one)] === null)) {
    const needed = NEEDED[nameOf(route)] ?? null
    const others = needed === null ? ALL_SCOPES : ALL_SCOPES.filter((scope) => !including(needed).includes(scope))
    const answer = await send(route, await bearerWith(others))
    const { code } = answer.json() as { code: string }
    expect([nameOf(route), answer.status, code]).toEqual([nameOf(route), 403, 'ERR_FORBIDDEN'])
  }
})

test('scopes: a token with only the required scope is accepted', async () => {
  for (const route of ROUTES.filter((one) => isScope(NEEDED[nameOf(one)]))) {
    const answer = await send(route, await bearerWith([NEEDED[nameOf(route)] as string]))
    expect([nameOf(route), refused(answer)]).toEqual([nameOf(route), false])
  }
})

test('scopes: routes for any token accept the least privileged token', async () => {
  const bearer = await bearerWith(['solutions:other:read'])
  for (const route of ROUTES.filter((one) => NEEDED[nameOf(one)] === 'any')) {
    expect([nameOf(route), (await send(route, bearer)).status]).toEqual([nameOf(route), 200])
  }
})

function isScope(needed: string | null | undefined): boolean {
  return needed !== null && needed !== undefined && /:(read|write)$/.test(needed)
}
