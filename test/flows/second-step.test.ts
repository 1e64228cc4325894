import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { addApp, codeOf, readNewApp, recoveryCodesIn, wrongCode } from '../support/authenticator-app.ts'
import { openClient, openClientPage } from '../support/client-page.ts'
import { button, label } from '../support/client-solution.ts'
import { formWith } from '../support/forms.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'

let host: Awaited<ReturnType<typeof sharedHost>>
beforeAll(async () => {
  host = await sharedHost()
  await addDefaultSolution(host, 'shop')
  await addDefaultSolution(host, 'bank')
  await askAdmin(host, 'PUT', 'solutions/bank/sign-in-policy', { level: 'required' })
  await addDefaultSolution(host, 'club')
  await askAdmin(host, 'PUT', 'solutions/club/sign-in-policy', { level: 'required', graceDays: 7 })
})

type Visitor = Awaited<ReturnType<typeof visit>>

async function userWithApp(name: string, more: Record<string, unknown> = {}) {
  await addUser(host, name, more)
  const browser = await visit(host, 'shop')
  await browser.signIn(name)
  return { browser, ...(await addApp(browser, 'shop')) }
}

const step = (browser: Visitor, fields: Record<string, string>, solution = 'shop') =>
  browser.post(`/solution/${solution}/second-step`, fields)

describe('a user with an authenticator app', () => {
  test('a user with an app gets a session only after the code, and a code can be used once', async () => {
    const { secret, recoveryCodes } = await userWithApp('sofie')
    expect(recoveryCodes).toHaveLength(10)
    const browser = await visit(host, 'shop')
    const first = await browser.signIn('sofie')
    expect([first.status, first.headers.location]).toEqual([303, '/solution/shop/second-step'])
    expect(browser.cookie('session')).toBeUndefined()
    expect(browser.cookie('known')).toBeUndefined()
    // With only the password, the user can open neither the set-up nor the account page.
    expect((await browser.get('/solution/shop/set-up')).headers.location).toBe('/solution/shop/second-step')
    expect((await browser.get('/solution/shop/account')).headers.location).toBe('/solution/shop/index.html')
    const page = await browser.get('/solution/shop/second-step')
    expect(page.text).toContain('autocomplete="one-time-code"')
    const wrong = await step(browser, { code: wrongCode(secret) })
    expect([wrong.status, wrong.text.includes('This code is wrong or has already been used')]).toEqual([401, true])
    expect((await step(browser, { code: codeOf(secret, -1) })).status).toBe(401)
    const right = await step(browser, { code: codeOf(secret, 0) })
    expect([right.status, right.headers.location]).toEqual([303, '/solution/shop/index.html'])
    expect((await browser.session()).json()).toMatchObject({ username: 'sofie' })
    expect(browser.cookie('step')).toBeUndefined()
    // The page of a completed sign-in can't be used again.
    expect((await step(browser, { code: codeOf(secret, 1) })).status).toBe(410)
  })

  test('a user can use each recovery code once, however it is typed', async () => {
    const { recoveryCodes } = await userWithApp('rik')
    const [code = ''] = recoveryCodes
    const browser = await visit(host, 'shop')
    await browser.signIn('rik')
    expect((await browser.get('/solution/shop/second-step?recovery')).text).toContain('name="recovery"')
    const typed = ` ${code.toUpperCase().replace('-', ' ').replaceAll('0', 'O').replaceAll('1', 'L')} `
    expect((await step(browser, { recovery: 'yes', code: typed })).status).toBe(303)
    const account = (await browser.get('/solution/shop/account')).text
    expect(account).toContain('Recovery codes left: 9')
    // Times are in UTC on every page, so each heading of a column of times says so.
    const headings = [...account.matchAll(/scope="col">([^<]+)</g)].map(([, text = '']) => text)
    const timed = headings.filter((text) => /^(?:Added|Last used|Signed in|Time)/.test(text))
    expect(timed).toEqual(['Added (UTC)', 'Last used (UTC)', 'Signed in (UTC)', 'Last used (UTC)', 'Time (UTC)'])
    const again = await visit(host, 'shop')
    await again.signIn('rik')
    const used = await step(again, { recovery: 'yes', code })
    expect(used.status).toBe(401)
    expect(used.text).toContain('This recovery code is wrong or has already been used.')
    expect((await step(again, { code: '000000' })).text).toContain('Codes change every 30 seconds')
  })

  test('a user must sign in again after five wrong codes', async () => {
    const { secret } = await userWithApp('tom')
    const browser = await visit(host, 'shop')
    await browser.signIn('tom')
    const codes = Array.from({ length: 5 }, () => wrongCode(secret))
    const statuses: number[] = []
    for (const code of codes) statuses.push((await step(browser, { code })).status)
    expect(statuses).toEqual([401, 401, 401, 401, 410])
    expect((await step(browser, { code: codeOf(secret, 0) })).status).toBe(410)
    expect(browser.cookie('session')).toBeUndefined()
  })

  test('the second step cannot be bypassed by a forced password change: the code is required first', async () => {
    const { browser, secret } = await userWithApp('vic')
    const { uid } = (await browser.session()).json() as { uid: string }
    await askAdmin(host, 'PATCH', `users/${uid}`, { mustChangePassword: true })
    const other = await visit(host, 'shop')
    const first = await other.signIn('vic')
    expect(first.headers.location).toBe('/solution/shop/second-step')
    expect(first.text).not.toContain('name="ticket"')
    const demanded = await step(other, { code: codeOf(secret, 0) })
    expect([demanded.status, demanded.text.includes('Choose a new password')]).toEqual([200, true])
    expect(other.cookie('session')).toBeUndefined()
  })

  test('a user loses other sessions and remembered logins when the app is added', async () => {
    await addUser(host, 'wim')
    const other = await visit(host, 'bank')
    const elsewhere = await visit(host, 'shop')
    await elsewhere.signIn('wim', PASSWORD, { remember: 'on' })
    expect((await elsewhere.session()).status).toBe(200)
    const browser = await visit(host, 'shop')
    await browser.signIn('wim')
    await addApp(browser, 'shop')
    expect((await browser.session()).status).toBe(200)
    expect((await elsewhere.session()).status).toBe(401)
    elsewhere.close()
    expect((await elsewhere.open()).text).toContain('name="password"')
    // The user has the same account in every solution, with the same second factor.
    expect((await other.signIn('wim')).headers.location).toBe('/solution/bank/second-step')
  })
})

