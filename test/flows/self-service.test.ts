import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addApp, codeOf, readNewApp } from '../support/authenticator-app.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { type ArrivedMail, startMailServer, type TestMailServer } from '../support/mail.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'

const PUBLIC_URL = 'http://apps.example.org'
const NEW = 'nine blue bicycles'

let server: TestMailServer
let host: TestHost
let noMail: TestHost
beforeAll(async () => {
  server = await startMailServer()
  host = await startTestHost({
    SMTP_URL: server.url,
    MAIL_FROM: 'no-reply@example.org',
    PUBLIC_URL,
    SECOND_STEP_TIME: '15m',
  })
  await addDefaultSolution(host, 'shop', { title: 'Shop' })
  await addAuthenticatorSolution(host, 'own', 'function onSolutionOpen() {}')
  // This host has a mail server, but no base URL for links.
  noMail = await startTestHost({
    SMTP_URL: server.url,
    MAIL_FROM: 'no-reply@example.org',
    THROTTLE_ACCOUNT_NETWORK: '2',
  })
  await addDefaultSolution(noMail, 'shop')
})
afterAll(async () => {
  await host?.stop()
  await noMail?.stop()
  await server?.stop()
})

const mailsTo = (address: string) => server.mails.filter(({ to }) => to[0] === address)

/** Waits until this many emails to the address have arrived. @returns the last one */
async function mailTo(address: string, count = 1): Promise<ArrivedMail> {
  await expect.poll(() => mailsTo(address).length).toBe(count)
  return mailsTo(address).at(-1) as ArrivedMail
}

const linkIn = ({ text }: ArrivedMail) => /https?:\/\/\S+/.exec(text)?.[0] ?? ''
const tokenIn = (link: string) => link.split('#token=')[1] ?? ''

async function forgotten(asked: string, headers: Record<string, string> = {}) {
  const visitor = await visit(host, 'shop', headers)
  await visitor.get('/solution/shop/forgotten-password')
  return visitor.post('/solution/shop/forgotten-password', { username: asked })
}

/** Opens a link's page in a new browser. @returns a function that sends the page's form */
async function opened(page: string, at: TestHost = host) {
  const visitor = await visit(at, 'shop')
  const path = `/solution/shop/${page}`
  await visitor.get(path)
  return (fields: Record<string, string>) => visitor.post(path, fields)
}

const userOf = (uid: string, at = host) => askAdmin(at, 'GET', `users/${uid}`)
const entriesOf = async (action: string) =>
  (await askAdmin(host, 'GET', `audit?limit=5&action=${action}`)).items as readonly Record<string, unknown>[]

