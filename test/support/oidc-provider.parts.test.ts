import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  type JSONWebKeySet,
  jwtVerify,
} from 'jose'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT_SECRET } from './client-secret.ts'
import { type OidcProvider, startOidcProvider } from './oidc-provider.ts'
import { type Callback, createPerson, deliver, type Person, signInAtProvider, signOutAtProvider } from './person.ts'

/** Nothing listens at this URL, and nothing needs to: the simulated user doesn't follow redirects to it. */
const REDIRECT = 'http://127.0.0.1:9/solution/one/app_oauth/index.html'
const AFTER = 'http://127.0.0.1:9/solution/one/index.html?signed-out'

const ANNA = { account: 'anna' }

let provider: OidcProvider
let configuration: client.Configuration
let logout: { readonly address: string; readonly tokens: string[]; readonly stop: () => void }

beforeAll(async () => {
  logout = await listenForLogout()
  provider = await startOidcProvider()
  await provider.setClient({
    client_id: 'one',
    client_name: 'Solution <One>',
    redirect_uris: [REDIRECT],
    post_logout_redirect_uris: [AFTER],
    backchannel_logout_uri: logout.address,
  })
  configuration = await discover(provider)
})

afterAll(async () => {
  await provider.stop()
  logout.stop()
})

test('oidc-provider: a code flow with PKCE returns the account’s claims, and its refresh token is rotated', async () => {
  const person = createPerson()
  const begun = await begin({ scope: 'openid email profile offline_access', prompt: 'consent' })
  const callback = await signInAtProvider(person, begun.location, { account: 'anna' })
  expect(callback).toMatchObject({ method: 'GET', fields: [] })
  const tokens = await finish(begun, callback)
  expect(tokens.claims()).toMatchObject({
    email: 'anna@example.org',
    email_verified: true,
    sub: 'sub-of-anna',
    iss: provider.issuer,
  })
  const again = await client.refreshTokenGrant(configuration, String(tokens.refresh_token))
  expect(again.refresh_token).not.toBe(tokens.refresh_token)
  await expect(client.refreshTokenGrant(configuration, String(tokens.refresh_token))).rejects.toMatchObject({
    error: 'invalid_grant',
  })
  const asked = provider.requests.filter(({ path }) => path === '/token')
  expect(asked.map(({ status }) => status)).toEqual([200, 200, 400])
  expect(asked[0]?.body).toMatchObject({ grant_type: 'authorization_code', redirect_uri: REDIRECT })
})

test('oidc-provider: a request without PKCE is rejected with a redirect that contains the error', async () => {
  const location = client.buildAuthorizationUrl(configuration, { redirect_uri: REDIRECT, scope: 'openid', state: 's' })
  const { url } = await signInAtProvider(createPerson(), location.href, { account: 'anna' })
  expect(new URL(url).searchParams.get('error')).toBe('invalid_request')
})

test('oidc-provider: a user who denies access or cancels is redirected back with access_denied', async () => {
  for (const answers of [
    { account: 'anna', consent: false },
    { account: 'anna', cancel: true },
  ]) {
    const { location } = await begin({ scope: 'openid' })
    const { url } = await signInAtProvider(createPerson(), location, answers)
    expect(new URL(url).searchParams.get('error')).toBe('access_denied')
  }
})

test('oidc-provider: a wrong password is rejected', async () => {
  const { location } = await begin({ scope: 'openid' })
  const signIn = signInAtProvider(createPerson(), location, { account: 'anna', password: 'wrong' })
  await expect(signIn).rejects.toThrow('refuses account "anna"')
})

test('oidc-provider: form_post returns a form, which the browser sends without the other site’s cookies', async () => {
  const begun = await begin({ scope: 'openid email', response_mode: 'form_post' })
  const callback = await signInAtProvider(createPerson(), begun.location, { account: 'bram' })
  expect({ method: callback.method, url: callback.url }).toEqual({ method: 'POST', url: REDIRECT })
  const asQuery = `${REDIRECT}?${new URLSearchParams(callback.fields.map((pair) => [...pair]))}`
  const tokens = await finish(begun, { ...callback, url: asQuery })
  expect(tokens.claims()?.email).toBe('bram@example.org')
})

