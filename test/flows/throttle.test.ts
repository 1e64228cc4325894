import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHost, type TestHost } from '../support/host.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({
    THROTTLE_ACCOUNT_NETWORK: '5',
    THROTTLE_ACCOUNT: '20',
    THROTTLE_NETWORK: '500',
    TRUSTED_PROXIES: '127.0.0.1',
  })
  await addDefaultSolution(host, 'crm')
  await addDefaultSolution(host, 'shop')
  await addAuthenticatorSolution(
    host,
    'auth',
    `function onSolutionOpen(arg, q) { if (q.password === 'sesame') security.login(q.username, 'u', ['Users']) }`,
  )
  await addAuthenticatorSolution(
    host,
    'tenants',
    `function onSolutionOpen(arg, q) { if (q.password === 'of ' + q.custom_tenant) security.login(q.username, q.custom_tenant, ['Users']) }`,
  )
})
afterAll(() => host.stop())

/** Opens the login page in a simulated browser with an address in this network. */
const from = (network: number, solution = 'crm') => visit(host, solution, { 'x-forwarded-for': `192.0.2.${network}` })

test('the sixth attempt on an account from one network gets 429 with Retry-After before anything is checked', async () => {
  await addUser(host, 'anna')
  const browser = await from(1)
  for (let guess = 0; guess < 5; guess++) expect((await browser.signIn('anna', `guess ${guess}`)).status).toBe(401)
  const refused = await browser.post(
    browser.page,
    { username: 'Anna', password: 'seven green tractors' },
    { headers: { 'accept-language': 'nl' } },
  )
  expect(refused.status).toBe(429)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800)
  expect(refused.text).toContain('<html lang="nl"')
  expect(refused.text).toContain('platform-notice')
  expect(refused.text).toContain('value="Anna"')
  expect((await (await from(2)).signIn('anna')).status).toBe(303)
  const { items } = await askAdmin(host, 'GET', 'audit?limit=1&action=sign-in&actor=user:Anna')
  expect(items).toMatchObject([{ outcome: 'throttled', address: '192.0.2.1' }])
})

test('only five of 50 simultaneous guesses are checked', async () => {
  await addUser(host, 'bea')
  const browser = await from(3)
  const answers = await Promise.all(Array.from({ length: 50 }, (_, guess) => browser.signIn('bea', `guess ${guess}`)))
  const count = (status: number) => answers.filter((answer) => answer.status === status).length
  expect([count(401), count(429)]).toEqual([5, 45])
})

test('all solutions with the users table share one counter; each authenticator has its own', async () => {
  await addUser(host, 'carl')
  const browser = await from(4)
  for (let guess = 0; guess < 5; guess++) await browser.signIn('carl', `guess ${guess}`)
  expect((await (await from(4, 'shop')).signIn('carl')).status).toBe(429)
  expect((await (await from(4, 'auth')).signIn('carl', 'sesame')).status).toBe(303)
})

test('twenty attempts from many networks lock an account, except in a browser that has signed in to it before', async () => {
  await addUser(host, 'dora')
  const own = await from(10)
  expect((await own.signIn('dora')).status).toBe(303)
  await own.logOut()
  for (let guess = 0; guess < 21; guess++) await (await from(20 + guess)).signIn('dora', `guess ${guess}`)
  expect((await (await from(60)).signIn('dora')).status).toBe(429)
  await own.open()
  expect((await own.signIn('dora')).status).toBe(303)
  // The cookie works only for that account, and is invalid if it was modified.
  const known = own.cookie('known') ?? ''
  const thief = await from(61)
  thief.cookies.set('known-crm', { value: `ffffffff${known.slice(8)}`, path: '/solution/crm/' })
  expect((await thief.signIn('dora')).status).toBe(429)
})

test('a browser is known only for the custom fields with which a user signed in, so not for the same name in another tenant', async () => {
  const browser = await from(70, 'tenants')
  expect((await browser.signIn('admin', 'of acme', { custom_tenant: 'acme' })).status).toBe(303)
  await browser.logOut()
  await browser.open()
  for (let guess = 0; guess < 5; guess++) {
    expect((await browser.signIn('admin', `guess ${guess}`, { custom_tenant: 'globex' })).status).toBe(401)
  }
  expect((await browser.signIn('admin', 'of globex', { custom_tenant: 'globex' })).status).toBe(429)
  expect((await browser.signIn('admin', 'of acme', { custom_tenant: 'acme' })).status).toBe(303)
})

test('twenty attempts from many networks do not keep a user who is signed in from confirming or changing the password', async () => {
  await addUser(host, 'filip')
  const own = await from(110)
  expect((await own.signIn('filip')).status).toBe(303)
  for (let guess = 0; guess < 21; guess++) await (await from(120 + guess)).signIn('filip', `guess ${guess}`)
  expect((await (await from(160)).signIn('filip')).status).toBe(429)
  await own.get('/solution/crm/confirm?for=account')
  expect((await own.post('/solution/crm/confirm', { for: 'account', password: 'guess' })).status).toBe(401)
  expect((await own.post('/solution/crm/confirm', { for: 'account', password: PASSWORD })).status).toBe(303)
  const chosen = 'quiet rivers run at night'
  const change = { current: PASSWORD, new: chosen, repeat: chosen }
  expect((await own.post('/solution/crm/password', change)).headers.location).toContain('password-changed')
})

test('a wrong password on the page for confirmations counts towards the name in the users table, not the one that the script chose', async () => {
  await addAuthenticatorSolution(
    host,
    'alias',
    `async function onSolutionOpen(arg, q) {
      const user = await security.authenticate(q.username, q.password)
      if (user) security.login('someone else', user.uid, ['Users'])
    }`,
  )
  await askAdmin(host, 'PUT', 'solutions/alias/grants', { databases: {}, http: [], users: true })
  await addUser(host, 'edda')
  const browser = await from(80, 'alias')
  expect((await browser.signIn('edda')).status).toBe(303)
  expect((await browser.get('/solution/alias/confirm?for=account')).status).toBe(200)
  const confirm = (password: string) => browser.post('/solution/alias/confirm', { for: 'account', password })
  for (let guess = 0; guess < 5; guess++) expect((await confirm(`guess ${guess}`)).status).toBe(401)
  expect((await confirm('guess')).status).toBe(429)
  expect((await (await from(80)).signIn('edda')).status).toBe(429)
})