describe('a forgotten password', () => {
  test('a forgotten password is replaced with the link from an email, which works once and signs nobody in', async () => {
    const uid = await addUser(host, 'anna', { email: 'anna@example.org', displayName: 'Anna' })
    const signedIn = await visit(host, 'shop')
    await signedIn.signIn('anna', PASSWORD, { remember: 'on' })
    expect((await signedIn.session()).status).toBe(200)
    const login = await (await visit(host, 'shop')).open()
    expect(login.text).toContain('a#forgotten{display:inline-block!important}')
    expect(login.text).toContain('href="forgotten-password"')

    const asked = await forgotten('anna', { 'X-Forwarded-Host': 'evil.example', Host: 'localhost' })
    expect(asked.text).toContain('If this account exists, an email is on its way.')
    const mail = await mailTo('anna@example.org')
    expect(mail.subject).toBe('Reset your password for Shop')
    expect(mail.text).toMatch(/^Hello Anna,\n\nWe received a request to reset the password for the user anna in Shop\./)
    expect(linkIn(mail)).toMatch(/^http:\/\/apps\.example\.org\/solution\/shop\/new-password#token=[\w-]{43}$/)
    expect(mail.raw).not.toMatch(/evil\.example|localhost/)

    const send = await opened('new-password')
    const token = tokenIn(linkIn(mail))
    const choice = await send({ token })
    expect([choice.status, choice.text.includes('name="new"'), choice.text.includes('<bdi>anna</bdi>')]).toEqual([
      200,
      true,
      true,
    ])
    expect((await send({ token, new: NEW, repeat: 'other' })).status).toBe(422)
    expect((await send({ token, new: 'short', repeat: 'short' })).text).toContain('at least 8 characters')
    // Without JavaScript, the page can't read the token from its URL, so users paste the link.
    const done = await send({ link: ` ${linkIn(mail)}`, new: NEW, repeat: NEW })
    expect([done.status, done.headers.location]).toEqual([303, '/solution/shop/index.html?password-changed'])
    const over = await send({ token, new: NEW, repeat: NEW })
    expect([over.status, over.text.includes('This link can’t be used')]).toEqual([410, true])
    expect(over.text).toContain('<a class="button" href="index.html">Back to sign-in</a>')

    // The sessions and remembered logins ended, and the address is now verified.
    expect((await signedIn.session()).status).toBe(401)
    signedIn.close()
    expect((await signedIn.open()).text).toContain('name="password"')
    expect(await userOf(uid)).toMatchObject({ emailVerifiedAt: expect.any(Number), mustChangePassword: false })
    const browser = await visit(host, 'shop')
    expect((await browser.signIn('anna')).status).toBe(401)
    expect((await browser.signIn('anna', NEW)).status).toBe(303)
    const notice = await mailTo('anna@example.org', 2)
    expect([notice.subject, notice.text]).toEqual([
      'Your account was changed',
      expect.stringContaining('Your password was changed.\nUsername: anna\nServer: apps.example.org\n'),
    ])
    expect((await entriesOf('password-forgotten'))[0]).toMatchObject({ actor: 'user:anna', outcome: 'ok' })
    expect((await entriesOf('password-change'))[0]).toMatchObject({ actor: 'user:anna', outcome: 'ok' })
    expect(host.logged()).not.toContain(token)
  })

  test('a request gets the same answer for unknown names, and causes no email for disabled users or an address of two users', async () => {
    await addUser(host, 'off', { email: 'off@example.org', enabled: false })
    await addUser(host, 'nopassword', { email: 'nopassword@example.org', password: null })
    await addUser(host, 'twin1', { email: 'twins@example.org' })
    await addUser(host, 'twin2', { email: 'Twins@example.org' })
    await addUser(host, 'bea', { email: 'Bea@example.org' })
    const known = await forgotten('bea@EXAMPLE.org')
    const tokens = /value="[\w.-]{20,}"|nonce="[^"]+"/g
    for (const asked of ['nobody', 'off', 'nopassword', 'twins@example.org', 'x'.repeat(300)]) {
      const answer = await forgotten(asked)
      expect([answer.status, answer.text.replace(tokens, '')]).toEqual([known.status, known.text.replace(tokens, '')])
    }
    for (const blank of ['', ' \u3000 ']) {
      const refused = await forgotten(blank)
      expect([refused.status, refused.text.includes('Please fill in this field.')]).toEqual([422, true])
    }
    // Requests are processed in order, so no email for an earlier request can arrive after this one.
    await forgotten('twin1')
    await mailTo('twins@example.org')
    expect(linkIn(await mailTo('Bea@example.org'))).toContain('/solution/shop/new-password#token=')
    expect([
      ...mailsTo('off@example.org'),
      ...mailsTo('nopassword@example.org'),
      ...mailsTo('Twins@example.org'),
    ]).toEqual([])
  })

  test('the next sign-in still asks for the second step, and a user gets at most three links in an hour', async () => {
    await addUser(host, 'cas', { email: 'cas@example.org' })
    const browser = await visit(host, 'shop')
    await browser.signIn('cas')
    await addApp(browser, 'shop')
    expect((await mailTo('cas@example.org')).text).toContain('Your second factors were changed.')
    for (let count = 0; count < 5; count++) await forgotten('cas')
    await addUser(host, 'dan', { email: 'dan@example.org' })
    await forgotten('dan')
    await mailTo('dan@example.org')
    const links = mailsTo('cas@example.org')
      .map(linkIn)
      .filter((link) => link !== '')
    expect(links).toHaveLength(3)
    const send = await opened('new-password')
    expect((await send({ token: tokenIn(links[0] ?? ''), new: NEW, repeat: NEW })).status).toBe(303)
    // The new password invalidates the other links.
    expect((await send({ token: tokenIn(links[1] ?? '') })).status).toBe(410)
    const next = await visit(host, 'shop')
    expect((await next.signIn('cas', NEW)).headers.location).toBe('/solution/shop/second-step')
  })

  test('of 50 parallel requests that use one link, exactly one succeeds', async () => {
    await addUser(host, 'eva', { email: 'eva@example.org' })
    await forgotten('eva')
    const token = tokenIn(linkIn(await mailTo('eva@example.org')))
    const send = await opened('new-password')
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, number) => {
        const password = `${NEW} ${number}`
        // On a busy machine, the last ones wait too long for their turn to hash a password, and get 503.
        return waitUntil(async () => {
          const answer = await send({ token, new: password, repeat: password })
          expect(answer.status).not.toBe(503)
          return answer
        })
      }),
    )
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      303,
      ...Array.from({ length: 49 }, () => 410),
    ])
  })

  test('there is no page for forgotten passwords if the host sends no email or does not store the passwords', async () => {
    const page = '/solution/shop/forgotten-password'
    const visitor = await visit(noMail, 'shop')
    expect((await visitor.open()).text).not.toContain('a#forgotten{')
    expect((await visitor.get(page)).status).toBe(404)
    expect((await visitor.post(page, { username: 'anna' })).status).toBe(404)
    const other = await visit(host, 'own')
    for (const path of ['forgotten-password', 'new-password', 'invitation', 'verify-address']) {
      expect([path, (await other.get(`/solution/own/${path}`)).status]).toEqual([path, 404])
    }
  })

  test('requests without the page’s token are rejected', async () => {
    const visitor = await visit(host, 'shop')
    const page = '/solution/shop/forgotten-password'
    expect((await visitor.post(page, { username: 'anna' }, { token: null })).status).toBe(403)
    expect((await visitor.post('/solution/shop/new-password', { token: 'x' }, { token: 'wrong' })).status).toBe(403)
  })
})

