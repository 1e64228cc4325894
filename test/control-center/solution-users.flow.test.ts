import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AuthenticateAnswer } from '../../base/protocol/protocol.ts'
import { NAVIGATION } from '../support/admin.ts'
import { type ApiAnswer, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'
import { linkOf, startMailServer, type TestMailServer } from '../support/mail.ts'

const PASSWORD = 'correct horse battery'
const USERS = 'organisations/acme/solutions/crm/users'
const ROLES = 'organisations/acme/solutions/crm/roles'

let server: TestMailServer
let center: TestCenter
let satellite: { readonly id: string; readonly token: string }
beforeAll(async () => {
  server = await startMailServer()
  center = await startTestCenter({ SMTP_URL: server.url, MAIL_FROM: 'no-reply@example.org' })
  satellite = await center.environment('plant')
  await center.parts.environments.addSolution(satellite.id, 'crm')
})
afterAll(async () => {
  await center?.stop()
  await server?.stop()
})

/** Sends a request as a Satellite. */
async function asked(
  path: string,
  body: object,
  token = satellite.token,
  at = center,
  more: Record<string, string> = {},
) {
  const answer = await ask(`${at.url}/satellite/v1/solutions/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
  })
  return { status: answer.status, headers: answer.headers, body: JSON.parse(answer.text) }
}

async function signIn(username: string, password: string, solution = 'crm') {
  const { status, body } = await asked(`${solution}/authenticate`, { username, password, address: '192.0.2.1' })
  expect(status).toBe(200)
  return AuthenticateAnswer.parse(body)
}

let count = 0
/** Creates another user with a permission. */
async function user(fields: object = {}): Promise<ApiAnswer['body']> {
  const username = `user-${++count}`
  const wanted = { username, email: `${username}@example.org`, permissions: ['Users'], ...fields }
  const { status, body } = await center.api('POST', USERS, wanted)
  expect(body).toMatchObject({ username: wanted.username })
  expect(status).toBe(201)
  return body
}

const post = (page: string, fields: Record<string, string>, headers: Record<string, string> = NAVIGATION) =>
  ask(page, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
/** Posts a link's token, as the script on the link's page does. */
const follow = (link: string, fields: Record<string, string> = {}, headers?: Record<string, string>) => {
  const { origin, pathname, hash } = new URL(link)
  return post(`${origin}${pathname}`, { ...Object.fromEntries(new URLSearchParams(hash.slice(1))), ...fields }, headers)
}
const open = (link: string) => follow(link)
const choose = (link: string, password: string) => follow(link, { new: password, repeat: password })
const mailTo = (address: string) => expect.poll(() => server.mails.at(-1)?.to).toEqual([address])
const mailsTo = (address: string) => server.mails.filter(({ to }) => to[0] === address).length
const refused = { outcome: 'refused', reason: 'credentials' }

describe('users in the API', () => {
  test('a user can be added, found, changed and deleted', async () => {
    await center.api('PUT', `${ROLES}/Sales`, { permissions: ['Orders', 'Customers'] })
    const { uid } = await user({ username: 'Änna', email: 'Anna@example.org', roles: ['Sales'], tenant: ['north', 7] })
    for (const search of ['änn', 'ÄNNA', 'anna@']) {
      const { body } = await center.api('GET', `${USERS}?search=${encodeURIComponent(search)}`)
      expect(body.items).toMatchObject([{ uid, username: 'Änna', roles: ['Sales'], tenant: ['north', 7] }])
    }
    expect((await center.api('GET', `${USERS}?search=${encodeURIComponent('%')}`)).body.items).toEqual([])
    const change = { displayName: 'Anna', permissions: ['Orders', 'Users'], locale: 'de' }
    expect((await center.api('PATCH', `${USERS}/${uid}`, change)).body).toMatchObject({ ...change, roles: ['Sales'] })
    expect((await center.api('DELETE', `${USERS}/${uid}`)).status).toBe(204)
    expect((await center.api('GET', `${USERS}/${uid}`)).body.code).toBe('ERR_USER_NOT_FOUND')
  })

  test('users are listed in pages', async () => {
    for (const name of ['a', 'b', 'c']) {
      await center.api('POST', 'organisations/acme/solutions/paged/users', { username: name })
    }
    const first = (await center.api('GET', 'organisations/acme/solutions/paged/users?limit=2')).body
    expect([first.items.length, first.next]).toEqual([2, 'b'])
    const rest = (await center.api('GET', 'organisations/acme/solutions/paged/users?limit=2&after=b')).body
    expect(rest.items.map(({ username }: { username: string }) => username)).toEqual(['c'])
    expect(rest.next).toBeUndefined()
  })

  test.each([
    [{ username: ' ' }, 'username'],
    [{ username: 'x', email: 'a@example.org, b@example.org' }, 'email address'],
    [{ username: 'x', roles: ['Nobody'] }, 'has no role'],
    [{ username: 'x', password: 'short' }, 'at least'],
    [{ username: 'x', permissions: ['a\u202eb'] }, 'visible'],
    [{ username: 'x', tenant: [] }, 'tenant'],
    [{ username: 'x', tenant: [7, 'north\nsouth'] }, 'tenant[1]: must be one line without control characters'],
    [{ username: 'x', isAdmin: true }, 'isAdmin'],
  ])('%j is rejected', async (wanted, what) => {
    const { status, body } = await center.api('POST', USERS, wanted)
    expect(status).toBe(422)
    expect(body.detail).toContain(what)
  })

  test('a name is unique within a solution, ignoring case; other solutions and organisations have separate users', async () => {
    await user({ username: 'Bert' })
    expect((await center.api('POST', USERS, { username: 'BERT' })).body.code).toBe('ERR_NAME_EXISTS')
    const { uid } = await user({ username: 'Cora' })
    expect((await center.api('PATCH', `${USERS}/${uid}`, { username: 'bert' })).body.code).toBe('ERR_NAME_EXISTS')
    expect((await center.api('POST', USERS.replace('crm', 'shop'), { username: 'Bert' })).status).toBe(201)
    expect((await center.api('GET', `${USERS.replace('crm', 'shop')}/${uid}`)).status).toBe(404)
  })

  test('developers and viewers cannot see users, and operators cannot design pages', async () => {
    for (const role of ['developer', 'viewer'] as const) {
      const token = await center.tokenOf(role)
      for (const path of [USERS, ROLES]) expect((await center.api('GET', path, undefined, token)).status).toBe(403)
      const { body } = await center.api('GET', 'organisations/acme/solutions', undefined, token)
      expect(body.items[0]).not.toHaveProperty('users')
    }
    const operator = await center.tokenOf('operator')
    const page = 'organisations/acme/solutions/crm/login-page'
    expect((await center.api('GET', page, undefined, operator)).status).toBe(403)
    expect((await center.api('DELETE', 'organisations/acme/solutions/crm', undefined, operator)).status).toBe(403)
  })

  test('changes are recorded, without passwords', async () => {
    await user({ username: 'noted', password: PASSWORD })
    const { body } = await center.api('GET', 'organisations/acme/activity')
    expect(body.items).toContainEqual(
      expect.objectContaining({ action: 'solution-user-create', subject: 'crm noted', outcome: 'ok' }),
    )
    expect(JSON.stringify(body) + center.logged()).not.toContain(PASSWORD)
  })
})

describe('requests from Satellites', () => {
  test('for the right password, the response has the permissions from roles and the user’s own, without duplicates', async () => {
    await center.api('PUT', `${ROLES}/Clerk`, { permissions: ['Orders', 'Users'] })
    const { uid, username } = await user({ password: PASSWORD, roles: ['Clerk'], tenant: ['north', 7] })
    const permissions = ['Orders', 'Users']
    const tenant = ['north', 7]
    expect(await signIn(username, PASSWORD)).toEqual({ outcome: 'accepted', uid, username, permissions, tenant })
    expect((await center.api('GET', `${USERS}/${uid}`)).body.lastLoginAt).toBeGreaterThan(0)
    await center.api('DELETE', `${ROLES}/Clerk`)
    expect(await signIn(username, PASSWORD)).toMatchObject({ permissions: ['Users'] })
  })

  test('a wrong password and an unknown, disabled, passwordless or unauthorized user get the same response', async () => {
    const right = await user({ password: PASSWORD })
    expect(await signIn(right.username, 'wrong')).toEqual(refused)
    expect(await signIn('nobody at all', PASSWORD)).toEqual(refused)
    const disabled = await user({ password: PASSWORD, enabled: false })
    expect(await signIn(disabled.username, PASSWORD)).toEqual(refused)
    expect(await signIn((await user()).username, '')).toEqual(refused)
    expect(await signIn((await user({ password: PASSWORD, permissions: [] })).username, PASSWORD)).toEqual(refused)
  })

  test('the page’s additional fields are checked after the password, and a failure gets the same response', async () => {
    const labels = { default: 'x' }
    const fields = [
      { name: 'custom_site', type: 'text', required: true, isTenant: true, labels },
      { name: 'custom_kind', type: 'select', labels, options: [{ value: 'day', labels }] },
    ]
    const page = 'organisations/acme/solutions/crm/login-page'
    const { body: before } = await center.api('GET', page)
    expect((await center.api('PUT', page, { design: { ...before.design, fields } })).status).toBe(201)
    const { username } = await user({ password: PASSWORD, tenant: ['north', 7] })
    const outcomeOf = async (custom?: object) => {
      const asking = { username, password: PASSWORD, address: '192.0.2.1', ...(custom && { custom }) }
      return (await asked('crm/authenticate', asking)).body.outcome
    }
    expect(await outcomeOf({ custom_site: 'north' })).toBe('accepted')
    expect(await outcomeOf({ custom_site: ' 7 ', custom_kind: 'day', custom_other: 'x' })).toBe('accepted')
    for (const custom of [undefined, {}, { custom_site: 'south' }, { custom_site: 'north', custom_kind: 'night' }]) {
      expect([custom, await outcomeOf(custom)]).toEqual([custom, 'refused'])
    }
    await center.api('PUT', page, { design: before.design })
    expect(center.logged()).not.toContain('custom_')
  })

  test('an environment can only access its own solutions', async () => {
    const { username } = await user({ password: PASSWORD })
    const other = await center.environment('other')
    const body = { username, password: PASSWORD, address: '192.0.2.1' }
    const answer = await asked('crm/authenticate', body, other.token)
    expect([answer.status, answer.body.code]).toEqual([404, 'ERR_SOLUTION_NOT_FOUND'])
    expect((await asked('shop/authenticate', body)).status).toBe(404)
    expect((await asked('crm/refresh', { uid: 'x', since: 0 }, other.token)).status).toBe(404)
    expect((await asked('crm/authenticate', body, 'ret_wrong')).status).toBe(401)
  })

  test('a refresh returns the current permissions, and fails after disabling, a new password or deletion', async () => {
    const { uid } = await user({ password: PASSWORD })
    const refresh = async (since = Date.now() + 60_000) =>
      AuthenticateAnswer.parse((await asked('crm/refresh', { uid, since })).body)
    expect(await refresh()).toMatchObject({ outcome: 'accepted', permissions: ['Users'] })
    await center.api('PATCH', `${USERS}/${uid}`, { permissions: ['Orders'] })
    expect(await refresh()).toMatchObject({ permissions: ['Orders'] })
    // The session began before the password was last changed.
    expect(await refresh(1)).toEqual(refused)
    await center.api('PATCH', `${USERS}/${uid}`, { enabled: false })
    expect(await refresh()).toEqual(refused)
    // Repeated requests add only one audit entry.
    const acts = await center.api('GET', 'organisations/acme/activity?action=solution-refresh')
    expect(acts.body.items).toHaveLength(1)
    await center.api('DELETE', `${USERS}/${uid}`)
    expect(await refresh()).toEqual(refused)
  })

  test.each([-3_600_000, 3_600_000])(
    'a remembered login from before a password change is rejected, and a later one is accepted, if the Satellite’s clock differs by %i ms',
    async (difference) => {
      const { uid } = await user({ password: PASSWORD })
      const refresh = async (age: number) => {
        const clock = Date.now() + difference
        const more = { 'solhost-clock': String(clock) }
        const body = { uid, since: clock - age }
        return AuthenticateAnswer.parse((await asked('crm/refresh', body, satellite.token, center, more)).body)
      }
      expect(await refresh(60_000)).toEqual(refused)
      expect(await refresh(0)).toMatchObject({ outcome: 'accepted' })
    },
  )

  test('guesses are throttled by account and network, even for unknown names', async () => {
    const strict = await startTestCenter({
      THROTTLE_ACCOUNT_NETWORK: '3',
      THROTTLE_ACCOUNT: '5',
      THROTTLE_NETWORK: '4',
    })
    try {
      const { id, token } = await strict.environment('plant')
      await strict.parts.environments.addSolution(id, 'crm')
      const second = await strict.environment('second')
      await strict.parts.environments.addSolution(second.id, 'crm')
      await strict.api('POST', USERS, { username: 'anna', password: PASSWORD, permissions: ['Users'] })
      const guess = (username: string, address: string, password = 'wrong', by = token) =>
        asked('crm/authenticate', { username, password, address }, by, strict)
      for (const name of ['anna', 'nobody']) {
        const answers = []
        for (let again = 0; again < 4; again++) answers.push(await guess(name, `192.0.2.${name.length}`))
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
        expect(Number(answers[3]?.headers['retry-after'])).toBeGreaterThan(0)
      }
      expect((await guess('anna', '198.51.100.7', PASSWORD)).body).toMatchObject({ outcome: 'accepted' })
      // Failures that one Satellite reports for an account and network don't throttle users of another Satellite.
      expect((await guess('anna', '192.0.2.4', PASSWORD, second.token)).body).toMatchObject({ outcome: 'accepted' })
      // A Satellite could invent addresses, so there is another limit for all addresses together.
      let status = 200
      for (let at = 0; status === 200 && at < 200; at++) {
        status = (await asked('crm/refresh', { uid: `nobody-${at}`, since: 0 }, token, strict)).status
      }
      expect(status).toBe(429)
      expect((await guess('anna', '203.0.113.9', PASSWORD)).status).toBe(429)
      expect((await guess('anna', '203.0.113.9', PASSWORD, second.token)).status).toBe(200)
    } finally {
      await strict.stop()
    }
  })

  test('the routes are documented', async () => {
    const { text } = await ask(`${center.url}/satellite/v1/openapi.json`)
    const paths = Object.keys(JSON.parse(text).paths)
    const one = '/satellite/v1/solutions/{solution}'
    expect(paths).toEqual(expect.arrayContaining([`${one}/login-page`, `${one}/authenticate`, `${one}/refresh`]))
  })
})

describe('links', () => {
  test('an invitation is mailed; its link lets the user choose a password, once', async () => {
    const { uid, username, email, mailedTo } = await user({ invite: true, locale: 'nl', displayName: 'Änna' })
    expect(mailedTo).toBe(email)
    await mailTo(email)
    expect(server.mails.at(-1)?.text).toContain('Hallo Änna,')
    expect(server.mails.at(-1)?.text).toContain('verloopt na 7 dagen.')
    const link = linkOf(server)
    expect(JSON.stringify((await center.api('GET', `${USERS}/${uid}`)).body)).not.toContain(link.split('=').at(-1))
    // The token is in the fragment, so proxies and servers never receive it. The page is the same for every link.
    const first = await ask(link, { headers: NAVIGATION })
    expect([first.status, new URL(link).pathname, first.text.includes(username)]).toEqual([200, '/user-link', false])
    expect((await ask(link.replace('#token=', '/'), { headers: NAVIGATION })).status).toBe(404)
    const page = await open(link)
    expect([page.status, page.text.includes(username)]).toEqual([200, true])
    expect((await choose(link, 'short')).text).toContain('at least 8')
    expect((await choose(link, username)).status).toBe(422)
    expect((await follow(link, { new: PASSWORD, repeat: 'another one' })).status).toBe(422)
    const foreign = await follow(link, { new: PASSWORD, repeat: PASSWORD }, { 'sec-fetch-site': 'cross-site' })
    expect(foreign.status).toBe(403)
    expect(await signIn(username, PASSWORD)).toEqual(refused)
    expect((await choose(link, PASSWORD)).status).toBe(200)
    expect(await signIn(username, PASSWORD)).toMatchObject({ outcome: 'accepted' })
    // Anyone who opens the mailed link has access to the mailbox, so the address is verified.
    expect((await center.api('GET', `${USERS}/${uid}`)).body.emailVerifiedAt).toBeGreaterThan(0)
    expect((await choose(link, 'another good password')).status).toBe(404)
    expect((await open(link)).status).toBe(404)
    expect(center.logged()).not.toContain(link.split('=').at(-1))
  })

  test('if two requests use a link at the same time, one is rejected as expired', async () => {
    const { email } = await user({ invite: true })
    await mailTo(email)
    const link = linkOf(server)
    const both = await Promise.all([choose(link, PASSWORD), choose(link, 'another good password')])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 404])
  })

  test('a newer link, a changed password or address, and disabling the user invalidate a link', async () => {
    const linkFor = async (uid: string, email: string, kind = 'reset') => {
      const before = mailsTo(email)
      expect((await center.api('POST', `${USERS}/${uid}/links`, { kind })).body).toMatchObject({ mailedTo: email })
      await expect.poll(() => mailsTo(email)).toBe(before + 1)
      return linkOf(server)
    }
    const { uid, email } = await user({ password: PASSWORD })
    const first = await linkFor(uid, email)
    const second = await linkFor(uid, email)
    expect([(await open(first)).status, (await open(second)).status]).toEqual([404, 200])
    await center.api('PATCH', `${USERS}/${uid}`, { password: 'another good password' })
    expect((await open(second)).status).toBe(404)
    const third = await linkFor(uid, email)
    await center.api('PATCH', `${USERS}/${uid}`, { enabled: false })
    expect((await open(third)).status).toBe(404)
    await center.api('PATCH', `${USERS}/${uid}`, { enabled: true })
    expect((await open(third)).status).toBe(200)
    await center.api('PATCH', `${USERS}/${uid}`, { email: 'new@example.org' })
    expect((await choose(third, PASSWORD)).status).toBe(404)
  })

  test('without a mail server, the operator sees the link, and using it does not verify an address', async () => {
    const quiet = await startTestCenter()
    try {
      const wanted = { username: 'anna', email: 'anna@example.org', permissions: ['Users'], invite: true }
      const { body } = await quiet.api('POST', USERS, wanted)
      expect(body.link).toMatch(new RegExp(`^${quiet.url}/user-link#token=[A-Za-z0-9_-]{43}$`))
      expect((await choose(body.link, PASSWORD)).status).toBe(200)
      const after = (await quiet.api('GET', `${USERS}/${body.uid}`)).body
      expect([after.passwordChangedAt > 0, after.emailVerifiedAt]).toEqual([true, null])
      const { status } = await quiet.api('POST', `${USERS}/${body.uid}/links`, { kind: 'verification' })
      expect(status).toBe(422)
    } finally {
      await quiet.stop()
    }
  })

  test('an unconfirmed address is reported only after the right password, and an email is sent', async () => {
    const { uid, username, email } = await user({ password: PASSWORD, mustVerifyEmail: true })
    expect(await signIn(username, 'wrong')).toEqual(refused)
    expect(mailsTo(email)).toBe(0)
    expect(await signIn(username, PASSWORD)).toEqual({ outcome: 'refused', reason: 'verify' })
    await mailTo(email)
    const link = linkOf(server)
    // Mail scanners open links, so a GET request must not confirm the address.
    expect((await open(link)).status).toBe(200)
    expect(await signIn(username, PASSWORD)).toMatchObject({ reason: 'verify' })
    expect((await follow(link, { confirm: 'yes' })).status).toBe(200)
    expect(await signIn(username, PASSWORD)).toMatchObject({ outcome: 'accepted' })
    const { body } = await center.api('PATCH', `${USERS}/${uid}`, { email: 'other@example.org' })
    expect(body.emailVerifiedAt).toBeNull()
    expect(await signIn(username, PASSWORD)).toMatchObject({ reason: 'verify' })
  })
})

