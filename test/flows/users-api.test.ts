import { beforeAll, expect, test } from 'vitest'
import { ask } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'

const GOOD = 'correct horse battery'

type User = { readonly uid: string; readonly username: string; readonly permissions: unknown[] }

let host: Awaited<ReturnType<typeof sharedHost>>
beforeAll(async () => {
  host = await sharedHost()
  for (const name of ['who', 'forget']) await addDefaultSolution(host, name)
})

const api = (path: string, options: Parameters<typeof ask>[1] = {}) =>
  ask(`${host.url}/admin/api${path}`, { ...options, headers: { authorization: host.admin, ...options.headers } })
const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  api(path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
const sendCsv = (path: string, body: string, type = 'text/csv') =>
  api(path, { method: 'POST', headers: { 'content-type': type }, body })
const make = async (user: object) => (await send('POST', '/users', user)).json() as User
const problemOf = (answer: { status: number; json: () => unknown }) =>
  [answer.status, (answer.json() as { code: string }).code] as const
const audit = async (action: string) => {
  const { items } = (await api(`/audit?action=${action}&limit=1`)).json() as { items: object[] }
  return items[0]
}

test('POST creates a user and returns 201 with Location and the user, without the password', async () => {
  const made = await send('POST', '/users', {
    username: 'Anna-API',
    displayName: 'Anna Jansen',
    email: 'anna@example.org',
    permissions: ['Users', { name: 'Sales', solution: 'crm' }],
    password: GOOD,
  })
  const user = made.json() as User
  expect([made.status, made.headers.location]).toEqual([201, `/admin/api/users/${user.uid}`])
  expect(user).toEqual({
    uid: expect.any(String),
    username: 'Anna-API',
    displayName: 'Anna Jansen',
    email: 'anna@example.org',
    emailVerifiedAt: null,
    locale: null,
    enabled: true,
    permissions: ['Users', { name: 'Sales', solution: 'crm' }],
    mustChangePassword: true,
    factors: 0,
    invitation: null,
    directory: null,
  })
  const found = await api(`/users/${user.uid}`)
  expect({ ...(found.json() as User), invitation: null }).toEqual(user)
  expect(made.text + found.text + host.logged()).not.toMatch(/argon2|correct horse/)
  expect(await audit('user-create')).toMatchObject({ actor: 'admin', outcome: 'ok' })
})

test('the same name in another case gets 409, and the rejection is in the audit log', async () => {
  await make({ username: 'twice' })
  expect(problemOf(await send('POST', '/users', { username: 'TWICE' }))).toEqual([409, 'ERR_NAME_EXISTS'])
  expect(await audit('user-create')).toMatchObject({ outcome: 'ERR_NAME_EXISTS' })
})

test.each([
  ['no name', {}],
  ['an unknown property', { username: 'x', isAdmin: true }],
  ['a hash', { username: 'x', passwordHash: 'x' }],
  ['another type', { username: 'x', enabled: 'yes' }],
  ['a uid', { username: 'x', uid: 'mine' }],
])('POST with %s gets 422', async (_what, body) => {
  expect(problemOf(await send('POST', '/users', body))).toEqual([422, 'ERR_REQUEST_INVALID'])
})

test('a weak password gets 422 with the reason, readable for people and for programs', async () => {
  const answer = await send('POST', '/users', { username: 'weak', password: 'Passw0rd!' })
  expect(answer.json()).toMatchObject({
    status: 422,
    code: 'ERR_REQUEST_INVALID',
    detail: 'This password is common and easy to guess. Please choose another one.',
    faults: [{ field: 'password', key: 'platform.password.common', values: [] }],
  })
  expect(answer.text).not.toContain('Passw0rd')
})

test('GET returns pages sorted by name, and searches names and email addresses', async () => {
  for (const username of ['page-c', 'Page-a', 'page-B'])
    await make({ username, email: `${username.at(-1)}@pages.example` })
  const first = (await api('/users?search=PAGE-&limit=2')).json() as { items: User[]; next: string }
  expect(first.items.map(({ username }) => username)).toEqual(['Page-a', 'page-B'])
  const rest = (await api(`/users?search=page-&limit=2&after=${encodeURIComponent(first.next)}`)).json() as {
    items: User[]
  }
  expect([rest.items.map(({ username }) => username), 'next' in rest]).toEqual([['page-c'], false])
  const { items } = (await api('/users?search=C%40PAGES')).json() as { items: User[] }
  expect(items.map(({ username }) => username)).toEqual(['page-c'])
  expect((await api('/users?limit=1001')).status).toBe(422)
})

test('PATCH changes only the given fields; an unknown user returns 404', async () => {
  const { uid } = await make({ username: 'patched', email: 'p@example.org', permissions: ['Users'] })
  const answer = await send('PATCH', `/users/${uid}`, { enabled: false, permissions: [] })
  expect([answer.status, answer.json()]).toEqual([
    200,
    expect.objectContaining({ email: 'p@example.org', enabled: false, permissions: [] }),
  ])
  expect(problemOf(await send('PATCH', '/users/nobody', {}))).toEqual([404, 'ERR_USER_NOT_FOUND'])
  expect(await audit('user-change')).toMatchObject({ outcome: 'ERR_USER_NOT_FOUND' })
})

test('DELETE and erase return 204, and 404 the second time', async () => {
  const { uid } = await make({ username: 'deleted' })
  expect((await api(`/users/${uid}`, { method: 'DELETE' })).status).toBe(204)
  expect(problemOf(await api(`/users/${uid}`, { method: 'DELETE' }))).toEqual([404, 'ERR_USER_NOT_FOUND'])
  expect(problemOf(await api(`/users/${uid}`))).toEqual([404, 'ERR_USER_NOT_FOUND'])
  const other = await make({ username: 'erased' })
  expect((await api(`/users/${other.uid}/erase`, { method: 'POST' })).status).toBe(204)
  expect((await api(`/users/${other.uid}/erase`, { method: 'POST' })).status).toBe(404)
  expect(await audit('user-erase')).toMatchObject({ outcome: 'ERR_USER_NOT_FOUND' })
})

test('CSV: import, dry run and export work; errors include their lines', async () => {
  const text = 'username,displayName,permissions\r\ncsv-a,"A, B",Users;Sales@crm\r\ncsv-b,,\r\n'
  const dry = await sendCsv('/users.csv?dry-run', text)
  expect([dry.status, dry.json()]).toEqual([
    200,
    { created: 2, changed: 0, unchanged: 0, createdWithoutPassword: 2, unlistedPermissions: [], dryRun: true },
  ])
  expect((await api('/users?search=csv-')).json()).toEqual({ items: [] })
  const done = await sendCsv('/users.csv', text, 'text/csv; charset=utf-8')
  expect(done.json()).toEqual({
    created: 2,
    changed: 0,
    unchanged: 0,
    createdWithoutPassword: 2,
    unlistedPermissions: [],
    dryRun: false,
  })
  const out = await api('/users.csv')
  expect([out.status, out.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present'])
  expect(out.headers['content-disposition']).toBe('attachment; filename="users.csv"')
  expect(out.text).toContain('\r\ncsv-a,"A, B",,true,Users;Sales@crm\r\ncsv-b,,,true,\r\n')
  expect(await audit('user-export')).toMatchObject({ outcome: 'ok' })
  const faulty = await sendCsv('/users.csv', 'username,email\ncsv-c,\ncsv-d,nobody\n')
  expect(faulty.json()).toMatchObject({
    status: 422,
    code: 'ERR_REQUEST_INVALID',
    faults: [{ line: 3, field: 'email', message: expect.stringContaining('must be an email address') }],
  })
  expect(problemOf(await sendCsv('/users.csv', text, 'application/json'))).toEqual([415, 'ERR_CONTENT_TYPE'])
  expect((await sendCsv('/users.csv', 'x'.repeat(1024 ** 2 + 1))).status).toBe(413)
})

test.each([
  ['disabled', 'PATCH', '', { enabled: false }],
  ['given another password', 'PATCH', '', { password: GOOD }],
  ['deprived of a permission', 'PATCH', '', { permissions: [] }],
  ['deleted', 'DELETE', '', undefined],
  ['erased', 'POST', '/erase', undefined],
])('a signed-in user who is %s is signed out', async (_what, method, path, body) => {
  const name = `signed-in-${method.toLowerCase()}-${Object.keys(body ?? {}).join('')}${path.slice(1)}`
  const uid = await addUser(host, name)
  const browser = await visit(host, 'who')
  await browser.signIn(name)
  expect((await browser.session()).json()).toMatchObject({ username: name, uid, permissions: ['Users'] })
  const answer = await send(method, `/users/${uid}${path}`, body)
  expect([200, 204]).toContain(answer.status)
  expect((await browser.session()).status).toBe(401)
})

test('erase: the audit log keeps the sign-in but not the name', async () => {
  const uid = await addUser(host, 'Forget Me')
  await (await visit(host, 'forget')).signIn('forget me')
  const entries = async () =>
    ((await api('/audit?solution=forget&action=sign-in')).json() as { items: { actor: string }[] }).items
  expect((await entries()).map(({ actor }) => actor)).toEqual(['user:Forget Me'])
  await api(`/users/${uid}/erase`, { method: 'POST' })
  expect((await entries()).map(({ actor }) => actor)).toEqual(['user:erased'])
  expect((await api('/audit?limit=1000')).text).not.toMatch(/forget me/i)
})

test('scopes: users:read permits reading, users:write permits writing, other scopes permit neither', async () => {
  const tokenFor = async (scope: string) => {
    const made = await send('POST', '/tokens', { name: scope, scopes: [scope] })
    return { authorization: `Bearer ${(made.json() as { token: string }).token}` }
  }
  const { uid } = await make({ username: 'scoped' })
  const calls = [
    ['GET', '/users'],
    ['GET', `/users/${uid}`],
    ['GET', '/users.csv'],
    ['POST', '/users', { username: 'by token' }],
    ['PATCH', `/users/${uid}`, {}],
    ['POST', `/users/${uid}/erase`],
    ['DELETE', `/users/${uid}`],
  ] as const
  const statuses = async (scope: string) => {
    const headers = await tokenFor(scope)
    const answers: number[] = []
    for (const [method, path, body] of calls) answers.push((await send(method, path, body, headers)).status)
    answers.push(
      (
        await api('/users.csv', {
          method: 'POST',
          headers: { ...headers, 'content-type': 'text/csv' },
          body: 'username\n',
        })
      ).status,
    )
    return answers
  }
  expect(await statuses('audit:write')).toEqual([403, 403, 403, 403, 403, 403, 403, 403])
  expect(await statuses('users:read')).toEqual([200, 200, 200, 403, 403, 403, 403, 403])
  expect(await statuses('users:write')).toEqual([200, 200, 200, 201, 200, 204, 404, 200])
})

test('OpenAPI describes every users route with its methods', async () => {
  const document = (await api('/openapi.json')).json() as {
    paths: Record<string, Record<string, unknown>>
    components: { schemas: Record<string, unknown> }
  }
  const users = Object.entries(document.paths).filter(([path]) => path.startsWith('/admin/api/users'))
  expect(users.map(([path, item]) => [path, Object.keys(item).filter((key) => key !== 'parameters')])).toEqual([
    ['/admin/api/users/{uid}/factors', ['get', 'delete']],
    ['/admin/api/users/{uid}/factors/{id}', ['delete']],
    ['/admin/api/users/{uid}/unlock-factors', ['post']],
    ['/admin/api/users', ['get', 'post']],
    ['/admin/api/users/{uid}', ['get', 'patch', 'delete']],
    ['/admin/api/users/{uid}/sign-out', ['post']],
    ['/admin/api/users/{uid}/erase', ['post']],
    ['/admin/api/users.csv', ['get', 'post']],
    ['/admin/api/users/{uid}/links', ['post']],
  ])
  for (const [, reference] of JSON.stringify(users).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    expect(document.components.schemas).toHaveProperty(reference as string)
  }
  // Each path has a route, so unsupported methods get 405 instead of 404.
  for (const [path, item] of users) {
    const answer = await api(path.replace('/admin/api', '').replace('{uid}', 'x'), { method: 'PUT' })
    const allowed = String(answer.headers.allow).split(', ')
    expect([path, answer.status, allowed.filter((method) => method !== 'HEAD').toSorted()]).toEqual([
      path,
      405,
      Object.keys(item)
        .filter((key) => key !== 'parameters')
        .map((method) => method.toUpperCase())
        .toSorted(),
    ])
  }
})

/** Signs in users of the users table, and signs remembered users in again without asking. */
const TABLE_SCRIPT = `async function onSolutionOpen(_argument, { username, password, last_login: last }) {
  if (last) return security.login(last.username, last.uid, ['Users'])
  const user = await security.authenticate(username, password ?? '')
  if (user) security.login(username, user.uid, ['Users'])
}`

test('ending a user’s access also ends the sign-ins of solutions whose own script checked the password', async () => {
  await addAuthenticatorSolution(host, 'by-script', TABLE_SCRIPT)
  await askAdmin(host, 'PUT', 'solutions/by-script/grants', { databases: {}, http: [], users: true })
  const changes: Record<string, (uid: string) => Promise<unknown>> = {
    disabled: (uid) => send('PATCH', `/users/${uid}`, { enabled: false }),
    'new-password': (uid) => send('PATCH', `/users/${uid}`, { password: 'nine quiet harbours' }),
    'signed-out': (uid) => send('POST', `/users/${uid}/sign-out`),
    deleted: (uid) => send('DELETE', `/users/${uid}`),
    erased: (uid) => send('POST', `/users/${uid}/erase`),
  }
  for (const [name, change] of Object.entries(changes)) {
    const uid = await addUser(host, name)
    const browser = await visit(host, 'by-script')
    await browser.signIn(name, PASSWORD, { remember: 'on' })
    expect((await browser.session()).status, name).toBe(200)
    await change(uid)
    // The host caches sessions for up to a second.
    await waitUntil(async () => expect((await browser.session()).status, name).toBe(401))
    browser.close()
    await browser.open()
    expect((await browser.session()).status, `${name}, remembered`).toBe(401)
    expect((await api(`/sessions?username=${name}`)).json()).toMatchObject({ items: [] })
  }
})

test('a user who gets a new password while a script that has checked the old one runs is not signed in', async () => {
  await addAuthenticatorSolution(
    host,
    'overtaken',
    `async function onSolutionOpen(arg, { username, password, last_login }) {
      if (last_login) return security.login(last_login.username, last_login.uid, ['Users'])
      const user = await security.authenticate(username, password)
      application.output('checked ' + username)
      for (let n = 0; n < 1900 && (await security.getUser(username)).displayName !== 'Renewed'; n++) {
        for (const end = Date.now() + 2; Date.now() < end; );
      }
      security.login(username, user.uid, ['Users'])
    }`,
  )
  await askAdmin(host, 'PUT', 'solutions/overtaken/grants', { databases: {}, http: [], users: true })
  const uid = await addUser(host, 'overtaken')
  const browser = await visit(host, 'overtaken')
  const answer = browser.signIn('overtaken', PASSWORD, { remember: 'on' })
  await expect
    .poll(async () => JSON.stringify(await askAdmin(host, 'GET', 'solutions/overtaken/log')))
    .toContain('checked overtaken')
  await askAdmin(host, 'PATCH', `users/${uid}`, { password: 'another long pass phrase', displayName: 'Renewed' })
  expect((await answer).status).toBe(401)
  expect((await browser.session()).status).toBe(401)
  browser.close()
  await browser.open()
  expect((await browser.session()).status).toBe(401)
})