test('the codes of oathtool, an independent implementation, are accepted', async () => {
  const { secret } = await userWithApp('oona')
  const browser = await visit(host, 'shop')
  await browser.signIn('oona')
  // Use the code for the next time step, because the set-up may have used the current one.
  const next = new Date(Date.now() + 30_000).toISOString().replace('T', ' ').replace(/\..*/, ' UTC')
  const { stdout } = await promisify(execFile)('oathtool', ['--totp', '--base32', '--now', next, secret])
  expect(stdout).toMatch(/^\d{6}\n$/)
  expect((await step(browser, { code: stdout.trim() })).status).toBe(303)
})

describe('where the policy requires a second step', () => {
  test('a user without a factor sets one up before the session starts', async () => {
    await addUser(host, 'xena')
    const browser = await visit(host, 'bank')
    expect((await browser.signIn('xena')).headers.location).toBe('/solution/bank/set-up')
    const page = await browser.get('/solution/bank/set-up')
    expect(page.text).toContain('<svg')
    expect(page.text).not.toContain('value="later"')
    const { setup, secret } = readNewApp(page.text)
    const setUp = (fields: Record<string, string>) => browser.post('/solution/bank/set-up', fields)
    const wrong = await setUp({ act: 'add-app', setup, code: wrongCode(secret) })
    expect([wrong.status, readNewApp(wrong.text).secret]).toEqual([401, secret])
    expect((await setUp({ act: 'later' })).headers.location).toBe('/solution/bank/set-up')
    const codes = await setUp({ act: 'add-app', setup, code: codeOf(secret, 0) })
    expect(recoveryCodesIn(codes.text)).toHaveLength(10)
    expect(browser.cookie('session')).toBeUndefined()
    expect((await setUp({ act: 'saved' })).headers.location).toBe('/solution/bank/index.html')
    expect((await browser.session()).json()).toMatchObject({ username: 'xena' })
    // The only factor can't be removed, because the user could no longer sign in.
    const account = await browser.get('/solution/bank/account')
    expect(account.text).toContain('Replace your authenticator app')
    const id = /name="id" value="([^"]+)"[^>]*><button[^>]*value="remove"/.exec(account.text)?.[1] ?? ''
    expect((await browser.post('/solution/bank/account', { act: 'remove', id })).status).toBe(409)
    // A user with a new phone replaces the app instead of removing it.
    const replaced = await addApp(browser, 'bank')
    expect(replaced.recoveryCodes).toHaveLength(10)
    const next = await visit(host, 'bank')
    await next.signIn('xena')
    expect((await step(next, { code: codeOf(secret, 1) }, 'bank')).status).toBe(401)
    expect((await step(next, { code: codeOf(replaced.secret, 0) }, 'bank')).status).toBe(303)
  })

  test('a secret from another account’s page cannot be set up', async () => {
    const mallory = await visit(host, 'bank')
    await addUser(host, 'mallory')
    await mallory.signIn('mallory')
    const { setup, secret } = readNewApp((await mallory.get('/solution/bank/set-up')).text)
    await addUser(host, 'yara')
    const browser = await visit(host, 'bank')
    await browser.signIn('yara')
    const answer = await browser.post('/solution/bank/set-up', { act: 'add-app', setup, code: codeOf(secret, 0) })
    expect([answer.status, answer.headers.location]).toEqual([303, '/solution/bank/set-up'])
  })

  test('during the grace period, a user can postpone the set-up', async () => {
    await addUser(host, 'zoe')
    const browser = await visit(host, 'club')
    expect((await browser.signIn('zoe')).headers.location).toBe('/solution/club/set-up')
    expect((await browser.get('/solution/club/set-up')).text).toContain('value="later"')
    const later = await browser.post('/solution/club/set-up', { act: 'later' })
    expect(later.headers.location).toBe('/solution/club/index.html')
    expect((await browser.session()).status).toBe(200)
  })

  test('a remembered login from before the policy ends when it is used', async () => {
    await addDefaultSolution(host, 'later')
    await addUser(host, 'una')
    const browser = await visit(host, 'later')
    await browser.signIn('una', PASSWORD, { remember: 'on' })
    await askAdmin(host, 'PUT', 'solutions/later/sign-in-policy', { level: 'required' })
    browser.close()
    expect((await browser.open()).text).toContain('name="password"')
    expect(browser.cookie('remember')).toBeUndefined()
  })
})

