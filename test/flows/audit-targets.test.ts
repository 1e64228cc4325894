import { beforeAll, expect, test } from 'vitest'
import { signInToAdmin } from '../support/admin.ts'
import { ask } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addDefaultSolution, addUser, askAdmin, visit } from '../support/users.ts'
import { bundleOf } from '../support/zip.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
let uid: string
beforeAll(async () => {
  host = await sharedHost()
  await addDefaultSolution(host, 'audited', { permissions: ['Users'], http: ['api.example.org', 'b.example.org'] })
  uid = await addUser(host, 'anna-audited', { permissions: ['Users'] })
})

type Entry = { readonly action: string; readonly target?: string; readonly solution?: string; readonly outcome: string }

/** The newest audit log entry for an action. */
async function entryOf(action: string): Promise<Entry | undefined> {
  const { items } = await askAdmin(host, 'GET', `audit?limit=1&action=${action}`)
  return (items as Entry[])[0]
}

/** Sends a request. @returns the outcome and target of the request's audit entry */
async function auditedBy(method: string, path: string, body: unknown, action: string) {
  const answer = await ask(`${host.url}/admin/api/${path}`, {
    method,
    headers: { authorization: host.admin, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { outcome, target } = (await entryOf(action)) ?? {}
  return { status: answer.status, json: answer.text === '' ? {} : answer.json(), entry: [outcome, target] }
}

test('audit log: an entry about a user contains the username, whether the change succeeds or is rejected', async () => {
  const created = await auditedBy('POST', 'users', { username: 'ben' }, 'user-create')
  expect(created.entry).toEqual(['ok', 'user:ben'])
  const ben = (created.json as { uid: string }).uid
  expect((await auditedBy('POST', 'users', { username: 'BEN' }, 'user-create')).entry).toEqual([
    'ERR_NAME_EXISTS',
    'user:BEN',
  ])
  const change = { displayName: 'Ben' }
  expect((await auditedBy('PATCH', `users/${ben}`, change, 'user-change')).entry).toEqual(['ok', 'user:ben'])
  expect((await auditedBy('POST', `users/${ben}/sign-out`, undefined, 'session-end')).entry).toEqual(['ok', 'user:ben'])
  expect((await auditedBy('DELETE', `users/${ben}`, undefined, 'user-delete')).entry).toEqual(['ok', 'user:ben'])
  expect((await auditedBy('DELETE', `users/${ben}`, undefined, 'user-delete')).entry).toEqual([
    'ERR_USER_NOT_FOUND',
    `uid:${ben}`,
  ])
})

test('audit log: no entry contains an erased user, as actor or as target', async () => {
  const { json } = await auditedBy('POST', 'users', { username: 'carla-erased' }, 'user-create')
  const { uid: carla } = json as { uid: string }
  expect((await auditedBy('POST', `users/${carla}/erase`, undefined, 'user-erase')).entry).toEqual([
    'ok',
    'user:erased',
  ])
  expect((await entryOf('user-create'))?.target).toBe('user:erased')
  expect(JSON.stringify(await askAdmin(host, 'GET', 'audit?limit=1000'))).not.toContain('carla-erased')
})

test('audit log: the entry for an ended session contains its user and solution', async () => {
  await (await visit(host, 'audited')).signIn('anna-audited')
  const { items } = await askAdmin(host, 'GET', `sessions?uid=${uid}`)
  await askAdmin(host, 'DELETE', `sessions/${(items as { id: string }[])[0]?.id}`, undefined, 204)
  expect(await entryOf('session-end')).toMatchObject({
    outcome: 'ok',
    target: 'user:anna-audited',
    solution: 'audited',
  })
})

test('audit log: an entry contains a token’s actor ID and its name, even after the token is deleted', async () => {
  const made = await auditedBy('POST', 'tokens', { name: 'deploys', scopes: ['audit:read'] }, 'token-create')
  const { id } = made.json as { id: string }
  expect(made.entry).toEqual(['ok', `token:${id} (deploys)`])
  expect((await auditedBy('DELETE', `tokens/${id}`, undefined, 'token-delete')).entry).toEqual(made.entry)
  expect((await auditedBy('DELETE', `tokens/${id}`, undefined, 'token-delete')).entry).toEqual([
    'ERR_NOT_FOUND',
    `token:${id}`,
  ])
})

test('audit log: entries for an upload, an activation and a deletion contain the version', async () => {
  const bundle = (version: string) => bundleOf({ name: 'audited-shop', authenticator: 'NONE', version })
  const upload = async (version: string) =>
    (await (await host.upload('audited-shop', await bundle(version))).json()) as { sha256: string }
  const [first, second] = [await upload('1.0.0'), await upload('2.0.0')]
  const [old, current] = [first, second].map(({ sha256 }) => `version:${sha256.slice(0, 12)}`)
  expect(await entryOf('solution-upload')).toMatchObject({ outcome: 'ok', solution: 'audited-shop', target: current })
  const activate = { sha256: first.sha256 }
  expect((await auditedBy('POST', 'solutions/audited-shop/activate', activate, 'solution-activate')).entry).toEqual([
    'ok',
    old,
  ])
  const version = `solutions/audited-shop/versions/${second.sha256}`
  expect((await auditedBy('DELETE', version, undefined, 'solution-version-delete')).entry).toEqual(['ok', current])
  expect((await auditedBy('DELETE', 'solutions/audited-shop', undefined, 'solution-delete')).entry).toEqual([
    'ok',
    'solution:audited-shop',
  ])
})

test('audit log: the entry for a change of grants lists each added, changed or removed grant, and no password', async () => {
  const crm = { server: 'alpha', database: 'audited', username: 'audited', password: 'granted-pass' }
  const grant = (grants: object) => auditedBy('PUT', 'solutions/audited/grants', grants, 'solution-grants')
  const all = { databases: { crm }, http: ['api.example.org'], users: true }
  expect((await grant(all)).entry).toEqual(['ok', 'added database:crm, added http:api.example.org, added users'])
  const { password: _, ...same } = crm
  expect((await grant({ ...all, databases: { crm: same } })).entry).toEqual(['ok', 'no change'])
  const other = { ...crm, password: 'another-pass' }
  expect((await grant({ databases: { crm: other }, http: ['b.example.org'], users: true })).entry).toEqual([
    'ok',
    'added http:b.example.org, changed database:crm, removed http:api.example.org',
  ])
  expect((await grant({ databases: {}, http: [], users: false })).entry).toEqual([
    'ok',
    'removed database:crm, removed http:b.example.org, removed users',
  ])
})

test('audit log: entries for secrets, login tokens, OAuth settings, sign-in policies and maintenance say what changed', async () => {
  const secret = { value: 'v', hosts: ['a.org'] }
  expect((await auditedBy('PUT', 'solutions/audited/secrets/API_KEY', secret, 'solution-secret')).entry).toEqual([
    'ok',
    'secret:API_KEY',
  ])
  expect((await auditedBy('DELETE', 'solutions/audited/secrets/API_KEY', undefined, 'solution-secret')).entry).toEqual([
    'ok',
    'secret:API_KEY',
  ])
  const misplaced = await auditedBy('PUT', 'solutions/audited/secrets/s3cret-value', secret, 'solution-secret')
  expect(misplaced.entry).toEqual(['ERR_REQUEST_INVALID', 'solution:audited'])
  const login = { username: 'dora', uid: 'd', permissions: ['Users'] }
  expect((await auditedBy('POST', 'solutions/audited/login-tokens', login, 'solution-login-token')).entry).toEqual([
    'ok',
    'user:dora',
  ])
  expect((await auditedBy('PUT', 'solutions/audited/oauth', {}, 'solution-oauth')).entry).toEqual([
    'ok',
    'solution:audited',
  ])
  const policy = { level: 'required', requiredFor: ['Users', 'Administrators'], graceDays: 14 }
  const onPolicy = async (method: string, body?: object) =>
    (await auditedBy(method, 'solutions/audited/sign-in-policy', body, 'sign-in-policy')).entry
  expect([
    await onPolicy('PUT', policy),
    await onPolicy('PUT', { level: 'on' }),
    await onPolicy('DELETE'),
    await onPolicy('DELETE'),
  ]).toEqual([
    ['ok', 'required for Users, Administrators, grace period of 14 days'],
    ['ERR_REQUEST_INVALID', 'solution:audited'],
    ['ok', 'deleted'],
    ['ERR_NOT_FOUND', 'solution:audited'],
  ])
  expect((await auditedBy('PUT', 'maintenance', { on: false }, 'maintenance')).entry).toEqual(['ok', 'off'])
})

test('audit log: the page and the CSV file show the target, and can be filtered by it', async () => {
  await auditedBy('PATCH', `users/${uid}`, { displayName: 'Anna' }, 'user-change')
  const { items } = await askAdmin(host, 'GET', 'audit?target=user:anna-audited&action=user-change')
  expect((items as Entry[]).map(({ action, target }) => [action, target])).toEqual([
    ['user-change', 'user:anna-audited'],
  ])
  const admin = await signInToAdmin(host)
  const page = await admin.get('/admin/audit?target=user:anna-audited&action=user-change')
  expect(page.text).toContain('<a href="/admin/audit?target=user%3Aanna-audited"><bdi>user:anna-audited</bdi></a>')
  expect(page.text).toContain('href="/admin/api/audit.csv?action=user-change&amp;target=user%3Aanna-audited"')
  const csv = await ask(`${host.url}/admin/api/audit.csv?target=user:anna-audited&action=user-change`, {
    headers: { authorization: host.admin },
  })
  const [head, line, ...others] = csv.text.trimEnd().split('\r\n')
  expect(head).toBe('time,actor,action,target,solution,outcome,address,correlationId')
  expect(line).toMatch(/,admin,user-change,user:anna-audited,,ok,127\.0\.0\.1,/)
  expect(others).toEqual([])
})