test('users get an email when an operator changes their password by an import or through the API', async () => {
  await addUser(host, 'ivo', { email: 'ivo@example.org' })
  const load = (text: string) =>
    ask(`${host.url}/admin/api/users.csv`, {
      method: 'POST',
      headers: { authorization: host.admin, 'content-type': 'text/csv' },
      body: text,
    })
  // A changed name is not reported, and neither is the first password of a new user.
  expect((await load('username,displayName\nivo,Ivo\n')).status).toBe(200)
  expect((await load(`username,email,password\niva,iva@example.org,${NEW}\n`)).status).toBe(200)
  expect((await load(`username,email,password\nivo,ivo2@example.org,${NEW}\n`)).status).toBe(200)
  // Notices are sent in order, so no earlier notice can arrive after this email.
  expect((await mailTo('ivo@example.org')).text).toContain('Your password was changed.')
  expect([...mailsTo('iva@example.org'), ...mailsTo('ivo2@example.org')]).toEqual([])
})

test('emails about a change by the user are in the browser’s language if the user has no stored one', async () => {
  const german = { 'accept-language': 'de' }
  await addUser(host, 'udo', { email: 'udo@example.org' })
  await forgotten('udo', german)
  const token = tokenIn(linkIn(await mailTo('udo@example.org')))
  const visitor = await visit(host, 'shop', german)
  await visitor.get('/solution/shop/new-password')
  await visitor.post('/solution/shop/new-password', { token, new: NEW, repeat: NEW })
  expect((await mailTo('udo@example.org', 2)).text).toContain('Benutzername: udo\n')
  await visitor.signIn('udo', NEW)
  await visitor.get('/solution/shop/password')
  await visitor.post('/solution/shop/password', { current: NEW, new: PASSWORD, repeat: PASSWORD })
  expect((await mailTo('udo@example.org', 3)).text).toContain('Benutzername: udo\n')
})

