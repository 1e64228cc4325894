import { beforeAll, expect, test } from 'vitest'
import { addSolutionOfProvider, comeTo, textOf } from '../support/oauth.ts'
import type { OidcProvider } from '../support/oidc-provider.ts'
import { createPerson, signOutAtProvider } from '../support/person.ts'
import { OFFLINE, type SharedOAuthHost, sharedOAuthHost } from '../support/shared-oauth-host.ts'
import { askAdmin } from '../support/users.ts'

let provider: OidcProvider
let host: SharedOAuthHost['host']

beforeAll(async () => {
  ;({ provider, host } = await sharedOAuthHost())
  await addSolutionOfProvider(host, provider, {
    name: 'byebye',
    files: {
      'globals.js': `function onSolutionOpen(arg, q) {
        if (q.leave) { security.logout(); application.showURL('https://example.org/goodbye') }
      }`,
    },
  })
})

/** @returns the URL of the link on a page that redirects */
function linkIn(html: string): string {
  return (/href="(http[^"]+)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&')
}

test('signing out redirects to the provider, which ends its session and redirects to the signed-out page', async () => {
  const anna = comeTo(host, 'offline')
  await anna.signIn()
  const page = await anna.logOut()
  const location = linkIn(page.text)
  expect(location).toContain(`${provider.issuer}/`)
  const asked = new URL(location).searchParams
  expect([...asked.keys()].sort()).toEqual(['client_id', 'id_token_hint', 'post_logout_redirect_uri'])
  const back = await signOutAtProvider(anna.person, location, { from: page.url })
  if (!('method' in back)) throw new Error('the provider kept the browser')
  const signedOut = await anna.person.open(back.url, { from: back.from })
  expect(signedOut.status).toBe(200)
  expect(textOf(signedOut.text)).toContain('You are signed out')
  // The session at the provider has ended, so the provider asks for the password again.
  expect((await anna.session()).status).toBe(401)
  expect((await anna.signIn()).status).toBe(303)
})

test('after a sign-out, the link to sign in again returns to the page with its query, which is not sent to the provider', async () => {
  const anna = comeTo(host, 'offline')
  await anna.signIn({}, '?tenant=north')
  const page = await anna.logOut()
  const location = linkIn(page.text)
  const state = new URL(location).searchParams.get('state') ?? ''
  expect(Buffer.from(state, 'base64url').toString('latin1')).not.toContain('north')
  const back = await signOutAtProvider(anna.person, location, { from: page.url })
  if (!('method' in back)) throw new Error('the provider kept the browser')
  const signedOut = await anna.person.open(back.url, { from: back.from })
  expect(signedOut.text).toContain('href="/solution/offline/index.html?tenant=north"')
})

test('signing out revokes the refresh token and removes the remembered login', async () => {
  const anna = comeTo(host, 'offline')
  await anna.signIn()
  const count = () => provider.requests.filter(({ path }) => path.endsWith('/revocation')).length
  const before = count()
  await anna.logOut()
  await expect.poll(count).toBe(before + 1)
  expect(anna.cookie('remember')).toBeUndefined()
  expect((await anna.open()).status).toBe(302)
})

test('if a script calls showURL at logout, the browser goes to the provider and then to that URL', async () => {
  const anna = comeTo(host, 'byebye')
  await anna.signIn()
  const { token } = await (await anna.openClient('?leave=1')).frame('sign-out')
  const leaving = await anna.logOut(token)
  const location = linkIn(leaving.text)
  expect(new URL(location).origin).toBe(provider.issuer)
  const back = await signOutAtProvider(anna.person, location)
  if (!('method' in back)) throw new Error('the provider kept the browser')
  const end = await anna.person.open(back.url, { from: back.from })
  expect([end.status, end.headers.location]).toEqual([303, 'https://example.org/goodbye'])
})

test('a forged state on the signed-out page does not cause a redirect', async () => {
  const anna = comeTo(host, 'byebye')
  const text = Buffer.from(JSON.stringify({ target: 'https://evil.example/', provider: null, expiresAt: 9e15 }))
  for (const state of [`${text.toString('base64url')}.AAAA`, 'x', '.', 'https://evil.example/']) {
    const page = await anna.open(`?signed-out&state=${state}`)
    expect([page.status, page.headers.location]).toEqual([200, undefined])
  }
})

