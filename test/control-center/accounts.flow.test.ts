import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createPasswordTickets } from '../../base/accounts/password-tickets.ts'
import { openPlatformKey } from '../../base/config/platform-key.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { NAVIGATION } from '../support/admin.ts'
import { CENTER_PASSWORD, OWNER, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'

let center: TestCenter
beforeAll(async () => {
  center = await startTestCenter()
})
afterAll(() => center?.stop())

function post(path: string, fields: Record<string, string>) {
  return ask(`${center.url}${path}`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
}

const signIn = (username: string, password: string) => post('/sign-in', { username, password })
const WANTED = 'seven quiet elephants'

test('a person can read their own account’s name and times; an access token cannot', async () => {
  await center.account('reads@example.org')
  const browser = await signInToCenter(center, 'reads@example.org')
  expect((await browser.api('GET', 'account')).body).toEqual({
    username: 'reads@example.org',
    lastLoginAt: expect.any(Number),
    passwordChangedAt: expect.any(Number),
  })
  expect((await browser.get('/account')).text).toContain('reads@example.org')
  expect((await center.api('GET', 'account')).status).toBe(403)
})

test('changing your own password requires the current one and ends all sessions', async () => {
  await center.account('changes@example.org')
  const browser = await signInToCenter(center, 'changes@example.org')
  const other = await signInToCenter(center, 'changes@example.org')
  const change = (current: string, wanted: string) => browser.api('PUT', 'account/password', { current, new: wanted })
  expect((await change('wrong', WANTED)).body.detail).toBe('The current password is incorrect.')
  expect((await change(CENTER_PASSWORD, 'short')).body.detail).toContain('at least')
  expect((await change(CENTER_PASSWORD, CENTER_PASSWORD)).body.code).toBe('ERR_REQUEST_INVALID')
  expect((await change(CENTER_PASSWORD, WANTED)).status).toBe(204)
  for (const one of [browser, other]) expect((await one.get('/organisations')).status).toBe(302)
  expect((await signIn('changes@example.org', CENTER_PASSWORD)).status).toBe(401)
  expect((await signIn('changes@example.org', WANTED)).status).toBe(303)
})

test('of several password changes at the same time, only one takes effect', async () => {
  await center.account('hurries@example.org')
  const browser = await signInToCenter(center, 'hurries@example.org')
  const wanted = ['nine quiet harbours', 'one blue boat sails', 'many small boats go by']
  const changes = wanted.map((one) => browser.api('PUT', 'account/password', { current: CENTER_PASSWORD, new: one }))
  const statuses = (await Promise.all(changes)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 204)).toHaveLength(1)
  expect((await signIn('hurries@example.org', wanted[statuses.indexOf(204)] ?? '')).status).toBe(303)
})

test('signing out everywhere ends the sessions of all browsers', async () => {
  await center.account('leaves@example.org')
  const [browser, other] = [
    await signInToCenter(center, 'leaves@example.org'),
    await signInToCenter(center, 'leaves@example.org'),
  ]
  expect((await browser.api('DELETE', 'account/sessions')).status).toBe(204)
  for (const one of [browser, other]) expect((await one.get('/organisations')).status).toBe(302)
})

test('account actions are recorded, without any password', async () => {
  const items = (await center.parts.audit.read({ organisation: '', limit: 200, actor: 'user:changes@example.org' }))
    .items
  expect(items.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual(
    expect.arrayContaining(['password-change ok', 'password-change ERR_REQUEST_INVALID', 'sign-in ok']),
  )
  expect(JSON.stringify(items)).not.toContain(WANTED)
  expect(center.logged()).not.toContain(WANTED)
})

test('a user who must change the password does so at sign-in, before anything else', async () => {
  const username = 'forced@example.org'
  await center.parts.users.create({ username, email: username, password: CENTER_PASSWORD })
  const to = '/o/acme/environments'
  const asked = await post('/sign-in', { username, password: CENTER_PASSWORD, to })
  expect([asked.status, asked.headers['set-cookie']?.some((one) => !/=;/.test(one)) ?? false]).toEqual([200, false])
  const ticket = /name="ticket" value="([^"]+)"/.exec(asked.text)?.[1] ?? ''
  const change = (fields: Record<string, string>) => post('/change-password', { ticket, to, ...fields })

  expect((await change({ new: WANTED, repeat: 'another one here' })).text).toContain('The new passwords don’t match.')
  expect((await change({ new: CENTER_PASSWORD, repeat: CENTER_PASSWORD })).text).toContain('your current password')
  const forged = await change({ ticket: ticket.replace(/^\d+/, String(Date.now() + 1e9)), new: WANTED, repeat: WANTED })
  expect([forged.status, forged.headers.location]).toEqual([303, `/sign-in?to=${encodeURIComponent(to)}`])

  const done = await change({ new: WANTED, repeat: WANTED })
  expect([done.status, done.headers.location]).toEqual([303, `/sign-in?password-changed&to=${encodeURIComponent(to)}`])
  const page = await ask(`${center.url}${done.headers.location}`, { headers: NAVIGATION })
  expect(page.text).toContain('Your password was changed.')
  // The ticket can't be used again.
  expect((await change({ new: 'eight quiet elephants', repeat: 'eight quiet elephants' })).status).toBe(303)
  expect((await signIn(username, WANTED)).status).toBe(303)
})