test('changing a factor or the password requires a recent confirmation, which a remembered login is not', async () => {
  const { secret } = await userWithApp('bob')
  const browser = await visit(host, 'shop')
  await browser.signIn('bob', PASSWORD, { remember: 'on' })
  expect((await step(browser, { code: codeOf(secret, 0) })).status).toBe(303)
  browser.close()
  expect((await browser.open()).status).toBe(200)
  const confirm = { location: '/solution/shop/confirm?for=account' }
  expect((await browser.post('/solution/shop/account', { act: 'new-app' })).headers).toMatchObject(confirm)
  expect((await browser.post('/solution/shop/account', { act: 'new-codes' })).headers).toMatchObject(confirm)
  expect((await browser.get('/solution/shop/password')).headers.location).toBe('/solution/shop/confirm?for=password')
  const page = await browser.get('/solution/shop/confirm?for=account')
  expect(page.text).toContain('autocomplete="one-time-code"')
  expect((await browser.post('/solution/shop/confirm', { code: wrongCode(secret) })).status).toBe(401)
  const right = await browser.post('/solution/shop/confirm', { for: 'account', code: codeOf(secret, 1) })
  expect(right.headers.location).toBe('/solution/shop/account?done=confirmed')
  expect((await browser.get('/solution/shop/account?done=confirmed')).text).toContain('You can now make the change.')
  expect(recoveryCodesIn((await browser.post('/solution/shop/account', { act: 'new-codes' })).text)).toHaveLength(10)
})

