import { beforeAll, describe, expect, test } from 'vitest'
import { addApp, codeOf, recoveryCodesIn } from '../support/authenticator-app.ts'
import { addPasskey as addPasskeyTo, createPasskeyDevice, passkeyOptionsIn } from '../support/passkey-device.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, visit } from '../support/users.ts'

/**
 * An authenticator that signs users in by name, without a password. After a sign-in with a passkey, it rejects the user
 * `gone`. For the user `liar`, it tries to sign in someone else.
 */
const SCRIPT = `function onSolutionOpen(_argument, params) {
  const { last_login: last, username } = params
  if (last && last.passkey) {
    if (last.username !== 'gone') security.login(last.username, last.username === 'liar' ? 'somebody' : last.uid, ['Users'])
    return {}
  }
  if (username) security.login(username, 'u-' + username, ['Users'])
  return {}
}`

/** An authenticator that checks passwords in the users table, and accepts every user who signs in with a passkey. */
const TABLE_SCRIPT = `async function onSolutionOpen(_argument, { username, password, last_login: last }) {
  if (last && last.passkey) return security.login(last.username, last.uid, ['Users'])
  const user = await security.authenticate(username, password ?? '')
  if (user) security.login(username, user.uid, ['Users'])
}`

let host: Awaited<ReturnType<typeof sharedHost>>
/** `localhost` with the host's port, because browsers don't allow passkeys on IP addresses. */
let localhost: string
beforeAll(async () => {
  host = await sharedHost()
  localhost = `localhost:${new URL(host.url).port}`
  await addDefaultSolution(host, 'pk-shop')
  await addDefaultSolution(host, 'pk-other')
  await addDefaultSolution(host, 'pk-bank')
  await askAdmin(host, 'PUT', 'solutions/pk-bank/sign-in-policy', { level: 'passkey' })
  await addAuthenticatorSolution(host, 'pk-script', SCRIPT)
})

type Browser = Awaited<ReturnType<typeof visit>>

const open = (solution: string) => visit(host, solution, { host: localhost })
const device = () => createPasskeyDevice(`http://${localhost}`)
const optionsOn = (text: string) => passkeyOptionsIn(text) ?? expect.fail('the page offers no passkey')

const addPasskey = (browser: Browser, solution: string) => addPasskeyTo(browser, solution, device())

async function userWithPasskey(name: string, solution = 'pk-shop') {
  if (solution !== 'pk-script') await addUser(host, name)
  const browser = await open(solution)
  await browser.signIn(name)
  return { browser, ...(await addPasskey(browser, solution)) }
}

/** Signs in with a passkey on the login page. */
async function usePasskey(browser: Browser, own: ReturnType<typeof device>, more = {}) {
  const page = await browser.open()
  return browser.post(browser.page, { passkey: own.get(optionsOn(page.text), more) })
}