test('users get an email about a new app and about new recovery codes, one for each change', async () => {
  await addUser(host, 'noor', { email: 'noor@example.org' })
  const browser = await visit(host, 'shop')
  await browser.signIn('noor')
  await addApp(browser, 'shop')
  expect((await mailTo('noor@example.org')).text).toContain('Your second factors were changed.')
  await browser.post('/solution/shop/account', { act: 'new-codes' })
  expect((await mailTo('noor@example.org', 2)).text).toContain('Your second factors were changed.')
})

describe('links from operators', () => {
  test('a new user is invited by email, and chooses a password', async () => {
    const user = { username: 'finn', email: 'finn@example.org', locale: 'nl', permissions: ['Users'], invite: true }
    const made = await askAdmin(host, 'POST', 'users', user)
    expect(made).toMatchObject({
      emailVerifiedAt: null,
      locale: 'nl',
      invitation: { mailedTo: 'finn@example.org', link: null, expiresAt: expect.any(Number) },
    })
    const mail = await mailTo('finn@example.org')
    expect(mail.text).toContain('verloopt na 7 dagen.')
    expect([mail.subject, linkIn(mail).split('#')[0]]).toEqual([
      'Uw toegang tot Shop',
      `${PUBLIC_URL}/solution/shop/invitation`,
    ])
    const token = tokenIn(linkIn(mail))
    // Each kind of link opens only its own page.
    expect((await (await opened('new-password'))({ token })).status).toBe(410)
    const send = await opened('invitation')
    expect((await send({ token, new: NEW, repeat: NEW })).status).toBe(303)
    expect((await (await visit(host, 'shop')).signIn('finn', NEW)).status).toBe(303)
    expect(await userOf(made.uid as string)).toMatchObject({ emailVerifiedAt: expect.any(Number) })
  })

  test('without a mail server, the link is shown once, as a path, and replaces earlier ones', async () => {
    const uid = await addUser(noMail, 'gus', { email: 'gus@example.org' })
    const create = (kind: string) => askAdmin(noMail, 'POST', `users/${uid}/links`, { kind })
    const first = await create('password')
    expect(first).toMatchObject({
      mailedTo: null,
      link: expect.stringMatching(/^\/solution\/shop\/new-password#token=/),
    })
    const second = await create('password')
    const send = await opened('new-password', noMail)
    expect((await send({ token: tokenIn(String(first.link)) })).status).toBe(410)
    const token = tokenIn(String(second.link))
    await askAdmin(noMail, 'PATCH', `users/${uid}`, { email: 'other@example.org' })
    // The link is invalid, because the address has changed.
    expect((await send({ token })).status).toBe(410)
    const third = await create('password')
    expect((await send({ token: tokenIn(String(third.link)), new: NEW, repeat: NEW })).status).toBe(303)
    // The link wasn't mailed, so using it doesn't verify the address.
    expect(await userOf(uid, noMail)).toMatchObject({ emailVerifiedAt: null })
    expect(mailsTo('gus@example.org')).toEqual([])
  })

  test('a link is refused for a disabled user, an unknown solution or an unknown kind, and if the solution is ambiguous', async () => {
    const uid = await addUser(host, 'hal', { enabled: false })
    const create = (body: object) => askAdmin(host, 'POST', `users/${uid}/links`, body, 422)
    expect(await create({ kind: 'password' })).toMatchObject({ detail: expect.stringContaining('is disabled') })
    expect(await create({ kind: 'invitation', solution: 'own' })).toMatchObject({
      detail: expect.stringContaining('"own" is not an active solution with the authenticator DEFAULT'),
    })
    expect(await create({ kind: 'verify' })).toMatchObject({
      detail: expect.stringContaining('invitation, password, set-up'),
    })
    await addDefaultSolution(noMail, 'second')
    const body = { username: 'ida', invite: true }
    expect(await askAdmin(noMail, 'POST', 'users', body, 422)).toMatchObject({
      detail:
        'The request does not say which solution the link opens. Set `solution` to one of these names: second, shop.',
    })
    expect(((await askAdmin(noMail, 'GET', 'users?search=ida')).items as unknown[]).length).toBe(0)
    const made = await askAdmin(noMail, 'POST', 'users', { ...body, solution: 'second' })
    expect(made.invitation).toMatchObject({ link: expect.stringContaining('/solution/second/invitation#token=') })
  })

  test('the audit log names the kind of link, not the link', async () => {
    const uid = await addUser(host, 'jan', { email: 'jan@example.org' })
    await askAdmin(host, 'POST', `users/${uid}/links`, { kind: 'invitation' })
    expect((await entriesOf('link'))[0]).toMatchObject({
      actor: 'admin',
      target: 'user:jan (invitation)',
      outcome: 'ok',
    })
    const token = tokenIn(linkIn(await mailTo('jan@example.org')))
    expect(JSON.stringify(await askAdmin(host, 'GET', 'audit?limit=100'))).not.toContain(token)
    await askAdmin(host, 'POST', `users/${uid}/erase`, undefined, 204)
    expect((await (await opened('invitation'))({ token })).status).toBe(410)
  })

  test('the number of guessed links is limited per network', async () => {
    const strict = await startTestHost({ THROTTLE_NETWORK: '3' })
    try {
      await addDefaultSolution(strict, 'shop')
      const send = await opened('new-password', strict)
      const statuses: number[] = []
      for (let count = 0; count < 4; count++) statuses.push((await send({ token: 'x'.repeat(43) })).status)
      expect(statuses).toEqual([410, 410, 410, 429])
    } finally {
      await strict.stop()
    }
  })
})

describe('a new address', () => {
  const account = '/solution/shop/account'

  test('a new address takes effect once it is confirmed, and the old address gets a notice', async () => {
    const uid = await addUser(host, 'kim', { email: 'kim@example.org' })
    const browser = await visit(host, 'shop')
    await browser.signIn('kim')
    expect((await browser.get(account)).text).toContain('Not confirmed')
    const wrong = await browser.post(account, { act: 'new-address', address: 'kim@' })
    expect([wrong.status, wrong.text.includes('Enter an email address')]).toEqual([422, true])
    // The user can correct what they entered, and the field has the focus.
    const field = /<input type="email"[^>]*>/.exec(wrong.text)?.[0]
    expect(field).toMatch(/ value="kim@".* aria-describedby="address-hint refusal".* aria-invalid="true" autofocus>$/)
    const asked = await browser.post(account, { act: 'new-address', address: ' new-kim@example.org' })
    expect(asked.text).toContain('We sent a link to new-kim@example.org.')
    expect(asked.text).not.toContain('autofocus')
    const mail = await mailTo('new-kim@example.org')
    expect(linkIn(mail)).toContain(`${PUBLIC_URL}/solution/shop/verify-address#token=`)
    expect(await userOf(uid)).toMatchObject({ email: 'kim@example.org' })
    const send = await opened('verify-address')
    const token = tokenIn(linkIn(mail))
    const page = await send({ token })
    expect([page.status, page.text.includes('<bdi>new-kim@example.org</bdi>')]).toEqual([200, true])
    expect(await userOf(uid)).toMatchObject({ email: 'kim@example.org' })
    expect((await send({ token, confirm: 'yes' })).text).toContain('Your email address is confirmed')
    expect(await userOf(uid)).toMatchObject({ email: 'new-kim@example.org', emailVerifiedAt: expect.any(Number) })
    expect((await send({ token, confirm: 'yes' })).status).toBe(410)
    expect((await mailTo('kim@example.org')).text).toContain('Your email address was changed.')
    expect((await browser.get(account)).text).toContain('Confirmed')
    expect((await entriesOf('address-change'))[0]).toMatchObject({ actor: 'user:kim', outcome: 'ok' })
  })

  test('changing the address requires a confirmation, even in a session without a second step', async () => {
    await addDefaultSolution(host, 'lax')
    await askAdmin(host, 'PUT', 'solutions/lax/sign-in-policy', { level: 'off' })
    await addUser(host, 'lea', { email: 'lea@example.org' })
    const own = await visit(host, 'shop')
    await own.signIn('lea')
    await addApp(own, 'shop')
    const stolen = await visit(host, 'lax')
    await stolen.signIn('lea')
    await stolen.get('/solution/lax/account')
    const answer = await stolen.post('/solution/lax/account', { act: 'new-address', address: 'evil@example.org' })
    expect([answer.status, answer.headers.location]).toEqual([303, '/solution/lax/confirm?for=account'])
    expect(mailsTo('evil@example.org')).toEqual([])
  })

  test('a new address does not take effect if the password has changed since the request', async () => {
    const uid = await addUser(host, 'max', { email: 'max@example.org' })
    const browser = await visit(host, 'shop')
    await browser.signIn('max')
    await browser.get(account)
    await browser.post(account, { act: 'new-address', address: 'new-max@example.org' })
    const token = tokenIn(linkIn(await mailTo('new-max@example.org')))
    await askAdmin(host, 'PATCH', `users/${uid}`, { password: NEW })
    expect((await (await opened('verify-address'))({ token, confirm: 'yes' })).status).toBe(410)
    expect(await userOf(uid)).toMatchObject({ email: 'max@example.org', emailVerifiedAt: null })
  })
})

describe('the set-up of a second step during a sign-in', () => {
  beforeAll(async () => {
    await addDefaultSolution(host, 'bank', { title: 'Bank' })
    await askAdmin(host, 'PUT', 'solutions/bank/sign-in-policy', { level: 'required' })
    await addDefaultSolution(host, 'vault')
    await askAdmin(host, 'PUT', 'solutions/vault/sign-in-policy', { level: 'required', setUpByLink: true })
  })
  const path = (solution: string) => `/solution/${solution}/set-up`
  const codeIn = ({ text }: ArrivedMail) => /^\d{6}$/m.exec(text)?.[0] ?? ''
  const wrongFor = (code: string) => (code === '000000' ? '000001' : '000000')

  async function userWithAddress(name: string) {
    const email = `${name}@example.org`
    await addUser(host, name, { email, password: null, invite: true, solution: 'bank' })
    const token = tokenIn(linkIn(await mailTo(email)))
    const visitor = await visit(host, 'bank')
    await visitor.get('/solution/bank/invitation')
    await visitor.post('/solution/bank/invitation', { token, new: PASSWORD, repeat: PASSWORD })
    return mailTo(email, 2)
  }

  async function start(name: string, solution: string) {
    const browser = await visit(host, solution)
    expect((await browser.signIn(name)).headers.location).toBe(path(solution))
    const page = await browser.get(path(solution))
    return { browser, page, send: (fields: Record<string, string>) => browser.post(path(solution), fields) }
  }

  test('the set-up needs a code that is mailed to the confirmed address', async () => {
    await userWithAddress('nora')
    const { browser, page, send } = await start('nora', 'bank')
    expect([page.text.includes('name="setup"'), page.text.includes('name="code"')]).toEqual([false, true])
    const mail = await mailTo('nora@example.org', 3)
    const code = codeIn(mail)
    expect(mail.subject).toBe(`Your code for Bank: ${code}`)
    // Opening the page again doesn't send another code.
    expect((await browser.get(path('bank'))).text).not.toContain('name="setup"')
    // Without the code, neither the page for the app nor the next page can be opened.
    expect((await send({ act: 'add-app', setup: 'x', code: '123456' })).headers.location).toBe(path('bank'))
    expect((await send({ act: 'saved' })).headers.location).toBe(path('bank'))
    const wrong = await send({ act: 'prove', code: wrongFor(code) })
    expect([wrong.status, wrong.text.includes('This code is wrong or has expired.')]).toEqual([401, true])
    expect((await send({ act: 'prove', code: ` ${code.slice(0, 3)} ${code.slice(3)}` })).headers.location).toBe(
      path('bank'),
    )
    const { setup, secret } = readNewApp((await browser.get(path('bank'))).text)
    await send({ act: 'add-app', setup, code: codeOf(secret, 0) })
    expect((await send({ act: 'saved' })).headers.location).toBe('/solution/bank/index.html')
    expect((await browser.session()).status).toBe(200)
    expect(mailsTo('nora@example.org').filter(({ subject }) => subject.startsWith('Your code'))).toHaveLength(1)
    expect(host.logged()).not.toContain(code)
  })

  test('the set-up ends after three wrong codes, even if they are sent in parallel; after that, even the correct code is refused', async () => {
    await userWithAddress('olga')
    const { browser, send } = await start('olga', 'bank')
    const code = codeIn(await mailTo('olga@example.org', 3))
    const guess = { act: 'prove', code: wrongFor(code) }
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => send(guess)))
    expect(answers.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(2)
    expect((await send({ act: 'prove', code })).status).toBe(410)
    expect((await browser.get(path('bank'))).status).toBe(410)
    // A new sign-in gets a new code, and the old code is no longer valid.
    const again = await start('olga', 'bank')
    const other = codeIn(await mailTo('olga@example.org', 4))
    if (other !== code) expect((await again.send({ act: 'prove', code })).status).toBe(401)
    expect((await again.send({ act: 'prove', code: other })).headers.location).toBe(path('bank'))
  })

  test('during the grace period, the page still offers to postpone the set-up after a wrong code', async () => {
    await addDefaultSolution(host, 'club')
    await askAdmin(host, 'PUT', 'solutions/club/sign-in-policy', { level: 'required', graceDays: 14 })
    await userWithAddress('sara')
    const { page, send } = await start('sara', 'club')
    const later = 'name="act" value="later"'
    expect(page.text).toContain(later)
    const wrong = await send({ act: 'prove', code: wrongFor(codeIn(await mailTo('sara@example.org', 3))) })
    expect([wrong.status, wrong.text.includes(later)]).toEqual([401, true])
    expect((await send({ act: 'later' })).headers.location).toBe('/solution/club/index.html')
  })

  test('users without a confirmed address can set up a factor with only their password', async () => {
    await addUser(host, 'pia', { email: 'pia@example.org' })
    expect((await start('pia', 'bank')).page.text).toContain('name="setup"')
    expect(mailsTo('pia@example.org')).toEqual([])
  })

  test('the set-up needs an operator’s link if the policy says so', async () => {
    const uid = await addUser(host, 'quin', { email: 'quin@example.org' })
    const other = await addUser(host, 'rosa', { email: 'rosa@example.org' })
    const { browser, page, send } = await start('quin', 'vault')
    expect([page.text.includes('name="setup"'), page.text.includes('data-from-fragment')]).toEqual([false, true])
    expect(page.text).toMatch(/within the next\s(<bdi>)?15(<\/bdi>)?\sminutes/)
    await askAdmin(host, 'POST', `users/${other}/links`, { kind: 'set-up', solution: 'vault' })
    const foreign = tokenIn(linkIn(await mailTo('rosa@example.org')))
    expect((await send({ act: 'prove', token: foreign })).status).toBe(401)
    await askAdmin(host, 'POST', `users/${uid}/links`, { kind: 'set-up', solution: 'vault' })
    const mail = await mailTo('quin@example.org')
    expect(linkIn(mail)).toContain(`${PUBLIC_URL}/solution/vault/set-up#token=`)
    const token = tokenIn(linkIn(mail))
    expect((await send({ act: 'prove', token })).headers.location).toBe(path('vault'))
    expect((await browser.get(path('vault'))).text).toContain('name="setup"')
    // The link has been used, so it is no longer valid.
    const next = await start('quin', 'vault')
    expect((await next.send({ act: 'prove', token })).status).toBe(401)
    expect(await askAdmin(host, 'GET', 'solutions/vault/sign-in-policy')).toMatchObject({ setUpByLink: true })
    const refused = await askAdmin(
      host,
      'PUT',
      'solutions/own/sign-in-policy',
      { level: 'required', setUpByLink: true },
      422,
    )
    expect(refused).toMatchObject({ detail: expect.stringContaining('"setUpByLink" requires') })
  })
})

test('the API shows that a mail server is set, but not its address, which may contain a password', async () => {
  const answer = await ask(`${noMail.url}/admin/api/settings`, { headers: { authorization: noMail.admin } })
  expect(answer.text).toContain('SMTP_URL')
  expect(answer.text).not.toContain(server.url)
})
