import { beforeAll, expect, test } from 'vitest'
import { CLIENT_SECRET } from '../support/client-secret.ts'
import { addSolutionOfProvider, comeTo, logOf, textOf } from '../support/oauth.ts'
import type { OidcProvider } from '../support/oidc-provider.ts'
import { createPerson, deliver, signInAtProvider } from '../support/person.ts'
import { type SharedOAuthHost, sharedOAuthHost } from '../support/shared-oauth-host.ts'
import { askAdmin } from '../support/users.ts'

let provider: OidcProvider
let other: OidcProvider
let host: SharedOAuthHost['host']

beforeAll(async () => {
  ;({ provider, other, host } = await sharedOAuthHost())
  await addSolutionOfProvider(host, provider, {
    name: 'choice',
    script: `function getOAuthConfig(q) {
      const issuers = { one: '${provider.issuer}', two: '${other.issuer}' }
      return issuers[q.at] ? { api: 'Custom', issuer: issuers[q.at], clientId: 'choice', apiSecret: '%%CLIENT%%' } : null
    }
    function onSolutionOpen(arg, q) { security.login(q.last_login.email, q.last_login.iss, ['Users']) }`,
    manifest: { authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined },
  })
  const hosts = [provider.hostPort, other.hostPort]
  await askAdmin(host, 'PUT', 'solutions/choice/secrets/CLIENT', { value: CLIENT_SECRET, hosts }, 204)
})

function tokenRequests(at = provider): number {
  return at.requests.filter(({ path }) => path.endsWith('/token')).length
}

test('ten tabs opened at the same time can all complete a sign-in, in any order', async () => {
  const anna = comeTo(host, 'offline')
  const starts = await Promise.all(Array.from({ length: 10 }, (_, tab) => anna.start(`?tab=${tab}`)))
  for (const tab of [7, 0, 9, 3, 1, 2, 4, 5, 6, 8]) {
    const back = await signInAtProvider(anna.person, starts[tab]?.location ?? '', { account: 'anna', from: anna.base })
    const answer = await deliver(anna.person, back)
    expect([answer.status, answer.headers.location]).toEqual([303, `/solution/offline/index.html?tab=${tab}`])
  }
  expect((await anna.session()).status).toBe(200)
})

test('30 tabs leave at most 20 sign-in cookies, and the last tab can sign in', async () => {
  const anna = comeTo(host, 'offline')
  let last = ''
  for (let tab = 0; tab < 30; tab++) last = (await anna.start()).location
  expect(anna.cookieNames().filter((name) => name.startsWith('oauth-')).length).toBeLessThanOrEqual(20)
  const answer = await deliver(anna.person, await signInAtProvider(anna.person, last, { account: 'anna' }))
  expect(answer.status).toBe(303)
})

test('repeating the OAuth callback redirects the signed-in user to the page, without a request to the provider', async () => {
  const anna = comeTo(host, 'offline')
  const { location } = await anna.start('?page=2')
  const back = await signInAtProvider(anna.person, location, { account: 'anna' })
  await deliver(anna.person, back)
  const asked = tokenRequests()
  const again = await deliver(anna.person, back)
  expect([again.status, again.headers.location]).toEqual([303, '/solution/offline/index.html?page=2'])
  expect(tokenRequests()).toBe(asked)
})

test('repeating the OAuth callback after signing out shows a page with a link to sign in again', async () => {
  const anna = comeTo(host, 'offline')
  const { location } = await anna.start()
  const back = await signInAtProvider(anna.person, location, { account: 'anna' })
  await deliver(anna.person, back)
  await anna.logOut()
  const again = await deliver(anna.person, back)
  expect(again.status).toBe(400)
  expect(again.text).toContain('href="/solution/offline/index.html"')
  expect((await anna.session()).status).toBe(401)
})