test('the account page lists this browser and the newest of the user’s other browsers', async () => {
  await addUser(host, 'busy')
  const browsers: Visitor[] = []
  for (let number = 0; number < 21; number++) {
    const browser = await visit(host, 'shop')
    await browser.signIn('busy')
    browsers.push(browser)
  }
  const endable = async (browser?: Visitor) => {
    const page = (await browser?.get('/solution/shop/account'))?.text ?? ''
    return [page.includes('This browser'), page.match(/value="end"/g)?.length]
  }
  expect([await endable(browsers[0]), await endable(browsers[20])]).toEqual([
    [true, 19],
    [true, 19],
  ])
})

test('the account page confirms what was done, but not what a made-up URL claims', async () => {
  await addUser(host, 'olaf')
  const [browser, other] = [await visit(host, 'shop'), await visit(host, 'shop')]
  for (const one of [browser, other]) await one.signIn('olaf')
  const said = async (done: string) => {
    const { text } = await browser.get(`/solution/shop/account?done=${done}`)
    return /role="status">([^<]+)</.exec(text)?.[1]
  }
  expect([await said('signed-out'), await said('nonsense')]).toEqual([undefined, undefined])
  const ended = await browser.post('/solution/shop/account', { act: 'end-others' })
  expect(ended.headers.location).toBe('/solution/shop/account?done=signed-out')
  expect(await said('signed-out')).toBe('You are signed out everywhere else.')
  const chosen = await browser.post('/solution/shop/account', { act: 'language', language: 'nl' })
  expect(chosen.headers.location).toBe('/solution/shop/account?done=language')
  expect(await said('language')).toBe('De taal is opgeslagen.')
})

test('without a mail server, the account page shows why it rejects a new address', async () => {
  await addUser(host, 'quinn')
  const browser = await visit(host, 'shop')
  await browser.signIn('quinn')
  await browser.get('/solution/shop/account')
  const answer = await browser.post('/solution/shop/account', { act: 'new-address', address: 'quinn@' })
  expect([answer.status, answer.text.match(/id="refusal"/g)?.length]).toEqual([422, 1])
})

test('where sign-ins ask for no second factor, the account page says so', async () => {
  await addDefaultSolution(host, 'easy')
  await askAdmin(host, 'PUT', 'solutions/easy/sign-in-policy', { level: 'off' })
  await addUser(host, 'petra')
  const text = 'normally doesn’t ask for a second factor when you sign in'
  const browser = await visit(host, 'easy')
  await browser.signIn('petra')
  const empty = (await browser.get('/solution/easy/account')).text
  expect([empty.includes(text), empty.includes('Add one to protect your account')]).toEqual([true, false])
  await addApp(browser, 'easy')
  expect((await browser.get('/solution/easy/account')).text).toContain(text)
  // A user who has a factor, but did not use it at this sign-in, must still confirm a change.
  const unconfirmed = await visit(host, 'easy')
  await unconfirmed.signIn('petra')
  expect((await unconfirmed.get('/solution/easy/account?done=confirmed')).text).not.toContain('You can now make')
  const asked = await visit(host, 'shop')
  await addUser(host, 'piet')
  await asked.signIn('piet')
  const other = (await asked.get('/solution/shop/account')).text
  expect([other.includes(text), other.includes('Add one to protect your account')]).toEqual([false, true])
})

test('the account page does not show the activity of an earlier user with the same name', async () => {
  const recorded = async () =>
    ((await askAdmin(host, 'GET', 'audit?actor=user:nina&action=sign-in')).items as unknown[]).length
  const former = await addUser(host, 'nina')
  expect((await (await visit(host, 'shop')).signIn('nina', 'wrong password')).status).toBe(401)
  await expect.poll(recorded).toBe(1)
  await askAdmin(host, 'DELETE', `users/${former}`, undefined, 204)
  await addUser(host, 'nina')
  const browser = await visit(host, 'shop')
  await browser.signIn('nina')
  await expect.poll(recorded).toBe(2)
  const [, activity = ''] = (await browser.get('/solution/shop/account')).text.split('id="activity-title"')
  expect(activity.match(/scope="row"/g)).toHaveLength(1)
})

test('the account page sends users who are signed out to the login page', async () => {
  const browser = await visit(host, 'shop')
  const sent = [
    await browser.get('/solution/shop/account'),
    await browser.get('/solution/shop/confirm?for=account'),
    await browser.post('/solution/shop/account', { act: 'end-others' }),
  ]
  const answers = sent.map(({ status, headers }) => [status, headers.location])
  expect(answers).toEqual(sent.map(() => [303, '/solution/shop/index.html']))
})

