import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPasswordLinks, LINK_LIFETIME } from '../../control-center/accounts/password-links.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { NAVIGATION } from '../support/admin.ts'
import { CENTER_PASSWORD, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'
import { type ArrivedMail, startMailServer, type TestMailServer } from '../support/mail.ts'

const PASSWORD = 'quiet rivers run at night'
const MAIL_FROM = 'no-reply@example.org'

let server: TestMailServer
let center: TestCenter
beforeAll(async () => {
  server = await startMailServer()
  center = await startTestCenter({ SMTP_URL: server.url, MAIL_FROM })
})
afterAll(async () => {
  await center?.stop()
  await server?.stop()
})

let made = 0
/**
 * Creates another account.
 * @returns its email address
 */
async function account(): Promise<string> {
  const username = `member-${++made}@example.org`
  await center.account(username)
  return username
}

const get = (path: string, at = center) => ask(`${at.url}${path}`, { headers: NAVIGATION })

function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}, at = center) {
  return ask(`${at.url}${path}`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  })
}

const forgot = (username: string, headers: Record<string, string> = {}) =>
  post('/forgot-password', { username }, headers)
const mailsTo = (address: string) => server.mails.filter(({ to }) => to[0] === address)
const linkIn = (mail: ArrivedMail | undefined) => new URL(/https?:\/\/\S+/.exec(mail?.text ?? '')?.[0] ?? '')
const tokenIn = (link: URL) => new URLSearchParams(link.hash.slice(1)).get('token') ?? ''

/** Requests a link and returns its token. */
async function tokenFor(username: string): Promise<string> {
  const before = mailsTo(username).length
  await forgot(username)
  await expect.poll(() => mailsTo(username).length).toBe(before + 1)
  return tokenIn(linkIn(mailsTo(username).at(-1)))
}

const open = (token: string) => post('/new-password', { token })
const choose = (token: string, password: string, repeat = password) =>
  post('/new-password', { token, new: password, repeat })
const signIn = async (username: string, password: string) =>
  (await post('/sign-in', { username, password })).status === 303
const statuses = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status)
const withoutNonces = (text: string) => text.replace(/nonce="[^"]+"/g, '')

async function activityOf(username: string) {
  const { items } = await center.parts.audit.read({ organisation: '', limit: 100, actor: `user:${username}` })
  return items.map(({ action, outcome }) => `${action}: ${outcome}`)
}

