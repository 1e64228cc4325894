import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT_SECRET } from './client-secret.ts'
import { type Glewlwyd, glewlwydPath, signInAtGlewlwyd, signOutAtGlewlwyd, startGlewlwyd } from './glewlwyd.ts'
import { type Callback, createPerson, type Person } from './person.ts'

const REDIRECT = 'http://127.0.0.1:9/solution/one/app_oauth/index.html'
const AFTER = 'http://127.0.0.1:9/solution/one/index.html?signed-out'

if (glewlwydPath === undefined) {
  console.info('Glewlwyd is not installed: its tests are left out')
  test('Glewlwyd is not installed here', () => {
    expect(glewlwydPath).toBe(undefined)
  })
} else testGlewlwyd()

function testGlewlwyd(): void {
  let provider: Glewlwyd
  let configuration: client.Configuration
  const logoutTokens: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    logoutTokens.push(new URLSearchParams(text).get('logout_token') ?? '')
    response.writeHead(200).end()
  })

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    provider = await startGlewlwyd()
    await provider.addClient({
      clientId: 'one',
      redirectUris: [REDIRECT],
      postLogoutRedirectUris: [AFTER],
      backchannelLogoutUri: `http://127.0.0.1:${port}/backchannel-logout`,
    })
    const options = { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] }
    configuration = await client.discovery(new URL(provider.issuer), 'one', CLIENT_SECRET, undefined, options)
  })

  afterAll(async () => {
    await provider?.stop()
    server.close()
    server.closeAllConnections()
  })

  test('glewlwyd: a code flow with PKCE returns the account’s email', async () => {
    const { tokens } = await signIn(createPerson(), 'query')
    expect(tokens.claims()).toMatchObject({
      iss: provider.issuer,
      email: 'anna@example.org',
      email_verified: true,
    })
    const info = await client.fetchUserInfo(configuration, tokens.access_token, tokens.claims()?.sub ?? '')
    expect(info.email).toBe('anna@example.org')
  })

  test('glewlwyd: form_post and fragment also return a code', async () => {
    for (const mode of ['form_post', 'fragment'] as const) {
      const { tokens, callback } = await signIn(createPerson(), mode)
      expect(callback.method).toBe(mode === 'form_post' ? 'POST' : 'GET')
      expect(tokens.claims()?.email).toBe('anna@example.org')
    }
  })

  test('glewlwyd: sends iss if configured to; with form_post it encodes the value twice', async () => {
    const other = await startGlewlwyd({ sendsIssuer: true })
    try {
      await other.addClient({ clientId: 'one', redirectUris: [REDIRECT] })
      const { location } = await begin('query')
      const there = location.replace(provider.issuer, other.issuer)
      const { url } = await signInAtGlewlwyd(createPerson(), there, { account: 'bram' })
      expect(new URL(url).searchParams.get('iss')).toBe(other.issuer)
      const posted = there.replace('response_mode=query', 'response_mode=form_post')
      const { fields } = await signInAtGlewlwyd(createPerson(), posted, { account: 'bram' })
      expect(new Map(fields).get('iss')).toBe(encodeURIComponent(other.issuer))
    } finally {
      await other.stop()
    }
  })

  test('glewlwyd: the ID token is in the fragment', async () => {
    const nonce = client.randomNonce()
    const { href } = client.buildAuthorizationUrl(configuration, {
      redirect_uri: REDIRECT,
      scope: 'openid email',
      response_type: 'id_token',
      state: 'the-state',
      nonce,
    })
    const { url } = await signInAtGlewlwyd(createPerson(), href, { account: 'anna' })
    const fragment = new URLSearchParams(new URL(url).hash.slice(1))
    const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`))
    const rules = { issuer: provider.issuer, audience: 'one' }
    const { payload } = await jwtVerify(fragment.get('id_token') ?? '', keys, rules)
    expect(payload).toMatchObject({ email: 'anna@example.org', nonce })
  })

  test('glewlwyd: a refresh token can be used only once', async () => {
    const { tokens } = await signIn(createPerson(), 'query')
    const again = await client.refreshTokenGrant(configuration, String(tokens.refresh_token))
    expect(again.access_token).toEqual(expect.any(String))
    await expect(client.refreshTokenGrant(configuration, String(tokens.refresh_token))).rejects.toThrow()
  })

  test('glewlwyd: a wrong password is rejected', async () => {
    const { location } = await begin('query')
    const signedIn = signInAtGlewlwyd(createPerson(), location, { account: 'anna', password: 'wrong' })
    await expect(signedIn).rejects.toThrow('POST /auth/ answered 401')
  })

  test('glewlwyd: signing out sends a logout token without exp, and redirects the browser back', async () => {
    const person = createPerson()
    const { tokens } = await signIn(person, 'query')
    const { href } = client.buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: AFTER,
      id_token_hint: String(tokens.id_token),
      state: 'bye',
    })
    const sent = logoutTokens.length
    expect(await signOutAtGlewlwyd(person, href)).toBe(`${AFTER}&state=bye`)
    await expect.poll(() => logoutTokens.length).toBeGreaterThan(sent)
    const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`))
    const { payload } = await jwtVerify(String(logoutTokens.at(-1)), keys, { audience: 'one', issuer: provider.issuer })
    expect(payload).toMatchObject({ sid: tokens.claims()?.sid })
    expect(payload.exp).toBe(undefined)
    expect(payload.events).toHaveProperty(['http://schemas.openid.net/event/backchannel-logout'])
  })

  async function begin(mode: string) {
    const verifier = client.randomPKCECodeVerifier()
    const state = client.randomState()
    const nonce = client.randomNonce()
    const { href } = client.buildAuthorizationUrl(configuration, {
      redirect_uri: REDIRECT,
      scope: 'openid email',
      response_mode: mode,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
    return { location: href, checks }
  }

  async function signIn(person: Person, mode: string) {
    const { location, checks } = await begin(mode)
    const callback = await signInAtGlewlwyd(person, location, { account: 'anna' })
    const tokens = await client.authorizationCodeGrant(configuration, asQuery(callback), checks)
    return { callback, tokens }
  }

  /** Moves the response's parameters to the query, because openid-client reads a code only from there. */
  function asQuery({ method, url, fields }: Callback): URL {
    if (method === 'POST') return new URL(`${REDIRECT}?${new URLSearchParams(fields.map((pair) => [...pair]))}`)
    const { hash } = new URL(url)
    return new URL(hash === '' ? url : `${REDIRECT}?${hash.slice(1)}`)
  }
}