test('signing out at the provider ends that user’s sessions in all browsers, and no other user’s', async () => {
  const [one, two] = [comeTo(host, 'offline'), comeTo(host, 'byebye', createPerson())]
  const bram = comeTo(host, 'offline')
  await one.signIn()
  await two.signIn()
  await bram.signIn({ account: 'bram' })
  expect([(await one.session()).status, (await two.session()).status]).toEqual([200, 200])
  const sentBefore = provider.backchannel.length
  expect(await provider.sessionsEnd('sub-of-anna')).toBeGreaterThan(1)
  await expect.poll(async () => [(await one.session()).status, (await two.session()).status]).toEqual([401, 401])
  expect((await bram.session()).status).toBe(200)
  // Ignore other clients: other test files use this provider, and may have left sessions there.
  const own = provider.backchannel.slice(sentBefore).filter(({ clientId }) => ['offline', 'byebye'].includes(clientId))
  expect(own.map(({ clientId }) => clientId)).toEqual(expect.arrayContaining(['offline', 'byebye']))
  expect(own.filter(({ fault }) => fault !== null)).toEqual([])
  // The session's remembered login was removed too.
  one.person.close()
  expect((await one.open()).status).toBe(302)
})

test('users can sign out while the provider is down', async () => {
  const anna = comeTo(host, 'offline')
  await anna.signIn()
  await provider.down()
  try {
    expect((await anna.logOut()).status).toBe(200)
    expect((await anna.session()).status).toBe(401)
  } finally {
    await provider.up()
  }
})

test('signing out requires a POST from our own page; a POST from another site is rejected', async () => {
  const anna = comeTo(host, 'offline')
  await anna.signIn()
  const foreign = await anna.person.open(`${anna.base}/logout`, { method: 'POST', from: 'https://evil.example/' })
  expect(foreign.status).toBe(403)
  expect((await anna.session()).status).toBe(200)
})

/**
 * Adds a solution with a provider that has no end-session endpoint. When its users sign out, they stay signed in at the
 * provider.
 */
async function addWithoutEndSession(name: string): Promise<void> {
  const found = await fetch(`${provider.issuer}/.well-known/openid-configuration`)
  const { authorization_endpoint, token_endpoint, jwks_uri } = (await found.json()) as Record<string, string>
  const addresses = { authorizationBaseUrl: authorization_endpoint, accessTokenEndpoint: token_endpoint, jwks_uri }
  await addSolutionOfProvider(host, provider, { name, oauth: { ...addresses, issuer: undefined } })
}

const promptOf = (location: string) => new URL(location).searchParams.get('prompt')

test('if the provider does not support sign-out, the host asks it to prompt at the next sign-in', async () => {
  await addWithoutEndSession('lasting')
  const anna = comeTo(host, 'lasting')
  expect(promptOf((await anna.start()).location)).toBeNull()
  await anna.signIn()
  expect((await anna.logOut()).headers.location).toMatch(/signed-out/)
  expect(promptOf((await anna.start()).location)).toBe('login')
  // Starting a sign-in without finishing it changes nothing.
  expect(promptOf((await anna.start()).location)).toBe('login')
  expect((await anna.signIn()).status).toBe(303)
  anna.person.close()
  expect(promptOf((await anna.start()).location)).toBeNull()
  // A user whose session has already ended can still sign out, and must then sign in again at the provider. The
  // `consent` from the settings is sent too.
  await askAdmin(host, 'PUT', 'solutions/lasting/oauth', OFFLINE)
  const bram = comeTo(host, 'lasting')
  await bram.signIn({ account: 'bram' })
  bram.person.close()
  await bram.logOut()
  expect(promptOf((await bram.start()).location)).toBe('login consent')
})

test('after a sign-out at the provider, the host does not ask it to prompt', async () => {
  const anna = comeTo(host, 'byebye')
  await anna.signIn()
  expect(linkIn((await anna.logOut()).text)).toContain(provider.issuer)
  expect(promptOf((await anna.start()).location)).toBeNull()
})