test('the account page ignores a form for an action that it does not offer', async () => {
  await addUser(host, 'kirsi')
  const browser = await visit(host, 'shop')
  await browser.signIn('kirsi')
  await browser.get('/solution/shop/account')
  for (const act of ['', 'saved', 'constructor', '__proto__', 'toString']) {
    const answer = await browser.post('/solution/shop/account', { act })
    expect([act, answer.status, answer.headers.location]).toEqual([act, 303, '/solution/shop/account'])
  }
})

test('the pages of the second step require an open sign-in and their own form', async () => {
  const browser = await visit(host, 'shop')
  for (const page of ['second-step', 'set-up']) {
    expect((await browser.get(`/solution/shop/${page}`)).status).toBe(410)
    expect((await browser.post(`/solution/shop/${page}`, { code: '123456' })).status).toBe(410)
  }
  const { secret } = await userWithApp('ada')
  await browser.signIn('ada')
  const foreign = await browser.post('/solution/shop/second-step', { code: codeOf(secret, 0) }, { token: null })
  expect(foreign.status).toBe(410)
  expect(browser.cookie('session')).toBeUndefined()
})

test('a user chooses a language on the account page, which applies immediately and at the next sign-in', async () => {
  await addUser(host, 'lola')
  const browser = await visit(host, 'shop', { 'accept-language': 'en' })
  await browser.signIn('lola')
  const choose = (language: string) => browser.post('/solution/shop/account', { act: 'language', language })
  expect((await browser.get('/solution/shop/account')).text).toContain('<option value="nl">Nederlands</option>')
  await choose('xx')
  expect((await browser.get('/solution/shop/account')).text).toContain('Your account')
  await choose('nl')
  expect((await browser.get('/solution/shop/account')).text).toContain('<html lang="nl"')
  await addDefaultSolution(host, 'next')
  const other = await visit(host, 'next', { 'accept-language': 'en' })
  await other.signIn('lola')
  expect((await other.session()).json()).toMatchObject({ locale: 'nl' })
})

test('after a reload, an open form uses the language chosen on the account page, or one that a script chose later', async () => {
  await addUser(host, 'lea')
  const files = {
    'i18n/default.json': JSON.stringify({ greeting: 'Hello' }),
    'i18n/nl.json': JSON.stringify({ greeting: 'Dag' }),
    'i18n/de.json': JSON.stringify({ greeting: 'Guten Tag' }),
    'forms/main.json': JSON.stringify(formWith(label('greets', 'i18n:greeting'), button('german'))),
    'forms/main.js': "function german() { i18n.setLocale('de') }",
  }
  await addDefaultSolution(host, 'tongues', { firstForm: 'main' }, files)
  const browser = await visit(host, 'tongues', { 'accept-language': 'en' })
  await browser.signIn('lea')
  const first = await openClient(host.url, 'tongues', browser)
  const { client } = await first.frame('hello')
  expect(first.text('main', 'greets')).toBe('Hello')
  first.close()
  await browser.get('/solution/tongues/account')
  expect((await browser.post('/solution/tongues/account', { act: 'language', language: 'nl' })).status).toBe(303)
  const reload = async () => {
    const page = await openClientPage(host.url, 'tongues', browser, { client })
    page.hello()
    await page.frame('form')
    expect(await page.frame('hello')).toMatchObject({ client, isNew: false })
    return page
  }
  const dutch = await reload()
  expect(dutch.text('main', 'greets')).toBe('Dag')
  await dutch.press('main', 'german')
  expect(dutch.text('main', 'greets')).toBe('Guten Tag')
  dutch.close()
  await browser.get('/solution/tongues/account')
  expect((await browser.post('/solution/tongues/account', { act: 'language', language: 'nl' })).status).toBe(303)
  const again = await reload()
  expect(again.text('main', 'greets')).toBe('Dag')
  await again.press('main', 'german')
  again.close()
  const german = await reload()
  expect(german.text('main', 'greets')).toBe('Guten Tag')
  german.close()
})