describe('a forgotten password', () => {
  test('a password can be reset from the sign-in page if email is configured; otherwise the page says who can help', async () => {
    expect((await get('/sign-in')).text).toContain('href="/forgot-password"')
    const quiet = await startTestCenter()
    try {
      for (const path of ['/sign-in', '/forgot-password']) {
        const { status, text } = await get(path, quiet)
        expect([
          path,
          status,
          text.includes('This control center doesn’t send email. Ask its operator for a new password.'),
        ]).toEqual([path, 200, true])
        expect(text).not.toContain('href="/forgot-password"')
      }
      const answer = await post('/forgot-password', { username: 'owner@example.org' }, {}, quiet)
      expect([answer.status, answer.text.includes('<form method="post"')]).toEqual([200, false])
    } finally {
      await quiet.stop()
    }
  })

  test('a request gets the same response for every name; only an enabled account gets an email', async () => {
    const [known, disabled] = [await account(), await account()]
    const { uid = '' } = (await center.parts.users.find(disabled)) ?? {}
    await center.parts.users.change(uid, { enabled: false })
    const asked = [known, disabled, 'nobody@example.org', '', 'x'.repeat(3000), `${known}\r\nBcc: eve@example.org`]
    const answers = []
    for (const username of asked) answers.push(await forgot(username))
    const [first, ...others] = answers.map(({ status, headers, text }) => {
      const { date: _date, 'x-correlation-id': _id, 'content-security-policy': _policy, ...rest } = headers
      return [status, rest, withoutNonces(text)]
    })
    expect(first?.[0]).toBe(200)
    for (const other of others) expect(other).toEqual(first)
    await center.parts.forgottenPasswords.settle()
    await expect.poll(() => mailsTo(known).length).toBe(1)
    expect(mailsTo(disabled).length + mailsTo('nobody@example.org').length).toBe(0)
    expect(server.mails.flatMap(({ to }) => to)).not.toContain('eve@example.org')
    expect(await activityOf(known)).toEqual(['password-forgotten: ok'])
    expect(await activityOf(disabled)).toEqual(['password-forgotten: refused'])
  })

  test('the email is plain text in the browser’s language, and its token is only in the fragment of the link', async () => {
    const username = await account()
    await forgot(username, { 'accept-language': 'nl-BE' })
    await expect.poll(() => mailsTo(username).length).toBe(1)
    const [mail] = mailsTo(username)
    expect(mail?.subject).toBe('Wachtwoord voor het control center opnieuw instellen')
    expect(mail?.raw).toMatch(/^Content-Type: text\/plain/im)
    expect(mail?.text).toContain('verloopt na 1 uur.')
    const link = linkIn(mail)
    expect([link.origin, link.pathname, link.search]).toEqual([center.url, '/new-password', ''])
    expect(link.hash).toMatch(/^#token=[A-Za-z0-9_-]{43}$/)
    const page = await ask(String(link), { headers: NAVIGATION })
    expect([page.status, page.text.includes(username)]).toEqual([200, false])
    expect((await get(`/new-password/${tokenIn(link)}`)).status).toBe(404)
  })

  test('the email goes to the stored address, not to a similar one', async () => {
    const username = await account()
    await forgot(` ${username.replace('member', 'ｍｅｍｂｅｒ').toUpperCase()} `)
    await expect.poll(() => mailsTo(username).length).toBe(1)
    expect(server.mails.at(-1)?.to).toEqual([username])
  })

  test('the link in the email begins with PUBLIC_URL, whatever host name the request used', async () => {
    const published = await startTestCenter({ SMTP_URL: server.url, MAIL_FROM, PUBLIC_URL: 'http://localhost:8090' })
    try {
      await published.account('published@example.org')
      await post('/forgot-password', { username: 'published@example.org' }, {}, published)
      await expect.poll(() => mailsTo('published@example.org').length).toBe(1)
      expect(linkIn(mailsTo('published@example.org')[0]).origin).toBe('http://localhost:8090')
    } finally {
      await published.stop()
    }
  })

  test('an account gets at most three emails an hour', async () => {
    const username = await account()
    for (let again = 0; again < 5; again++) await forgot(username)
    await center.parts.forgottenPasswords.settle()
    await expect.poll(() => mailsTo(username).length).toBe(3)
    const sent = (await activityOf(username)).filter((entry) => entry === 'password-forgotten: ok')
    expect(sent).toHaveLength(3)
  })

  test('refused requests are recorded once per minute, even with different names', async () => {
    const strict = await startTestCenter({ SMTP_URL: server.url, MAIL_FROM })
    try {
      for (let number = 0; number < 6; number++) {
        await post('/forgot-password', { username: `unknown-${number}@example.org` }, {}, strict)
      }
      await strict.parts.forgottenPasswords.settle()
      const { items } = await strict.parts.audit.read({ organisation: '', limit: 100, action: 'password-forgotten' })
      const seen = items.map(({ actor, outcome }) => [actor, outcome])
      expect(seen).toEqual([['user:unknown-0@example.org', 'refused']])
    } finally {
      await strict.stop()
    }
  })

  test('the number of reset requests is limited per account and per network', async () => {
    for (const [limit, names] of [
      ['THROTTLE_ACCOUNT_NETWORK', ['anna', 'anna', 'anna']],
      ['THROTTLE_NETWORK', ['anna', 'bert', 'cora']],
    ] as const) {
      const strict = await startTestCenter({ SMTP_URL: server.url, MAIL_FROM, [limit]: '2' })
      try {
        const answers = []
        for (const name of names) {
          answers.push(await post('/forgot-password', { username: `${name}@example.org` }, {}, strict))
        }
        expect([limit, statuses(answers)]).toEqual([limit, [200, 200, 429]])
        expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(0)
      } finally {
        await strict.stop()
      }
    }
  })

  test('a request from another site’s page is rejected', async () => {
    const foreign = { 'sec-fetch-site': 'cross-site' }
    expect((await forgot('owner@example.org', foreign)).status).toBe(403)
    expect((await post('/new-password', { token: 'x' }, foreign)).status).toBe(403)
  })
})

describe('the link for a new password', () => {
  test('the link can be used once, ends all sessions and signs nobody in; the token is in no log, audit log or row', async () => {
    const username = await account()
    const before = await signInToCenter(center, username)
    const token = await tokenFor(username)
    expect((await open(token)).text).toContain(username)
    const chosen = await choose(token, PASSWORD)
    expect([chosen.status, chosen.headers.location]).toEqual([303, '/sign-in?password-changed'])
    expect(chosen.headers['set-cookie']).toBeUndefined()
    expect((await before.get('/organisations')).status).toBe(302)
    expect([await signIn(username, CENTER_PASSWORD), await signIn(username, PASSWORD)]).toEqual([false, true])
    expect(statuses([await choose(token, 'another good password'), await open(token)])).toEqual([404, 404])
    const { items } = await center.parts.audit.read({ organisation: '', limit: 100 })
    expect(items).toContainEqual(expect.objectContaining({ actor: `user:${username}`, action: 'password-reset' }))
    expect(center.logged() + JSON.stringify(items)).not.toContain(token)
  })

  test('the link remains valid after a password is rejected', async () => {
    const username = await account()
    const token = await tokenFor(username)
    const [name = ''] = username.split('@')
    for (const refused of [
      await choose(token, 'short'),
      await choose(token, `${name} and more`),
      await choose(token, PASSWORD, 'another one'),
      // The account already has this password.
      await choose(token, CENTER_PASSWORD),
    ]) {
      expect([refused.status, refused.text.includes('id="refusal"')]).toEqual([422, true])
    }
    expect((await choose(token, PASSWORD)).status).toBe(303)
    expect(await signIn(username, PASSWORD)).toBe(true)
  })

  test('if two requests use the link at the same time, one succeeds, and the other is rejected as expired', async () => {
    const token = await tokenFor(await account())
    const both = await Promise.all([choose(token, PASSWORD), choose(token, 'another good password')])
    expect(statuses(both).toSorted()).toEqual([303, 404])
  })

  test('the link becomes invalid after any change of password or address, and while the account is disabled', async () => {
    const { users } = center.parts
    const username = await account()
    const { uid = '' } = (await users.find(username)) ?? {}
    const [first, second] = [await tokenFor(username), await tokenFor(username)]
    expect(statuses([await open(first), await open(second)])).toEqual([200, 200])
    expect((await choose(second, PASSWORD)).status).toBe(303)
    expect((await open(first)).status).toBe(404)

    const third = await tokenFor(username)
    await users.change(uid, { enabled: false })
    expect(statuses([await open(third), await choose(third, 'another good password')])).toEqual([404, 404])
    await users.change(uid, { enabled: true })
    expect((await open(third)).status).toBe(200)
    await users.change(uid, { email: 'moved@example.org' })
    expect((await open(third)).status).toBe(404)
  })

  test('the response is the same for a link that never existed and one that has expired, and attempts are throttled', async () => {
    const strict = await startTestCenter({ THROTTLE_NETWORK: '3' })
    try {
      const answers = []
      for (const token of ['', 'x'.repeat(43), '../../etc', 'x'.repeat(43)]) {
        answers.push(await post('/new-password', { token, new: PASSWORD, repeat: PASSWORD }, {}, strict))
      }
      expect(statuses(answers)).toEqual([404, 404, 404, 429])
    } finally {
      await strict.stop()
    }
  })

  test('the link expires after an hour and is deleted; only a hash of its token is stored', async () => {
    const username = await account()
    const { uid = '' } = (await center.parts.users.find(username)) ?? {}
    await using stack = new AsyncDisposableStack()
    const db = await openCenterDatabase({ ...center.parts.settings })
    stack.defer(() => db.destroy())
    const clock = { now: Date.now() }
    const links = createPasswordLinks(db, center.parts.users, () => clock.now)
    const rows = () => db.selectFrom('password_links').selectAll().where('uid', '=', uid).execute()
    const token = (await links.create(uid)) ?? ''
    expect([(await rows()).length, JSON.stringify(await rows()).includes(token)]).toEqual([1, false])
    clock.now += LINK_LIFETIME - 1
    await links.sweep()
    expect(await links.find(token)).toEqual({ username })
    clock.now += 1
    expect([await links.find(token), await links.choosePassword(token, PASSWORD)]).toEqual([null, 'over'])
    await links.sweep()
    expect(await rows()).toEqual([])
  })
})