describe('a user with a passkey', () => {
  test('a user gets recovery codes with the first passkey, and sees the passkey on the account page', async () => {
    const { browser, added } = await userWithPasskey('pk-anna')
    expect(recoveryCodesIn(added.text)).toHaveLength(10)
    const account = await browser.get('/solution/pk-shop/account')
    expect(account.text).toContain('<bdi>Passkey')
    // Adding a second passkey doesn't replace the recovery codes that the user has saved.
    const second = await addPasskey(browser, 'pk-shop')
    expect([second.added.status, second.added.headers.location]).toEqual([303, '/solution/pk-shop/account'])
  })

  test('a user signs in with a passkey alone, without a name, a password or a second step', async () => {
    const { own } = await userWithPasskey('pk-bert')
    const browser = await open('pk-shop')
    const answer = await usePasskey(browser, own)
    expect([answer.status, answer.headers.location]).toEqual([303, '/solution/pk-shop/index.html'])
    expect((await browser.session()).json()).toMatchObject({ username: 'pk-bert' })
    expect(browser.cookie('known')).toBeUndefined()
  })

  test('a user can use a passkey as the second step after the password', async () => {
    const { own } = await userWithPasskey('pk-cora')
    const browser = await open('pk-shop')
    expect((await browser.signIn('pk-cora')).headers.location).toBe('/solution/pk-shop/second-step')
    const page = await browser.get('/solution/pk-shop/second-step')
    // The user has no authenticator app, so the page doesn't ask for a code.
    expect(page.text).not.toContain('one-time-code')
    expect(page.headers['permissions-policy']).toBe('publickey-credentials-get=(self), publickey-credentials-create=()')
    const passkey = own.get(optionsOn(page.text), { flags: { uv: false } })
    const done = await browser.post('/solution/pk-shop/second-step', { passkey })
    expect([done.status, done.headers.location]).toEqual([303, '/solution/pk-shop/index.html'])
    expect((await browser.session()).status).toBe(200)
  })

  test('a user needs a password too if the passkey did not verify its user', async () => {
    const { own } = await userWithPasskey('pk-dora')
    const browser = await open('pk-shop')
    const answer = await usePasskey(browser, own, { flags: { uv: false } })
    expect([answer.status, answer.text.includes('This passkey did not work here.')]).toEqual([401, true])
    expect(browser.cookie('session')).toBeUndefined()
  })

  test('a user with a passkey must still choose a new password if an operator requires it', async () => {
    const { own, browser: first } = await userWithPasskey('pk-elke')
    const { uid } = (await first.session()).json() as { uid: string }
    await askAdmin(host, 'PATCH', `users/${uid}`, { mustChangePassword: true })
    const browser = await open('pk-shop')
    const answer = await usePasskey(browser, own)
    expect([answer.status, answer.text.includes('Choose a new password')]).toEqual([200, true])
    expect(browser.cookie('session')).toBeUndefined()
  })

  test('a user with a passkey cannot sign in once they are disabled', async () => {
    const { own, browser: first } = await userWithPasskey('pk-fons')
    const { uid } = (await first.session()).json() as { uid: string }
    await askAdmin(host, 'PATCH', `users/${uid}`, { enabled: false })
    expect((await usePasskey(await open('pk-shop'), own)).status).toBe(401)
  })

  test('a user confirms changes with a passkey', async () => {
    const { own } = await userWithPasskey('pk-gina')
    const browser = await open('pk-shop')
    await usePasskey(browser, own)
    const page = await browser.get('/solution/pk-shop/confirm?for=password')
    const passkey = own.get(optionsOn(page.text))
    const done = await browser.post('/solution/pk-shop/confirm', { for: 'password', passkey })
    expect([done.status, done.headers.location]).toEqual([303, '/solution/pk-shop/password'])
  })
})

describe('a challenge', () => {
  test('a challenge is valid once: of 50 parallel uses of one response, one signs in', async () => {
    const { own } = await userWithPasskey('pk-hans')
    const browser = await open('pk-shop')
    const passkey = own.get(optionsOn((await browser.open()).text))
    const answers = await Promise.all(Array.from({ length: 50 }, () => browser.post(browser.page, { passkey })))
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1)
  })

  test('a challenge is valid only in its browser, for its page and its solution', async () => {
    const { own } = await userWithPasskey('pk-iris')
    const [one, other, elsewhere] = await Promise.all([open('pk-shop'), open('pk-shop'), open('pk-other')])
    const passkey = own.get(optionsOn((await one.open()).text))
    expect((await other.post(other.page, { passkey })).status).toBe(401)
    expect((await elsewhere.post(elsewhere.page, { passkey })).status).toBe(401)
    await one.signIn('pk-iris')
    expect((await one.post('/solution/pk-shop/second-step', { passkey })).status).toBe(401)
    const second = own.get(optionsOn((await one.get('/solution/pk-shop/second-step')).text))
    expect((await one.post(one.page, { passkey: second })).status).toBe(401)
    expect((await one.post('/solution/pk-shop/second-step', { passkey: second })).status).toBe(303)
  })
})

