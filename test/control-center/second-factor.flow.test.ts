import { execFile } from 'node:child_process'
import { join as joinPath } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { resetSecondFactor } from '../../control-center/reset-second-factor.ts'
import { NAVIGATION } from '../support/admin.ts'
import { codeOf, firstCodeOf, readNewApp, recoveryCodesIn, wrongCode } from '../support/authenticator-app.ts'
import { CENTER_PASSWORD, OWNER, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask, createVisitor } from '../support/http.ts'
import { startMailServer, type TestMailServer } from '../support/mail.ts'
import { createPasskeyDevice, passkeyOptionsIn } from '../support/passkey-device.ts'

// Tests second factors of the control center's users.

let mail: TestMailServer
let center: TestCenter
let mailSettings: Record<string, string>
beforeAll(async () => {
  mail = await startMailServer()
  mailSettings = { SMTP_URL: mail.url, MAIL_FROM: 'no-reply@example.org' }
  center = await startTestCenter({ ...mailSettings, HOST: 'localhost' })
})
afterAll(async () => {
  await center?.stop()
  await mail?.stop()
})

/** A browser on the control center's pages. */
function browserOf(username: string, at: TestCenter = center) {
  const visitor = createVisitor(at.url, NAVIGATION)
  const cookieHeader = () => [...visitor.cookies].map(([name, { value }]) => `${name}=${value}`).join('; ')
  return {
    ...visitor,
    signIn: (to = '/organisations') => visitor.post('/sign-in', { username, password: CENTER_PASSWORD, to }),
    isSignedIn: async () => (await visitor.get('/organisations')).status === 200,
    async api(method: string, path: string, body?: unknown) {
      const page = await visitor.get('/organisations')
      const csrf = /name="csrf-token" content="([^"]+)"/.exec(page.text)?.[1] ?? ''
      const answer = await ask(`${at.url}/api/${path}`, {
        method,
        headers: {
          cookie: cookieHeader(),
          'x-csrf-token': csrf,
          'sec-fetch-site': 'same-origin',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: answer.status, body: answer.text === '' ? undefined : JSON.parse(answer.text) }
    },
  }
}
type Browser = ReturnType<typeof browserOf>

/** Adds an authenticator app on the account page. */
async function addApp(browser: Browser) {
  await browser.get('/account')
  const page = await browser.post('/account', { act: 'new-app' })
  const { setup, secret } = readNewApp(page.text)
  const added = await browser.post('/account', { act: 'add-app', setup, code: await firstCodeOf(secret) })
  return { secret, recoveryCodes: recoveryCodesIn(added.text) }
}

/** Creates an account that is a member of these organisations. */
async function member(name: string, ...organisations: readonly string[]) {
  const username = `${name}@example.org`
  const uid = await center.account(username)
  for (const one of organisations) await join({ username, uid }, one)
  return { username, uid }
}

async function join({ username, uid }: { readonly username: string; readonly uid: string }, organisation: string) {
  const found = await center.parts.organisations.find(organisation)
  const wanted = { email: username, role: 'viewer', invitedBy: 'test' } as const
  const { token } = await center.parts.invitations.create(found?.id ?? '', wanted)
  await center.parts.invitations.accept(token, uid)
}

/**
 * Backdates the confirmations in an account's sessions, so that they have expired. Call this before opening a page with
 * these sessions.
 */
function letConfirmationsExpire(username: string): void {
  using db = new DatabaseSync(joinPath(center.home, 'control_center.sqlite'))
  db.prepare('update sessions set confirmed_at = ? where username = ?').run(Date.now() - 301_000, username)
}

async function actionsOf(organisation: string, action: string) {
  const found = organisation === '' ? { id: '' } : await center.parts.organisations.find(organisation)
  const { items } = await center.parts.audit.read({ organisation: found?.id ?? '', limit: 200, action })
  return items
}