test('the ticket for changing a password is valid for 15 minutes', async () => {
  await using stack = new AsyncDisposableStack()
  const { settings, users } = center.parts
  const db = await openCenterDatabase(settings)
  stack.defer(() => db.destroy())
  const username = 'slow@example.org'
  const user = await users.create({ username, email: username, password: CENTER_PASSWORD })
  const clock = { now: Date.now() }
  const key = await openPlatformKey(db, settings.home, settings.platformKey)
  const tickets = createPasswordTickets(users, key, 'test', () => clock.now)
  const ticket = tickets.issue(user, 'crm')
  clock.now += 15 * 60_000 - 1
  expect((await tickets.read(ticket, 'crm'))?.username).toBe(username)
  expect(await tickets.read(ticket, 'shop')).toBeNull()
  expect(await tickets.read(ticket, '')).toBeNull()
  clock.now += 1
  expect(await tickets.read(ticket, 'crm')).toBeNull()
  expect(await tickets.read('no.ticket.at all', 'crm')).toBeNull()
})

test('wrong entries of the current password are throttled together with failed sign-ins', async () => {
  const strict = await startTestCenter({ THROTTLE_ACCOUNT_NETWORK: '3' })
  try {
    const browser = await signInToCenter(strict)
    const guess = () => browser.api('PUT', 'account/password', { current: 'wrong', new: WANTED })
    for (let tries = 0; tries < 3; tries++) expect((await guess()).status).toBe(422)
    const refused = await guess()
    expect([refused.status, refused.body.code]).toEqual([429, 'ERR_THROTTLED'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    const body = new URLSearchParams({ username: OWNER, password: CENTER_PASSWORD }).toString()
    const headers = { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' }
    expect((await ask(`${strict.url}/sign-in`, { method: 'POST', headers, body })).status).toBe(429)
  } finally {
    await strict.stop()
  }
})

test('attempts that the control center was too busy to check do not count towards the account’s limit', async () => {
  const strict = await startTestCenter({ THROTTLE_ACCOUNT_NETWORK: '3' })
  try {
    const busy = new PlatformError('ERR_PASSWORDS_BUSY', 'busy')
    const spy = vi.spyOn(strict.parts.users, 'authenticate').mockRejectedValue(busy)
    const body = new URLSearchParams({ username: OWNER, password: CENTER_PASSWORD }).toString()
    const headers = { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' }
    const status = async () => (await ask(`${strict.url}/sign-in`, { method: 'POST', headers, body })).status
    for (let tries = 0; tries < 4; tries++) expect(await status()).toBe(503)
    spy.mockRestore()
    expect(await status()).toBe(303)
  } finally {
    await strict.stop()
  }
})