test('oidc-provider: the ID token is in the fragment, signed with a key from the key set', async () => {
  const nonce = client.randomNonce()
  const parameters = { redirect_uri: REDIRECT, scope: 'openid email', response_type: 'id_token', state: 's', nonce }
  const { href } = client.buildAuthorizationUrl(configuration, parameters)
  const { url } = await signInAtProvider(createPerson(), href, { account: 'anna' })
  const fragment = new URLSearchParams(new URL(url).hash.slice(1))
  const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`))
  const { payload } = await jwtVerify(fragment.get('id_token') ?? '', keys, {
    audience: 'one',
    issuer: provider.issuer,
  })
  expect({ email: payload.email, nonce: payload.nonce }).toEqual({ email: 'anna@example.org', nonce })
})

test('oidc-provider: after a key rotation, tokens are signed with the new key; the old one stays or is removed', async () => {
  const other = await startOidcProvider()
  const signIn = async () => {
    // Create a new configuration each time. A used one caches the provider's keys for a minute.
    const at = await discover(other)
    const begun = await begin({ scope: 'openid' }, at)
    const { id_token } = await finish(begun, await signInAtProvider(createPerson(), begun.location, ANNA), at)
    return decodeProtectedHeader(String(id_token)).kid
  }
  const kidsOf = async () => {
    const { keys } = await keysOf(other)
    return keys.map(({ kid }) => kid)
  }
  try {
    await other.setClient({ client_id: 'one', redirect_uris: [REDIRECT] })
    const before = await signIn()
    const second = await other.rotate()
    expect(await signIn()).toBe(second)
    expect(await kidsOf()).toEqual(expect.arrayContaining([before, second]))
    const third = await other.rotate({ keepsOld: false })
    expect(await signIn()).toBe(third)
    expect(await kidsOf()).toEqual([third])
  } finally {
    await other.stop()
  }
})

test('oidc-provider: signing out asks for confirmation, redirects back and sends the client a logout token', async () => {
  const person = createPerson()
  const begun = await begin({ scope: 'openid' })
  const tokens = await finish(begun, await signInAtProvider(person, begun.location, { account: 'bram' }))
  const { href } = client.buildEndSessionUrl(configuration, {
    post_logout_redirect_uri: AFTER,
    id_token_hint: String(tokens.id_token),
    state: 'bye',
  })
  const sent = logout.tokens.length
  const left = await signOutAtProvider(person, href)
  expect(left).toMatchObject({ method: 'GET', url: `${AFTER}=&state=bye` })
  expect(logout.tokens.length).toBe(sent + 1)
  const keys = createLocalJWKSet(await keysOf(provider))
  const { payload, protectedHeader } = await jwtVerify(String(logout.tokens.at(-1)), keys, { audience: 'one' })
  expect(payload).toMatchObject({ sub: 'sub-of-bram', sid: tokens.claims()?.sid })
  expect(protectedHeader.typ).toBe('logout+jwt')
})

test('oidc-provider: `sessionsEnd` signs an account out in all its browsers, but does not affect other accounts', async () => {
  const persons = [createPerson(), createPerson()]
  for (const person of persons) await signIn(person, 'anna')
  const other = createPerson()
  await signIn(other, 'bram')
  const sent = logout.tokens.length
  const ended = await provider.sessionsEnd('sub-of-anna')
  expect(ended).toBeGreaterThanOrEqual(2)
  const subs = logout.tokens.slice(sent).map((token) => decodeJwt(token).sub)
  expect(new Set(subs)).toEqual(new Set(['sub-of-anna']))
  expect(provider.backchannel.at(-1)).toEqual({ clientId: 'one', sub: 'sub-of-anna', fault: null })
  expect(await provider.sessionsEnd('sub-of-anna')).toBe(0)
  // The user is still signed in at the provider, so they need no password.
  const { location } = await begin({ scope: 'openid' })
  const callback = await signInAtProvider(other, location, { account: 'bram', password: 'not asked for' })
  expect(new URL(callback.url).searchParams.has('code')).toBe(true)
})

test('oidc-provider: `down` makes it unreachable; after `up`, it continues with the same data', async () => {
  const person = createPerson()
  await signIn(person, 'anna')
  await provider.down()
  await expect(person.open(`${provider.issuer}/jwks`)).rejects.toThrow('ECONNREFUSED')
  await provider.up()
  await signIn(person, 'anna')
})

test('oidc-provider: if claims are only at the user info endpoint, the ID token in a code flow has no email', async () => {
  const other = await startOidcProvider({ claimsIn: 'userinfo', refreshTokens: 'always' })
  try {
    await other.setClient({ client_id: 'one', redirect_uris: [REDIRECT] })
    const at = await discover(other)
    const begun = await begin({ scope: 'openid email' }, at)
    const callback = await signInAtProvider(createPerson(), begun.location, { account: 'anna' })
    const tokens = await finish(begun, callback, at)
    expect(tokens.claims()?.email).toBe(undefined)
    expect(tokens.refresh_token).toEqual(expect.any(String))
    const info = await client.fetchUserInfo(at, tokens.access_token, 'sub-of-anna')
    expect(info).toMatchObject({ email: 'anna@example.org', email_verified: true })
  } finally {
    await other.stop()
  }
})

test('person: a form from another site is sent without Lax cookies, and `deliver` posts it again', async () => {
  const seen: { method: string; cookie: string; site: string; body: string }[] = []
  const host = createServer(async (request, response) => {
    const body = await readAll(request)
    const { cookie = '', 'sec-fetch-site': site = '' } = request.headers
    seen.push({ method: String(request.method), cookie, site: String(site), body })
    const isAgain = body.includes('from=')
    response.writeHead(isAgain ? 303 : 200, { 'content-type': 'text/html', 'set-cookie': 'lax=1; Path=/; HttpOnly' })
    const inputs = body === '' ? '' : '<input type="hidden" name="code" value="c">'
    response.end(isAgain ? '' : `<form method="post">${inputs}<input type="hidden" name="from" value="page"></form>`)
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/back`
  try {
    const person = createPerson()
    await person.open(url)
    const from = 'https://provider.example/'
    const page = await deliver(person, { method: 'POST', url, fields: [['code', 'c']], from })
    expect(page.status).toBe(303)
    await deliver(person, { method: 'GET', url: `${url}#state=s&state=t`, fields: [], from })
    expect(seen.slice(1)).toEqual([
      { method: 'POST', cookie: '', site: 'cross-site', body: 'code=c' },
      { method: 'POST', cookie: 'lax=1', site: 'same-origin', body: 'code=c&from=page' },
      { method: 'GET', cookie: 'lax=1', site: 'cross-site', body: '' },
      { method: 'POST', cookie: 'lax=1', site: 'same-origin', body: 'from=page&state=s&state=t' },
    ])
  } finally {
    host.close()
    host.closeAllConnections()
  }
})