describe('a person with an authenticator app', () => {
  const anna = 'anna@example.org'
  let secret = ''
  let recoveryCodes: readonly string[] = []

  test('a person adds an authenticator app on the account page, which ends their other sessions, and gets an email', async () => {
    await member('anna', 'acme')
    const [browser, other] = [browserOf(anna), browserOf(anna)]
    for (const one of [browser, other]) expect((await one.signIn()).headers.location).toBe('/organisations')
    await browser.get('/account')
    const { setup } = readNewApp((await browser.post('/account', { act: 'new-app' })).text)
    expect((await browser.post('/account', { act: 'add-app', setup, code: '12345' })).status).toBe(401)
    ;({ secret, recoveryCodes } = await addApp(browser))
    expect(recoveryCodes).toHaveLength(10)
    expect([await browser.isSignedIn(), await other.isSignedIn()]).toEqual([true, false])
    expect((await browser.get('/account')).text).toContain('Recovery codes left: 10.')
    await expect.poll(() => mail.mails.at(-1)).toMatchObject({ to: [anna], subject: 'Your account was changed' })
  })

  test('a person with an app gets a session only after the code, and a code can be used once', async () => {
    const browser = browserOf(anna)
    expect((await browser.get('/second-step')).status).toBe(410)
    const first = await browser.signIn('/o/acme')
    expect([first.status, first.headers.location]).toEqual([303, '/second-step'])
    expect([...browser.cookies.keys()]).toEqual(['step-Control-Center'])
    expect(await browser.isSignedIn()).toBe(false)
    expect((await browser.get('/second-step')).text).toContain('autocomplete="one-time-code"')
    expect((await browser.get('/second-step/set-up')).headers.location).toBe('/second-step')
    expect((await browser.post('/second-step/set-up', { act: 'saved' })).headers.location).toBe('/second-step')
    expect((await browser.post('/second-step', { code: wrongCode(secret) })).status).toBe(401)
    const foreign = { headers: { 'sec-fetch-site': 'cross-site' } }
    expect((await browser.post('/second-step', { code: codeOf(secret, 0) }, foreign)).status).toBe(403)
    const right = await browser.post('/second-step', { code: codeOf(secret, 0) })
    expect([right.status, right.headers.location]).toEqual([303, '/o/acme'])
    expect(await browser.isSignedIn()).toBe(true)
    const again = browserOf(anna)
    await again.signIn()
    expect((await again.post('/second-step', { code: codeOf(secret, 0) })).status).toBe(401)
    const code = recoveryCodes[0] ?? ''
    expect((await again.post('/second-step', { recovery: 'yes', code })).headers.location).toBe('/organisations')
    expect((await again.post('/second-step', { code })).status).toBe(410)
    expect((await actionsOf('', 'second-step')).map(({ outcome, target }) => `${outcome} ${target}`)).toEqual([
      'ok recovery-code',
      'refused totp',
      'ok totp',
      'refused totp',
    ])
  })

  test('a person must sign in again after five wrong codes', async () => {
    const browser = browserOf(anna)
    await browser.signIn()
    for (let tries = 1; tries <= 4; tries++) {
      expect((await browser.post('/second-step', { code: wrongCode(secret) })).status).toBe(401)
    }
    expect((await browser.post('/second-step', { code: wrongCode(secret) })).status).toBe(410)
    expect((await browser.post('/second-step', { code: codeOf(secret, 1) })).status).toBe(410)
  })

  test('a person cannot skip the code with a forced password change, and a changed password ends a pending sign-in', async () => {
    const { users } = center.parts
    const uid = (await users.find(anna))?.uid ?? ''
    const browser = browserOf(anna)
    await browser.signIn()
    await users.change(uid, { mustChangePassword: true })
    const second = browserOf(anna)
    expect((await second.signIn()).headers.location).toBe('/second-step')
    const forced = await second.post('/second-step', { recovery: 'yes', code: recoveryCodes[1] ?? '' })
    expect([forced.status, /name="ticket" value="[^"]+"/.test(forced.text)]).toEqual([200, true])
    expect(await second.isSignedIn()).toBe(false)
    await users.setPassword(uid, 'another long password')
    await users.setPassword(uid, CENTER_PASSWORD)
    const late = await browser.post('/second-step', { recovery: 'yes', code: recoveryCodes[2] ?? '' })
    expect(late.status).toBe(410)
    expect(await browser.isSignedIn()).toBe(false)
  })

  test('a person who gets a new password during the second step is not signed in', async () => {
    const username = 'bea@example.org'
    const uid = await center.account(username)
    const browser = browserOf(username)
    await browser.signIn()
    const app = await addApp(browser)
    await browser.signIn()
    const { openSignIns, users } = center.parts
    const { finish } = openSignIns
    vi.spyOn(openSignIns, 'finish').mockImplementationOnce(async (found) => {
      const isFinished = await finish(found)
      await users.setPassword(uid, 'one blue boat sails')
      return isFinished
    })
    expect((await browser.post('/second-step', { code: codeOf(app.secret, 1) })).status).toBe(410)
    expect(await browser.isSignedIn()).toBe(false)
  })

  test('a person with an app cannot accept an invitation with the password alone', async () => {
    const { id = '' } = (await center.parts.organisations.find('acme')) ?? {}
    const { token } = await center.parts.invitations.create(id, { email: anna, role: 'owner', invitedBy: 'test' })
    const answer = await browserOf(anna).post('/invitation', { token, as: 'existing', password: CENTER_PASSWORD })
    expect([answer.status, answer.text.includes('Your account has a second factor.')]).toEqual([422, true])
    expect(await center.parts.invitations.find(token)).not.toBeNull()
  })

  test('a person with an app can change factors, the password, tokens and members only after a recent confirmation with a code', async () => {
    const boris = await member('boris', 'acme')
    const owner = browserOf(OWNER)
    await owner.signIn()
    const app = await addApp(owner)
    await browserOf(OWNER).signIn()
    const browser = browserOf(OWNER)
    await browser.signIn()
    await browser.post('/second-step', { code: codeOf(app.secret, 0) })
    letConfirmationsExpire(OWNER)
    const acme = 'organisations/acme'
    const changes = [
      ['POST', `${acme}/access-tokens`, { name: 'x', role: 'viewer', expiresAt: null }],
      ['DELETE', `${acme}/access-tokens/x`, undefined],
      ['POST', `${acme}/invitations`, { email: 'c@example.org', role: 'viewer' }],
      ['PATCH', `${acme}/members/${boris.uid}`, { role: 'owner' }],
      ['DELETE', `${acme}/members/${boris.uid}/factors`, undefined],
      ['PUT', `${acme}/sign-in-policy`, { secondFactor: 'optional' }],
      ['PUT', 'account/password', { current: CENTER_PASSWORD, new: 'a stolen session' }],
    ] as const
    for (const [method, path, body] of changes) {
      const answer = await browser.api(method, path, body)
      expect([path, answer.status, answer.body.code]).toEqual([path, 403, 'ERR_CONFIRMATION_NEEDED'])
    }
    await browser.get('/account')
    for (const act of ['new-app', 'add-app', 'new-passkey', 'add-passkey', 'remove', 'new-codes']) {
      expect((await browser.post('/account', { act })).headers.location).toBe('/confirm?to=/account')
    }
    // Other changes need no confirmation, and neither do API tokens.
    expect((await browser.api('PATCH', acme, { title: 'Acme' })).status).toBe(200)
    expect((await center.api('POST', `${acme}/access-tokens`, changes[0][2])).status).toBe(201)

    const to = '/o/acme/members'
    expect((await browser.get(`/confirm?to=${to}`)).text).toContain('autocomplete="one-time-code"')
    expect((await browser.post('/confirm', { to, password: CENTER_PASSWORD })).status).toBe(401)
    const code = codeOf(app.secret, 1)
    expect((await browser.post('/confirm', { to, code }, { token: null })).status).toBe(403)
    expect((await browser.post('/confirm', { to, code })).headers.location).toBe(to)
    expect((await browser.api('PATCH', `${acme}/members/${boris.uid}`, { role: 'developer' })).status).toBe(204)
    expect((await browser.get('/confirm?to=https://evil.example/')).text).toContain('name="to" value="/"')
    await center.parts.factors.reset({
      source: 'users',
      solution: '',
      uid: (await center.parts.users.find(OWNER))?.uid ?? '',
    })
  })

  test('a person without a factor confirms with the password', async () => {
    const { username } = await member('dora', 'acme')
    const browser = browserOf(username)
    await browser.signIn()
    letConfirmationsExpire(username)
    await browser.get('/account')
    expect((await browser.post('/account', { act: 'new-app' })).headers.location).toBe('/confirm?to=/account')
    expect((await browser.get('/confirm?to=/account')).text).toContain('autocomplete="current-password"')
    expect((await browser.post('/confirm', { to: '/account', password: 'wrong' })).status).toBe(401)
    const right = await browser.post('/confirm', { to: '/account', password: CENTER_PASSWORD })
    expect(right.headers.location).toBe('/account')
    expect(readNewApp((await browser.post('/account', { act: 'new-app' })).text).secret).not.toBe('')
  })
})

test('a passkey is accepted as a second step, for a confirmation or alone; each challenge works once, and a copied passkey is refused', async () => {
  const { username, uid } = await member('emma', 'acme')
  const browser = browserOf(username)
  await browser.signIn()
  await browser.get('/account')
  const device = createPasskeyDevice(center.url)
  const offered = passkeyOptionsIn((await browser.post('/account', { act: 'new-passkey' })).text) ?? ''
  expect(JSON.parse(offered)).toMatchObject({ rp: { id: 'localhost', name: 'Solhost control center' } })
  const added = await browser.post('/account', { act: 'add-passkey', passkey: device.create(offered) })
  expect(recoveryCodesIn(added.text)).toHaveLength(10)

  const next = browserOf(username)
  await next.signIn('/account')
  const page = await next.get('/second-step')
  expect(page.headers['permissions-policy']).toContain('publickey-credentials-get=(self)')
  const options = passkeyOptionsIn(page.text) ?? ''
  const forged = device.get(options, { origin: 'https://evil.example' })
  expect((await next.post('/second-step', { passkey: forged })).status).toBe(401)
  const asked = passkeyOptionsIn((await next.get('/second-step')).text) ?? ''
  const answer = device.get(asked, { counter: 5 })
  expect((await browserOf(username).post('/second-step', { passkey: answer })).status).toBe(410)
  expect((await next.post('/second-step', { passkey: answer })).headers.location).toBe('/account')

  await next.get('/confirm?to=/account')
  expect((await next.post('/confirm', { to: '/account', passkey: answer })).status).toBe(401)

  // If the passkey verified its user, no password is needed. Otherwise, the password is required.
  const first = browserOf(username)
  const optionsOf = async (browser: Browser) => passkeyOptionsIn((await browser.get('/sign-in')).text) ?? ''
  const signInWith = (passkey: string) => first.post('/sign-in/passkey', { passkey, to: '/o/acme' })
  const unverified = device.get(await optionsOf(first), { counter: 6, flags: { uv: false } })
  expect((await signInWith(unverified)).status).toBe(401)
  expect((await signInWith(device.get(await optionsOf(browserOf(username)), { counter: 7 }))).status).toBe(401)
  const verified = device.get(await optionsOf(first), { counter: 8 })
  const { users } = center.parts
  await users.change(uid, { enabled: false })
  expect((await signInWith(verified)).status).toBe(401)
  await users.change(uid, { enabled: true })
  expect(await first.isSignedIn()).toBe(false)
  expect((await signInWith(device.get(await optionsOf(first), { counter: 9 }))).headers.location).toBe('/o/acme')
  expect(await first.isSignedIn()).toBe(true)

  const confirm = passkeyOptionsIn((await first.get('/confirm?to=/account')).text) ?? ''
  const copied = await first.post('/confirm', { to: '/account', passkey: device.get(confirm, { counter: 9 }) })
  expect([copied.status, copied.text.includes('there seems to be a copy of it')]).toEqual([401, true])
  expect((await actionsOf('', 'passkey-clone'))[0]).toMatchObject({ actor: `user:${username}`, outcome: 'refused' })

  // Even if the passkey can't be used here, the password alone is not enough.
  const last = browserOf(username)
  expect((await last.signIn()).headers.location).toBe('/second-step')
  expect(passkeyOptionsIn((await last.get('/second-step')).text)).toBeNull()
})

describe('an organisation that requires a second factor', () => {
  let owner: Browser
  beforeAll(async () => {
    const { uid } = await member('chief')
    await center.parts.organisations.create({ name: 'strict', title: 'Strict' }, uid)
    owner = browserOf('chief@example.org')
    await owner.signIn()
  })
  const policy = 'organisations/strict/sign-in-policy'

  test('an owner who has a second factor can require one of all members; an API token can’t', async () => {
    const token = await center.tokenOf('owner', 'strict')
    expect((await center.api('GET', policy, undefined, token)).body).toEqual({ secondFactor: 'optional' })
    expect((await center.api('PUT', policy, { secondFactor: 'required' }, token)).status).toBe(403)
    const refused = await owner.api('PUT', policy, { secondFactor: 'required' })
    expect([refused.status, refused.body.detail]).toEqual([
      422,
      'Set up a second factor for your own account before you require one for members.',
    ])
    expect((await owner.get('/o/strict/members')).text).toContain('To require a second factor, first set one up')
    await addApp(owner)
    expect(await owner.api('PUT', policy, { secondFactor: 'required' })).toMatchObject({
      status: 200,
      body: { secondFactor: 'required' },
    })
    expect((await actionsOf('strict', 'sign-in-policy')).map(({ outcome, target }) => `${outcome} ${target}`)).toEqual([
      'ok required',
      'ERR_REQUEST_INVALID required',
    ])
    // API tokens still work, although they have no second factor.
    expect((await center.api('GET', 'organisations/strict/environments', undefined, token)).status).toBe(200)
    const account = await owner.get('/account')
    const id = /name="id" value="([^"]+)"/.exec(account.text)?.[1] ?? ''
    expect((await owner.post('/account', { act: 'remove', id })).status).toBe(409)
  })

  test('members without a second factor are redirected to the set-up at their sign-in, and set one up after they enter a mailed code', async () => {
    const { username, uid } = await member('frank', 'strict')
    const browser = browserOf(username)
    expect((await browser.signIn('/o/strict')).headers.location).toBe('/second-step/set-up')
    expect(await browser.isSignedIn()).toBe(false)
    const proof = await browser.get('/second-step/set-up')
    expect([proof.text.includes('Code from the email'), readNewApp(proof.text).secret]).toEqual([true, ''])
    const codeMail = () => mail.mails.findLast(({ to, subject }) => to[0] === username && subject.includes('code'))
    await expect.poll(codeMail).toBeDefined()
    const code = /: (\d{6})$/.exec(codeMail()?.subject ?? '')?.[1] ?? ''
    // Until the user enters the code, nothing can be set up.
    expect((await browser.post('/second-step/set-up', { act: 'add-app', setup: 'x', code })).headers.location).toBe(
      '/second-step/set-up',
    )
    const wrong = code === '000000' ? '111111' : '000000'
    expect((await browser.post('/second-step/set-up', { act: 'prove', code: wrong })).status).toBe(401)
    expect((await browser.post('/second-step/set-up', { act: 'prove', code })).status).toBe(303)
    const { setup, secret } = readNewApp((await browser.get('/second-step/set-up')).text)
    expect((await browser.post('/second-step/set-up', { act: 'saved' })).headers.location).toBe('/second-step/set-up')
    const codes = await browser.post('/second-step/set-up', { act: 'add-app', setup, code: codeOf(secret, 0) })
    expect(recoveryCodesIn(codes.text)).toHaveLength(10)
    expect(await browser.isSignedIn()).toBe(false)
    expect((await browser.post('/second-step/set-up', { act: 'saved' })).headers.location).toBe('/o/strict')
    expect((await browser.get('/o/strict')).status).toBe(200)
    const { items } = (await owner.api('GET', 'organisations/strict/members')).body
    expect(items).toContainEqual(expect.objectContaining({ uid, hasSecondFactor: true }))
  })

  test('the sign-in ends after three wrong entries of the mailed code', async () => {
    const { username } = await member('grace', 'strict')
    const browser = browserOf(username)
    await browser.signIn()
    await browser.get('/second-step/set-up')
    const guess = () => browser.post('/second-step/set-up', { act: 'prove', code: 'wrong' })
    expect([(await guess()).status, (await guess()).status, (await guess()).status]).toEqual([401, 401, 410])
    expect((await browser.get('/second-step/set-up')).status).toBe(410)
  })

  test('people who accept an invitation set up a factor before they see the organisation', async () => {
    const { id = '' } = (await center.parts.organisations.find('strict')) ?? {}
    const invite = (email: string) => center.parts.invitations.create(id, { email, role: 'viewer', invitedBy: 'test' })
    const created = await invite('new@example.org')
    const fresh = browserOf('new@example.org')
    const accepted = await fresh.post('/invitation', { token: created.token, as: 'new', password: CENTER_PASSWORD })
    expect(accepted.headers.location).toBe('/second-step/set-up')
    // No code is sent by email here: the user has just chosen the password, so nobody can have stolen it yet.
    expect(readNewApp((await fresh.get('/second-step/set-up')).text).secret).not.toBe('')
    expect(await fresh.isSignedIn()).toBe(false)

    const { username } = await member('henri', 'acme')
    const known = browserOf(username)
    await known.signIn()
    await known.get('/account')
    const { token } = await invite(username)
    expect((await known.post('/invitation', { token, as: 'me' })).headers.location).toBe('/second-step/set-up')
    expect(await known.isSignedIn()).toBe(false)
  })
})