test('a copy of a passkey is refused, and the audit log says so', async () => {
  const { own, browser } = await userWithPasskey('pk-jan')
  expect((await usePasskey(await open('pk-shop'), own, { counter: 5 })).status).toBe(303)
  expect((await usePasskey(await open('pk-shop'), own, { counter: 4 })).status).toBe(401)
  expect((await usePasskey(await open('pk-shop'), own, { counter: 6 })).status).toBe(401)
  const { items } = await askAdmin(host, 'GET', 'audit?action=passkey-clone&solution=pk-shop')
  expect(items).toMatchObject([{ action: 'passkey-clone', outcome: 'refused' }])
  expect((await browser.get('/solution/pk-shop/account')).text).toContain('Blocked: possible copy')
})

describe('at the level "passkey"', () => {
  test('at the level "passkey", users without a passkey create one before their session starts', async () => {
    await addUser(host, 'pk-kris')
    const browser = await open('pk-bank')
    expect((await browser.signIn('pk-kris')).headers.location).toBe('/solution/pk-bank/set-up')
    const page = await browser.get('/solution/pk-bank/set-up')
    expect(page.text).not.toContain('otpauth:')
    expect(page.headers['permissions-policy']).toBe('publickey-credentials-get=(), publickey-credentials-create=(self)')
    const own = device()
    const wrong = own.create(optionsOn(page.text), { origin: 'https://evil.example.org' })
    expect((await browser.post('/solution/pk-bank/set-up', { act: 'add-passkey', passkey: wrong })).status).toBe(401)
    const again = await browser.get('/solution/pk-bank/set-up')
    const passkey = own.create(optionsOn(again.text))
    const codes = await browser.post('/solution/pk-bank/set-up', { act: 'add-passkey', passkey })
    expect(recoveryCodesIn(codes.text)).toHaveLength(10)
    const done = await browser.post('/solution/pk-bank/set-up', { act: 'saved' })
    expect(done.headers.location).toBe('/solution/pk-bank/index.html')
    expect((await browser.session()).json()).toMatchObject({ username: 'pk-kris' })
    // The last passkey can't be removed.
    const account = await browser.get('/solution/pk-bank/account')
    const id = /name="id" value="([^"]+)"[^>]*><button[^>]*value="remove"/.exec(account.text)?.[1] ?? ''
    expect((await browser.post('/solution/pk-bank/account', { act: 'remove', id })).status).toBe(409)
  })

  test('at the level "passkey", a code of an authenticator app does not count', async () => {
    await addUser(host, 'pk-lies')
    const first = await open('pk-shop')
    await first.signIn('pk-lies')
    const { secret } = await addApp(first, 'pk-shop')
    const browser = await open('pk-bank')
    expect((await browser.signIn('pk-lies')).headers.location).toBe('/solution/pk-bank/second-step')
    const step = await browser.post('/solution/pk-bank/second-step', { code: codeOf(secret, 0) })
    // The code proves who the user is, so they may create a passkey.
    expect(step.headers.location).toBe('/solution/pk-bank/set-up')
    expect(browser.cookie('session')).toBeUndefined()
  })

  test('the level "passkey" is refused for hosts and manifests where passkeys do not work', async () => {
    const plain = await sharedHost({ PASSKEYS: 'off' })
    await addDefaultSolution(plain, 'pk-none')
    const refused = await askAdmin(plain, 'PUT', 'solutions/pk-none/sign-in-policy', { level: 'passkey' }, 422)
    expect(refused.detail).toContain('offer passkeys for "pk-none"')
    const required = { signIn: { secondFactor: 'passkey' } }
    await expect(addDefaultSolution(plain, 'pk-strict', required)).rejects.toThrow('passkeys_unavailable')
    await addDefaultSolution(plain, 'pk-strict')
    await askAdmin(plain, 'PUT', 'solutions/pk-strict/sign-in-policy', { level: 'required' })
    // The operator's policy replaces the manifest's.
    await addDefaultSolution(plain, 'pk-strict', { ...required, version: '1.0.1' })
    const browser = await visit(plain, 'pk-none', { host: `localhost:${new URL(plain.url).port}` })
    expect(passkeyOptionsIn((await browser.open()).text)).toBeNull()
  })
})

