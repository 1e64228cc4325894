import { beforeAll, expect, test } from 'vitest'
import { sharedHost } from '../support/shared-host.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
beforeAll(async () => {
  host = await sharedHost()
  await addDefaultSolution(host, 'crm', { permissions: ['Users', 'Editors'] })
  await addDefaultSolution(host, 'open')
})

const WRONG = 'Sign-in failed. Check'

test('a user of the users table signs in with their permissions for the solution; the case of the name does not matter', async () => {
  const permissions = ['Users', { name: 'Editors', solution: 'crm' }, { name: 'Hidden', solution: 'other' }]
  const uid = await addUser(host, 'Anna', { permissions })
  const browser = await visit(host, 'crm')
  const answer = await browser.signIn('ANNA')
  expect(answer.status).toBe(303)
  expect((await browser.session()).json()).toMatchObject({ username: 'Anna', uid, permissions: ['Editors', 'Users'] })
  const elsewhere = await visit(host, 'open')
  await elsewhere.signIn('anna')
  expect((await elsewhere.session()).json()).toMatchObject({ permissions: ['Users'] })
})

test.each([
  ['a wrong password', 'bea', 'nine green tractors'],
  ['an unknown name', 'nobody-of-that-name', PASSWORD],
  ['no password', 'bea', ''],
  ['a disabled user', 'carl', PASSWORD],
  ['a user without a permission', 'dora', PASSWORD],
  ['a user with permissions that the solution does not list', 'emil', PASSWORD],
])('%s gets 401, the same page and the same message', async (_case, username, password) => {
  await Promise.allSettled([
    addUser(host, 'bea'),
    addUser(host, 'carl', { enabled: false }),
    addUser(host, 'dora', { permissions: [] }),
    addUser(host, 'emil', { permissions: ['Strangers'] }),
  ])
  const browser = await visit(host, 'crm')
  const answer = await browser.signIn(username, password)
  expect(answer.status).toBe(401)
  expect(answer.text).toContain('#errorlabel{display:block')
  expect(answer.text).toContain(WRONG)
  expect(browser.cookie('session')).toBeUndefined()
  expect((await browser.session()).status).toBe(401)
})

test('a user who must change their password has to do so before anything else, and is then signed in', async () => {
  const uid = await addUser(host, 'fred', { mustChangePassword: true })
  const browser = await visit(host, 'crm')
  const demanded = await browser.signIn('fred')
  expect(demanded.status).toBe(200)
  expect(demanded.text).toContain('Choose a new password')
  expect((await browser.session()).status).toBe(401)
  const ticket = /name="ticket" value="([^"]+)"/.exec(demanded.text)?.[1] ?? ''
  const change = (fields: Record<string, string>) => browser.post('/solution/crm/password', { ticket, ...fields })
  expect((await change({ new: 'one blue boat sails', repeat: 'another' })).text).toContain(
    'The new passwords don’t match.',
  )
  const short = await change({ new: 'short', repeat: 'short' })
  expect(short.status).toBe(422)
  expect(short.text).toContain('role="alert"')
  const changed = await change({ new: 'one blue boat sails', repeat: 'one blue boat sails' })
  expect(changed.status).toBe(303)
  expect(changed.headers.location).toBe('/solution/crm/index.html?password-changed')
  expect((await browser.get(changed.headers.location ?? '')).text).toContain('Your password was changed')
  expect((await browser.signIn('fred')).status).toBe(401)
  expect((await browser.signIn('fred', 'one blue boat sails')).status).toBe(303)
  expect(await askAdmin(host, 'GET', `users/${uid}`)).toMatchObject({ mustChangePassword: false })
  // The ticket is no longer valid, because it was issued for the previous password.
  await browser.open()
  const again = await browser.post('/solution/crm/password', {
    ticket,
    new: 'two blue boats sail',
    repeat: 'two blue boats sail',
  })
  expect(again.headers.location).toBe('/solution/crm/index.html')
  expect((await browser.session()).status).toBe(200)
})

test('a ticket for another solution or user, or a request without the form token, changes nothing', async () => {
  await addUser(host, 'gina', { mustChangePassword: true })
  await addUser(host, 'hans', { mustChangePassword: true })
  const browser = await visit(host, 'crm')
  const ticket = /name="ticket" value="([^"]+)"/.exec((await browser.signIn('gina')).text)?.[1] ?? ''
  const hans = /name="ticket" value="([^"]+)"/.exec((await browser.signIn('hans')).text)?.[1] ?? ''
  const [expiry, signature] = ticket.split('.')
  const fields = { new: 'one blue boat sails', repeat: 'one blue boat sails' }
  const other = await visit(host, 'open')
  expect((await other.post('/solution/open/password', { ticket, ...fields })).headers.location).toBe(
    '/solution/open/index.html',
  )
  const mixed = `${expiry}.${signature}.${hans.split('.')[2]}`
  expect((await browser.post('/solution/crm/password', { ticket: mixed, ...fields })).status).toBe(303)
  expect((await browser.post('/solution/crm/password', { ticket, ...fields }, { token: null })).status).toBe(403)
  expect((await browser.signIn('gina')).text).toContain('Choose a new password')
  expect((await browser.signIn('hans')).text).toContain('Choose a new password')
})