describe('a lost second factor', () => {
  const run = async (...given: string[]) => {
    const command = fileURLToPath(new URL('../../bin/control-center.js', import.meta.url))
    const env = { ...process.env, PLATFORM_HOME: center.home, ...mailSettings }
    return (await promisify(execFile)(process.execPath, [command, ...given], { env })).stdout
  }

  test('a lost factor can be reset by an owner if the member belongs to no other organisation; the audit log and an email report it', async () => {
    const owner = browserOf(OWNER)
    await owner.signIn()
    const only = await member('ida', 'acme')
    const both = await member('jan', 'acme')
    const browsers = [browserOf(only.username), browserOf(both.username)] as const
    for (const browser of browsers) {
      await browser.signIn()
      await addApp(browser)
    }
    await join(both, 'strict')
    const pending = browserOf(only.username)
    expect((await pending.signIn()).headers.location).toBe('/second-step')
    const reset = (uid: string) => owner.api('DELETE', `organisations/acme/members/${uid}/factors`)
    const stranger = await center.account('stranger@example.org')
    const self = (await center.parts.users.find(OWNER))?.uid ?? ''
    const outcomes = [await reset(both.uid), await reset(stranger), await reset(self)]
    expect(outcomes.map(({ status }) => status)).toEqual([403, 404, 403])
    expect((await center.api('DELETE', `organisations/acme/members/${only.uid}/factors`)).status).toBe(403)
    expect((await reset(only.uid)).status).toBe(204)
    await expect.poll(() => browsers[0].isSignedIn()).toBe(false)
    expect((await pending.get('/second-step')).status).toBe(410)
    expect((await browsers[0].signIn()).headers.location).toBe('/organisations')
    expect((await browserOf(both.username).signIn()).headers.location).toBe('/second-step')
    expect((await actionsOf('acme', 'factor-reset'))[0]).toMatchObject({
      actor: `user:${OWNER}`,
      target: only.username,
      outcome: 'ok',
    })
    const notices = () => mail.mails.filter(({ to, subject }) => to[0] === only.username && /changed/.test(subject))
    await expect.poll(() => notices().length).toBe(2)
  })

  test('a lost factor can be reset by the operator: the activity of each organisation shows it, and the user gets an email', async () => {
    const username = 'jan@example.org'
    const notices = () => mail.mails.filter(({ to, subject }) => to[0] === username && /changed/.test(subject)).length
    await expect.poll(notices).toBe(1)
    const pending = browserOf(username)
    await pending.signIn()
    expect(await run('reset-second-factor', username)).toContain(`Removed the second factor of ${username}`)
    expect((await pending.get('/second-step')).status).toBe(410)
    // Another process queued the notice. The control center sends it together with its next email.
    const wake = (subject: string) => center.parts.mail.send({ to: 'wake@example.org', subject, text: 'now' })
    await wake('first')
    await expect.poll(notices).toBe(2)
    const settings = readCenterSettings({ PLATFORM_HOME: center.home, ...mailSettings })
    const log = pino({ level: 'silent' })
    expect(await resetSecondFactor(settings, username, log)).toBe(false)
    await expect(resetSecondFactor(settings, 'nobody@example.org', log)).rejects.toThrow('There is no account')
    await wake('second')
    await expect.poll(() => mail.mails.some(({ subject }) => subject === 'second')).toBe(true)
    expect(notices()).toBe(2)
    for (const organisation of ['acme', 'strict']) {
      expect((await actionsOf(organisation, 'factor-reset'))[0]).toMatchObject({ actor: 'machine', target: username })
    }
  })

  test('erasing an account erases its factors', async () => {
    const { username, uid } = await member('kim', 'acme')
    const browser = browserOf(username)
    await browser.signIn()
    await addApp(browser)
    await center.parts.users.erase(uid)
    using db = new DatabaseSync(joinPath(center.home, 'control_center.sqlite'), { readOnly: true })
    expect(db.prepare('select * from factor_accounts where uid = ?').all(uid)).toEqual([])
  })
})