test('login CSRF: an OAuth callback in a browser that did not start the sign-in does not sign anyone in and does not use it up', async () => {
  const attacker = comeTo(host, 'offline')
  const { location } = await attacker.start()
  const back = await signInAtProvider(attacker.person, location, { account: 'bram' })
  const asked = tokenRequests()
  const anna = comeTo(host, 'offline')
  const fooled = await deliver(anna.person, back)
  expect(fooled.status).toBe(400)
  expect(fooled.text).toContain('href="/solution/offline/index.html"')
  // The victim also has their own sign-in in progress.
  await anna.start()
  expect((await deliver(anna.person, back)).status).toBe(400)
  // The victim has a cookie with the same name but another value.
  const name = attacker.cookieNames().find((cookie) => cookie.startsWith('oauth-')) ?? ''
  anna.person.plant(host.url, name, 'x'.repeat(43), '/solution/offline/')
  expect((await deliver(anna.person, back)).status).toBe(400)
  expect(tokenRequests()).toBe(asked)
  expect((await anna.session()).status).toBe(401)
  // The browser that started the sign-in can still finish it.
  expect((await deliver(attacker.person, back)).status).toBe(303)
})

test('an OAuth callback with a missing, duplicate or unknown state causes no request to the provider', async () => {
  const anna = comeTo(host, 'offline')
  await anna.start()
  const asked = tokenRequests()
  const path = `${anna.base}/app_oauth/index.html`
  for (const query of [
    '?code=abc',
    '?code=abc&state=',
    '?code=abc&state=a&state=b',
    '?code=abc&state=zzz',
    '?x=1',
    '?',
  ]) {
    const answer = await anna.person.open(`${path}${query}`)
    expect([query, answer.status < 500]).toEqual([query, true])
    expect(answer.text).toContain('index.html"')
  }
  expect(tokenRequests()).toBe(asked)
})

test('the code from one sign-in with the state from another is rejected', async () => {
  const anna = comeTo(host, 'offline')
  const [one, two] = [await anna.start('?tab=1'), await anna.start('?tab=2')]
  const backs = []
  for (const { location } of [one, two]) {
    backs.push(new URL((await signInAtProvider(anna.person, location, { account: 'anna' })).url))
  }
  const crossed = new URL(backs[0] as URL)
  crossed.searchParams.set('code', backs[1]?.searchParams.get('code') ?? '')
  const answer = await anna.person.open(crossed.href)
  expect(answer.status).toBe(403)
  expect((await anna.session()).status).toBe(401)
})

test('one solution’s OAuth callback does not sign the user in to another', async () => {
  const person = createPerson()
  const [crm, elsewhere] = [comeTo(host, 'offline', person), comeTo(host, 'flows', person)]
  const { location } = await crm.start()
  const back = await signInAtProvider(person, location, { account: 'anna' })
  const answer = await person.open(back.url.replace('/solution/offline/', '/solution/flows/'))
  expect(answer.status).toBe(400)
  expect((await elsewhere.session()).status).toBe(401)
})

test('mix-up attack: one provider’s response to a sign-in with another is rejected, and the code is not sent', async () => {
  const anna = comeTo(host, 'choice')
  await other.setClient({ client_id: 'choice', redirect_uris: [`${anna.base}/app_oauth/index.html`] })
  const [one, two] = [await anna.start('?at=one'), await anna.start('?at=two')]
  const stateOfTwo = new URL(two.location).searchParams.get('state') ?? ''
  const back = new URL((await signInAtProvider(anna.person, one.location, { account: 'anna' })).url)
  back.searchParams.set('state', stateOfTwo)
  const [asked, askedOther] = [tokenRequests(), tokenRequests(other)]
  const answer = await anna.person.open(back.href)
  expect(answer.status).toBe(403)
  expect([tokenRequests(), tokenRequests(other)]).toEqual([asked, askedOther])
  const lines = await logOf(host, 'choice')
  expect(lines.at(-1)).toMatchObject({ code: 'oauth_token', message: expect.stringContaining(other.issuer) })
})

test('OAUTH_AUTHENTICATOR: each URL redirects to its provider; if no provider matches, a page says so', async () => {
  const anna = comeTo(host, 'choice')
  expect((await anna.signIn({}, '?at=one')).status).toBe(303)
  expect((await anna.session()).json()).toMatchObject({ uid: provider.issuer })
  const nobody = comeTo(host, 'choice')
  const page = await nobody.open('?at=three')
  expect(page.status).toBe(503)
  expect(textOf(page.text)).toContain('Reference:')
})