describe('a forgotten password', () => {
  const forgot = (solution = 'crm', organisation = 'acme') =>
    `${center.url}/forgot-password/${organisation}/${solution}`
  const withoutNonces = (text: string) => text.replace(/nonce="[^"]+"/g, '')

  test('the page is the same for every user and every possible solution', async () => {
    const { username, email } = await user({ password: PASSWORD })
    const pages = [
      await post(forgot(), { username }),
      await post(forgot(), { username: 'nobody at all' }),
      await post(forgot('crm', 'none'), { username }),
    ]
    const [first, ...others] = pages.map(({ status, text }) => [status, withoutNonces(text)])
    expect(first?.[0]).toBe(200)
    for (const other of others) expect(other).toEqual(first)
    await mailTo(email)
    expect((await choose(linkOf(server), 'another good password')).status).toBe(200)
    expect(await signIn(username, 'another good password')).toMatchObject({ outcome: 'accepted' })
    expect((await ask(forgot('Not-A-Name'), { headers: NAVIGATION })).status).toBe(404)
  })

  test('links on the login page and in emails open pages with the login page’s design; a guessed URL does not', async () => {
    const { username, email } = await user({ password: PASSWORD })
    const names = { organisation: 'acme', solution: 'crm' }
    const logo =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const light = { background: '#fff8e7', text: '#222222', accent: '#7a2e00' }
    const design = { logo, colours: { light, dark: null }, texts: { default: { logo: 'Acme <b>' } }, fields: [] }
    expect((await center.api('PUT', 'organisations/acme/solutions/crm/login-page', { design })).status).toBe(201)
    const isDesigned = (text: string) => {
      const found = ['--paper: #fff8e7', `src="${logo}" alt="Acme &lt;b&gt;"`, '· crm</title>'].map((one) =>
        text.includes(one),
      )
      expect(new Set(found).size).toBe(1)
      expect(text.includes('Control center</span>')).toBe(!found[0])
      return found[0]
    }
    const page = async (url: string) => isDesigned((await ask(url, { headers: NAVIGATION })).text)
    const address = center.parts.forgotAddress.of(center.url, names)
    expect(await page(address)).toBe(true)
    expect(isDesigned((await post(address, { username })).text)).toBe(true)
    expect(await page(forgot())).toBe(false)
    expect(await page(address.replace('/crm', '/other'))).toBe(false)
    expect(await page(`${address}x`)).toBe(false)
    await mailTo(email)
    const link = linkOf(server)
    expect(isDesigned((await follow(link)).text)).toBe(true)
    expect(isDesigned((await choose(link, 'another good password')).text)).toBe(true)
  })

  test('an email address can be used in place of the username, and at most three emails are sent', async () => {
    const { email } = await user({ password: PASSWORD })
    for (let again = 0; again < 5; again++) await post(forgot(), { username: email.toUpperCase() })
    await center.parts.passwordRequests.settle()
    await expect.poll(() => mailsTo(email)).toBe(3)
  })

  test('repeated requests are throttled', async () => {
    const strict = await startTestCenter({ THROTTLE_ACCOUNT_NETWORK: '2' })
    try {
      const page = `${strict.url}/forgot-password/acme/crm`
      const statuses = []
      for (let again = 0; again < 3; again++) statuses.push((await post(page, { username: 'anna' })).status)
      expect(statuses).toEqual([200, 200, 429])
    } finally {
      await strict.stop()
    }
  })
})

test('a solution can be added before it has a package, and deleting it deletes everything stored for it', async () => {
  const all = 'organisations/acme/solutions'
  expect((await center.api('POST', all, { name: 'Not-A-Name' })).status).toBe(422)
  expect((await center.api('POST', all, { name: 'early' })).body).toEqual({ name: 'early', users: 0, loginPage: null })
  await center.api('POST', `${all}/early/users`, { username: 'anna' })
  const named = async () =>
    (await center.api('GET', all)).body.items.find((one: { name: string }) => one.name === 'early')
  expect(await named()).toMatchObject({ users: 1 })
  expect((await center.api('DELETE', `${all}/early`)).status).toBe(204)
  expect(await named()).toBeUndefined()
})
