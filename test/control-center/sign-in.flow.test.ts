import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { NAVIGATION } from '../support/admin.ts'
import { CENTER_PASSWORD, OWNER, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'

let center: TestCenter
beforeAll(async () => {
  center = await startTestCenter()
})
afterAll(() => center?.stop())

function post(path: string, fields: Record<string, string>, headers: Record<string, string> = NAVIGATION) {
  const body = new URLSearchParams(fields).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  return ask(`${center.url}${path}`, { method: 'POST', headers: { ...headers, ...type }, body })
}

describe('sign-in', () => {
  test('the right password redirects to the requested page', async () => {
    const to = '/o/acme/environments'
    const answer = await post('/sign-in', { username: OWNER, password: CENTER_PASSWORD, to })
    expect([answer.status, answer.headers.location]).toEqual([303, to])
  })

  test('a user who opens "/" signs in, and then gets to their only organisation', async () => {
    const open = (headers = {}) => ask(`${center.url}/`, { headers: { ...NAVIGATION, ...headers } })
    expect((await open()).headers.location).toBe('/sign-in')
    const signedIn = await post('/sign-in', { username: OWNER, password: CENTER_PASSWORD })
    expect(signedIn.headers.location).toBe('/')
    const cookie = (signedIn.headers['set-cookie'] ?? []).map((one) => one.split(';', 1)[0]).join('; ')
    expect((await open({ cookie })).headers.location).toBe('/o/acme')
  })

  test('a wrong password and an unknown name get the same response', async () => {
    const wrong = await post('/sign-in', { username: OWNER, password: 'wrong' })
    const unknown = await post('/sign-in', { username: 'nobody@example.org', password: 'wrong' })
    expect([wrong.status, unknown.status]).toEqual([401, 401])
    for (const answer of [wrong, unknown])
      expect(answer.text).toContain('The email address or password is wrong. Check both and try again.')
  })

  test.each([
    ...['//evil.example/', 'https://evil.example/', '/\\evil.example', '/sign-out'],
    ...['/.//evil.example/', '/o/..//evil.example', '/.\\/evil.example', 'http://center.invalid//evil.example'],
  ])('the sign-in never redirects to another site: %s', async (to) => {
    const answer = await post('/sign-in', { username: OWNER, password: CENTER_PASSWORD, to })
    expect(answer.headers.location).toBe('/')
  })

  test('a form from another origin is rejected', async () => {
    const answer = await post(
      '/sign-in',
      { username: OWNER, password: CENTER_PASSWORD },
      { ...NAVIGATION, 'sec-fetch-site': 'cross-site' },
    )
    expect(answer.status).toBe(403)
  })

  test('a password change during a sign-in ends the sign-in', async () => {
    const username = 'races@example.org'
    const uid = await center.account(username)
    const { users } = center.parts
    const { authenticate } = users
    vi.spyOn(users, 'authenticate').mockImplementationOnce(async (...credentials) => {
      const user = await authenticate(...credentials)
      await users.setPassword(uid, 'one blue boat sails')
      return user
    })
    const answer = await post('/sign-in', { username, password: CENTER_PASSWORD })
    expect(answer.status).toBe(401)
    expect(answer.headers['set-cookie']?.filter((cookie) => !/=;/.test(cookie))).toEqual([])
  })

  test('after sign-out, the session is invalid', async () => {
    const browser = await signInToCenter(center)
    const headers = { ...NAVIGATION, cookie: browser.cookie }
    expect((await browser.get('/organisations')).status).toBe(200)
    await post('/sign-out', { csrf_token: browser.csrfToken }, headers)
    expect((await browser.get('/organisations')).status).toBe(302)
  })
})

test('sessions are found under the name that earlier versions used, so that an upgrade signs nobody out', async () => {
  const { headers } = await post('/sign-in', { username: OWNER, password: CENTER_PASSWORD })
  expect([headers['set-cookie']].flat().some((cookie) => cookie?.startsWith('session-Control-Center='))).toBe(true)
  using db = new DatabaseSync(join(center.home, 'control_center.sqlite'), { readOnly: true })
  expect(db.prepare('select distinct solution from sessions').all()).toEqual([{ solution: 'Control-Center' }])
})

describe('guesses', () => {
  let strict: TestCenter
  beforeAll(async () => {
    const limits = { THROTTLE_ACCOUNT_NETWORK: '5', THROTTLE_ACCOUNT: '20', THROTTLE_NETWORK: '200' }
    strict = await startTestCenter({ ...limits, TRUSTED_PROXIES: '127.0.0.1' })
  })
  afterAll(() => strict?.stop())

  const signIn = (network: number, username: string, password: string, cookie = '') => {
    const body = new URLSearchParams({ username, password }).toString()
    const headers = {
      ...NAVIGATION,
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': `2001:db8:0:${network}::1`,
      ...(cookie === '' ? {} : { cookie }),
    }
    return ask(`${strict.url}/sign-in`, { method: 'POST', headers, body })
  }
  const throttled = async () => {
    const { items } = await strict.parts.audit.read({ organisation: '', limit: 200 })
    return items.filter(({ outcome }) => outcome === 'throttled')
  }

  test('twenty wrong guesses from four networks do not lock owners out of a browser in which they signed in before', async () => {
    const before = await signIn(1, OWNER, CENTER_PASSWORD)
    const cookies = [before.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0])
    const known = String(cookies.find((cookie) => cookie?.includes('known-')))
    for (let tries = 0; tries < 20; tries++) await signIn(10 + (tries % 4), OWNER, 'wrong')
    expect((await signIn(2, OWNER, CENTER_PASSWORD)).status).toBe(429)
    expect((await signIn(2, OWNER, CENTER_PASSWORD, known)).status).toBe(303)
    expect((await signIn(2, 'other@example.org', 'wrong', known)).status).toBe(401)
    // The cookie has no effect for another account.
    const member = 'member@example.org'
    await strict.account(member)
    for (let tries = 0; tries < 20; tries++) await signIn(20 + (tries % 4), member, 'wrong')
    expect((await signIn(2, member, CENTER_PASSWORD, known)).status).toBe(429)
  })

  test('throttled attempts are recorded once per minute, even with different names', async () => {
    const before = (await throttled()).length
    const name = 'guessed@example.org'
    const answers = []
    for (let tries = 0; tries < 15; tries++) answers.push((await signIn(30, name, 'wrong')).status)
    expect(answers.slice(5)).toEqual(Array(10).fill(429))
    for (let tries = 0; tries < 8; tries++) await signIn(30, `${name}.au`, 'wrong')
    expect((await throttled()).length).toBe(before + 1)
  })
})