test('changing your own password ends all your sessions and remembered logins', async () => {
  await addUser(host, 'ines')
  const elsewhere = await visit(host, 'open')
  await elsewhere.signIn('ines', PASSWORD, { remember: 'on' })
  const browser = await visit(host, 'crm')
  await browser.signIn('ines')
  expect((await browser.open()).text).toContain('href="/solution/crm/account"')
  const page = (await browser.get('/solution/crm/password')).text
  expect(page).toContain('name="current"')
  expect(page).toContain('href="/solution/crm/index.html">Cancel<')
  const fields = { new: 'one blue boat sails', repeat: 'one blue boat sails' }
  const wrong = await browser.post('/solution/crm/password', { current: 'not it at all', ...fields })
  expect(wrong.status).toBe(422)
  expect(wrong.text).toContain('The current password is incorrect')
  expect((await browser.post('/solution/crm/password', { current: PASSWORD, ...fields })).status).toBe(303)
  expect((await browser.session()).status).toBe(401)
  const signedOut = await browser.get('/solution/crm/password')
  expect([signedOut.status, signedOut.headers.location]).toEqual([303, '/solution/crm/index.html'])
  expect((await elsewhere.session()).status).toBe(401)
  elsewhere.close()
  expect((await elsewhere.open()).text).toContain('name="password"')
  expect((await browser.signIn('ines', 'one blue boat sails')).status).toBe(303)
})

test.each([
  ['disabled', { enabled: false }],
  ['given another password', { password: 'three red kites fly' }],
  ['deprived of a permission', { permissions: ['Editors'] }],
])('a user who is %s by the operator is signed out', async (_how, change) => {
  const name = `jo-${_how.replaceAll(' ', '-')}`
  const uid = await addUser(host, name, { permissions: ['Users', 'Editors'] })
  const browser = await visit(host, 'crm')
  await browser.signIn(name, PASSWORD, { remember: 'on' })
  expect((await browser.session()).status).toBe(200)
  await askAdmin(host, 'PATCH', `users/${uid}`, change)
  expect((await browser.session()).status).toBe(401)
  browser.close()
  expect((await browser.open()).text).toContain('name="password"')
})

test('mustAuthenticate means DEFAULT, and loginSolution signs users in with its module’s onSolutionOpen', async () => {
  await addUser(host, 'kim')
  const old = await bundleOf({ name: 'old', mustAuthenticate: true }, {})
  expect((await host.upload('old', old)).status).toBe(201)
  const browser = await visit(host, 'old')
  expect((await browser.signIn('kim')).status).toBe(303)
  const bundle = await bundleOf(
    { name: 'older', mustAuthenticate: true, loginSolution: 'door', modules: ['door'] },
    {
      ...moduleFile('door', { type: 'module' }),
      'modules/door/globals.js': `function onSolutionOpen(arg, q) { if (q.password === 'sesame') security.login(q.username, 'd-1', ['Users']) }`,
      'globals.js': `function onSolutionOpen() { security.setTenantValue(typeof q) }`,
    },
  )
  expect((await host.upload('older', bundle)).status).toBe(201)
  const door = await visit(host, 'older')
  expect((await door.signIn('kim')).status).toBe(401)
  expect((await door.signIn('kim', 'sesame')).status).toBe(303)
  expect((await door.session()).json()).toMatchObject({ username: 'kim', uid: 'd-1' })
})

test('sign-ins, rejections and password changes are in the audit log, without passwords', async () => {
  await addUser(host, 'lea')
  const browser = await visit(host, 'crm')
  await browser.signIn('lea\r\nadmin', 'a wrong one that is secret')
  await browser.signIn('lea')
  const { items } = (await askAdmin(host, 'GET', 'audit?limit=5&solution=crm')) as { items: Record<string, unknown>[] }
  expect(items.slice(0, 2)).toMatchObject([
    { actor: 'user:lea', action: 'sign-in', outcome: 'ok', solution: 'crm', address: '127.0.0.1' },
    { actor: 'user:lea��admin', action: 'sign-in', outcome: 'refused' },
  ])
  const all = JSON.stringify(await askAdmin(host, 'GET', 'audit?limit=1000'))
  for (const secret of ['secret', PASSWORD, 'one blue boat sails']) expect(all).not.toContain(secret)
  expect(host.logged()).not.toContain(PASSWORD)
})