type Begun = { readonly location: string; readonly checks: client.AuthorizationCodeGrantChecks }

function discover({ issuer }: OidcProvider): Promise<client.Configuration> {
  const options = { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] }
  return client.discovery(new URL(issuer), 'one', CLIENT_SECRET, undefined, options)
}

async function keysOf({ issuer }: OidcProvider): Promise<JSONWebKeySet> {
  return (await (await fetch(`${issuer}/jwks`)).json()) as JSONWebKeySet
}

async function begin(parameters: Record<string, string>, at = configuration): Promise<Begun> {
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const nonce = client.randomNonce()
  const location = client.buildAuthorizationUrl(at, {
    redirect_uri: REDIRECT,
    state,
    nonce,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...parameters,
  })
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
  return { location: location.href, checks }
}

function finish({ checks }: Begun, { url }: Callback, at = configuration) {
  return client.authorizationCodeGrant(at, new URL(url), checks)
}

async function signIn(person: Person, account: string): Promise<void> {
  const begun = await begin({ scope: 'openid' })
  await finish(begun, await signInAtProvider(person, begun.location, { account }))
}

async function listenForLogout() {
  const tokens: string[] = []
  const server = createServer(async (request, response) => {
    tokens.push(new URLSearchParams(await readAll(request)).get('logout_token') ?? '')
    response.writeHead(200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    address: `http://one.localhost:${port}/backchannel-logout`,
    tokens,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