describe('where a script signs users in', () => {
  test('a script decides whether a passkey’s user may sign in, and cannot sign in anyone else', async () => {
    const { own } = await userWithPasskey('mia', 'pk-script')
    const browser = await open('pk-script')
    expect((await usePasskey(browser, own)).status).toBe(303)
    expect((await browser.session()).json()).toMatchObject({ username: 'mia', uid: 'u-mia' })
    for (const name of ['liar', 'gone']) {
      const { own: theirs } = await userWithPasskey(name, 'pk-script')
      const refused = await usePasskey(await open('pk-script'), theirs)
      expect([refused.status, refused.text.includes('This passkey did not work here.')], name).toEqual([401, true])
    }
  })

  test('a user of the users table who is disabled cannot sign in, whatever the script decides', async () => {
    await addAuthenticatorSolution(host, 'pk-table', TABLE_SCRIPT)
    await askAdmin(host, 'PUT', 'solutions/pk-table/grants', { databases: {}, http: [], users: true })
    const { own } = await userWithPasskey('pk-olga', 'pk-table')
    const browser = await open('pk-table')
    expect((await usePasskey(browser, own)).status).toBe(303)
    const { uid } = (await browser.session()).json() as { uid: string }
    await askAdmin(host, 'PATCH', `users/${uid}`, { enabled: false })
    expect((await usePasskey(await open('pk-table'), own)).status).toBe(401)
  })

  test('a passkey of the users table or of another solution is refused', async () => {
    const { own } = await userWithPasskey('noor', 'pk-script')
    expect((await usePasskey(await open('pk-shop'), own)).status).toBe(401)
  })
})

describe('pages', () => {
  test('pages on an IP address offer no passkeys, and say why', async () => {
    await addUser(host, 'pk-otto')
    const browser = await visit(host, 'pk-shop')
    const login = await browser.open()
    expect(passkeyOptionsIn(login.text)).toBeNull()
    expect(login.headers['permissions-policy']).toBe('publickey-credentials-get=(), publickey-credentials-create=()')
    await browser.signIn('pk-otto')
    const account = await browser.get('/solution/pk-shop/account')
    expect(account.text).toContain('Passkeys don’t work at this address.')
    expect((await browser.post('/solution/pk-shop/account', { act: 'new-passkey' })).headers.location).toBe(
      '/solution/pk-shop/account',
    )
  })

  test('pages written by authors offer no passkeys where solutions share an origin', async () => {
    const template = `<!DOCTYPE html><html><body><form method="post" name="login_form"><p id="errorlabel">x</p>
<input name="username"><input type="password" name="password"><button type="submit">Go</button></form></body></html>`
    await addDefaultSolution(host, 'pk-own', {}, { 'media/login.html': template })
    const page = await (await open('pk-own')).open()
    expect(page.text).toContain('Go</button>')
    expect(passkeyOptionsIn(page.text)).toBeNull()
    expect(page.headers['permissions-policy']).toBe('publickey-credentials-get=(), publickey-credentials-create=()')
  })
})

test('at another of the host’s names, a user with a passkey needs a recovery code; a password is not enough', async () => {
  const { added } = await userWithPasskey('pk-elsewhere')
  const [code = ''] = recoveryCodesIn(added.text)
  for (const name of ['127.0.0.1', 'x.localhost', '[::1]']) {
    const other = await visit(host, 'pk-shop', { host: `${name}:${new URL(host.url).port}` })
    const step = await other.signIn('pk-elsewhere')
    expect([step.status, step.headers.location], name).toEqual([303, '/solution/pk-shop/second-step'])
    expect((await other.session()).status).toBe(401)
  }
  const browser = await visit(host, 'pk-shop', { host: new URL(host.url).host })
  await browser.signIn('pk-elsewhere')
  const page = await browser.get('/solution/pk-shop/second-step')
  expect(page.text).toContain('Recovery code')
  // There is no other way, so the page links to none.
  expect(page.text).not.toMatch(/href="[^"]*second-step/)
  const wrong = await browser.post('/solution/pk-shop/second-step', { code: 'WRONG-CODES', recovery: 'yes' })
  expect(wrong.status).toBe(401)
  expect((await browser.post('/solution/pk-shop/second-step', { code, recovery: 'yes' })).status).toBe(303)
  expect((await browser.session()).json()).toMatchObject({ username: 'pk-elsewhere' })
})