describe('API', () => {
  test('a page can call the API with its CSRF token; other origins cannot', async () => {
    const browser = await signInToCenter(center)
    expect((await browser.api('GET', 'organisations')).body).toEqual({
      items: [{ name: 'acme', title: 'Acme', role: 'owner' }],
    })
    const wanted = { name: 'dev', type: 'dev' }
    const path = 'organisations/acme/environments'
    expect((await browser.api('POST', path, wanted, { 'x-csrf-token': 'wrong' })).status).toBe(403)
    expect((await browser.api('POST', path, wanted, { 'sec-fetch-site': 'same-site' })).status).toBe(403)
    expect((await browser.api('POST', path, wanted)).status).toBe(201)
  })

  test('without a sign-in, or with an unknown token, the API responds with 401', async () => {
    for (const token of [null, 'scc_wrong', `scc_${'x'.repeat(43)}`]) {
      const answer = await center.api('GET', 'organisations/acme/environments', undefined, token)
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer realm="control-center"'])
    }
  })

  test('a person who is not a member cannot see the organisation', async () => {
    await center.parts.organisations.create({ name: 'other', title: 'Other' }, await center.account('b@example.org'))
    const stranger = await center.tokenOf('owner', 'other')
    expect((await center.api('GET', 'organisations/acme/environments', undefined, stranger)).status).toBe(404)
    const browser = await signInToCenter(center, 'b@example.org')
    expect((await browser.get('/o/acme/environments')).status).toBe(404)
    expect((await browser.get('/o/other/environments')).status).toBe(200)
  })

  test('a user whose role lacks the permission is rejected, and this is recorded once', async () => {
    const viewer = await center.tokenOf('viewer')
    for (let again = 0; again < 2; again++) {
      const answer = await center.api('POST', 'organisations/acme/environments', { name: 'x', type: 'dev' }, viewer)
      expect([answer.status, answer.body.code]).toEqual([403, 'ERR_FORBIDDEN'])
    }
    const { body } = await center.api('GET', 'organisations/acme/activity')
    const items: { action: string; outcome: string; subject: string }[] = body.items
    expect(items.filter(({ outcome }) => outcome === 'ERR_FORBIDDEN')).toMatchObject([
      { action: 'access', subject: 'environments' },
    ])
  })
})

test('a request with an unknown host name, or with two, is rejected', async () => {
  const { host } = new URL(center.url)
  const send = (hosts: readonly string[]) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(center.url).port), '127.0.0.1', () => {
        socket.write(
          `GET /sign-in HTTP/1.1\r\n${hosts.map((one) => `Host: ${one}\r\n`).join('')}Connection: close\r\n\r\n`,
        )
      })
      let answer = ''
      socket.on('data', (chunk) => (answer += String(chunk)))
      socket.on('end', () => resolve(answer.slice(9, 12)))
      socket.on('error', reject)
    })
  expect([await send([host]), await send(['evil.example']), await send([host, 'evil.example'])]).toEqual([
    '200',
    '421',
    '400',
  ])
})
