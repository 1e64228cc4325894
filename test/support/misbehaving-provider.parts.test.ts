import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT_SECRET } from './client-secret.ts'
import {
  ACCEPTED,
  BAD_LOGOUT_TOKENS,
  type Flow,
  type FlowCase,
  HOSTILE,
  HOSTILE_REFRESH,
  HOSTILE_USER_INFO,
} from './hostile-plays.ts'
import { type MisbehavingProvider, type Stage, startMisbehavingProvider } from './misbehaving-provider.ts'
import { createPerson, signInAtProvider } from './person.ts'

const REDIRECT = 'http://127.0.0.1:9/solution/one/app_oauth/index.html'
const FLOWS: readonly Flow[] = ['query', 'form_post', 'fragment', 'id_token']

let provider: MisbehavingProvider

beforeAll(async () => {
  provider = await startMisbehavingProvider()
})

afterAll(() => provider.stop())

for (const flow of FLOWS) {
  test(`misbehaving provider: without a scenario, openid-client can sign in by ${flow}`, async () => {
    const stage = provider.play()
    const signedIn = await signIn(stage, flow)
    expect(signedIn.claims).toMatchObject({ sub: 'sub-of-anna', email: 'anna@example.org', iss: stage.issuer })
    expect(stage.strays()).toEqual([])
    const paths = stage.requests.map(({ method, path, status }) => `${method} ${path} ${status}`)
    const code = ['POST /token 200', 'GET /jwks 200']
    expect(paths).toEqual([
      'GET /.well-known/openid-configuration 200',
      `GET /authorize ${flow === 'form_post' ? 200 : 303}`,
      ...(flow === 'id_token' ? ['GET /jwks 200'] : code),
    ])
  })
}

test('misbehaving provider: user info and refresh work, and a refresh token can be used only once', async () => {
  const stage = provider.play()
  const { at, tokens } = await signIn(stage, 'query')
  const info = await client.fetchUserInfo(at, String(tokens?.access_token), 'sub-of-anna')
  expect(info.email).toBe('anna@example.org')
  const again = await client.refreshTokenGrant(at, String(tokens?.refresh_token))
  expect(again.claims()?.sub).toBe('sub-of-anna')
  const used = client.refreshTokenGrant(at, String(tokens?.refresh_token))
  await expect(used).rejects.toMatchObject({ error: 'invalid_grant' })
})

test('misbehaving provider: it detects missing PKCE, a wrong secret, a used code and an unknown path', async () => {
  const stage = provider.play()
  const token = (fields: Record<string, string>) =>
    fetch(`${stage.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'one', client_secret: CLIENT_SECRET, redirect_uri: REDIRECT, ...fields }),
    })
  const { code } = await signIn(stage, 'query')
  expect((await token({ grant_type: 'authorization_code', code: String(code) })).status).toBe(400)
  expect((await token({ grant_type: 'authorization_code', client_secret: 'wrong' })).status).toBe(401)
  const fresh = await authorize(await discover(stage), 'query')
  const given = new URL(fresh.url).searchParams.get('code') ?? ''
  expect((await token({ grant_type: 'authorization_code', code: given, code_verifier: 'wrong' })).status).toBe(400)
  await fetch(`${stage.issuer}/trap/jku`)
  expect(stage.strays()).toEqual([
    'GET /trap/jku',
    'a code that is unknown or was used',
    'a token request with a wrong secret',
    'a wrong code_verifier',
  ])
})

test('malicious scenarios: names are unique, and each lists the flows in which it runs', () => {
  for (const list of [HOSTILE, ACCEPTED, HOSTILE_USER_INFO, HOSTILE_REFRESH, BAD_LOGOUT_TOKENS]) {
    const names = list.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  }
  for (const { flows } of [...HOSTILE, ...ACCEPTED]) expect(flows.length).toBeGreaterThan(0)
  expect(BAD_LOGOUT_TOKENS.length).toBeGreaterThanOrEqual(19)
})

/** The flows in which openid-client accepts these hostile responses. The host must reject them itself. */
const CODE: readonly Flow[] = ['query', 'form_post', 'fragment']
const PASSES_OPENID_CLIENT: Readonly<Record<string, readonly Flow[]>> = {
  'at_hash wrong': CODE,
  'aud with a foreign one in the list': FLOWS,
  'azp foreign': FLOWS,
  'azp foreign with aud a list': FLOWS,
  'c_hash wrong': CODE,
  'claims of 100 kB': CODE,
  'discovery huge': FLOWS,
  'header jku beside the right key': FLOWS,
  'header jwk beside the right key': FLOWS,
  'header typ of a logout token': FLOWS,
  'header typ of another kind': FLOWS,
  'header x5u beside the right key': FLOWS,
  'iat far in the future': FLOWS,
  'iat in the future': FLOWS,
  'iat some hours old': FLOWS,
  'iat two days old': FLOWS,
  'id_token twice': ['id_token'],
  'key set huge': FLOWS,
  'payload with a claim twice': FLOWS,
  'sub empty': FLOWS,
  'sub of 10,000 characters': FLOWS,
  'token endpoint 200 with an error and tokens': CODE,
  'token endpoint huge': CODE,
}

test('malicious scenarios: openid-client with signature checks rejects all except the known exceptions', async () => {
  const passed: Record<string, Flow[]> = {}
  for (const one of HOSTILE) {
    for (const flow of one.flows) {
      if (await isAccepted(one, flow)) passed[one.name] = [...(passed[one.name] ?? []), flow]
    }
  }
  expect(passed).toEqual(PASSES_OPENID_CLIENT)
})

test('harmless scenarios: openid-client accepts them', async () => {
  const refused: string[] = []
  for (const one of ACCEPTED) {
    for (const flow of one.flows) if (!(await isAccepted(one, flow))) refused.push(`${one.name} by ${flow}`)
  }
  expect(refused).toEqual([])
})

test('malicious scenarios: the clock of a stage can be shifted', async () => {
  const stage = provider.play()
  stage.clock.offset = 3_600_000
  await expect(signIn(stage, 'query')).resolves.toMatchObject({ claims: { iat: expect.any(Number) } })
  stage.clock.offset = -3_600_000
  await expect(signIn(stage, 'query')).rejects.toThrow()
})

test('logout tokens: jose accepts a valid token, and rejects all invalid ones except those that only violate logout rules', async () => {
  const stage = provider.play()
  const keys = createRemoteJWKSet(new URL(`${stage.issuer}/jwks`))
  const rules = {
    audience: 'one',
    issuer: stage.issuer,
    algorithms: ['RS256'],
    typ: 'logout+jwt',
    requiredClaims: ['iat', 'exp', 'jti', 'events'],
    maxTokenAge: 600,
  }
  const { payload } = await jwtVerify(stage.logoutToken(), keys, rules)
  expect(payload).toMatchObject({ sub: 'sub-of-anna', events: { [EVENT]: {} } })
  const passed: string[] = []
  for (const { name, changes } of BAD_LOGOUT_TOKENS) {
    const token = stage.logoutToken(changes)
    if (
      await jwtVerify(token, keys, rules).then(
        () => true,
        () => false,
      )
    )
      passed.push(name)
  }
  expect(passed).toEqual([
    'header jwk beside the right key',
    'header jku beside the right key',
    'header x5u beside the right key',
    'payload with a claim twice',
    'aud with a foreign one',
    'jti a number',
    'events a text',
    'events of another kind',
    'event not an object',
    'nonce present',
    'sub and sid missing',
    'sub empty',
    'sub a number',
    'sid a number',
  ])
})

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

async function isAccepted({ play, needsEarlier = false, ...rest }: FlowCase & { rotates?: boolean }, flow: Flow) {
  const stage = provider.play(needsEarlier ? {} : play)
  if (needsEarlier) await signIn(stage, flow)
  if (rest.rotates === true) stage.rotate()
  stage.change(play)
  return signIn(stage, flow).then(
    () => true,
    () => false,
  )
}

async function discover({ issuer, clientId }: Stage): Promise<client.Configuration> {
  const at = await client.discovery(new URL(issuer), clientId, CLIENT_SECRET, client.ClientSecretPost(CLIENT_SECRET), {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    timeout: 0.5,
  })
  return at
}

async function authorize(at: client.Configuration, flow: Flow) {
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const nonce = client.randomNonce()
  const isCode = flow !== 'id_token'
  const location = client.buildAuthorizationUrl(at, {
    redirect_uri: REDIRECT,
    scope: 'openid email',
    state,
    nonce,
    response_type: isCode ? 'code' : 'id_token',
    response_mode: isCode ? flow : 'fragment',
    ...(isCode
      ? { code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }
      : {}),
  })
  const { method, url, fields } = await signInAtProvider(createPerson(), location.href, { account: 'anna' })
  // Put the response's parameters in the query, because openid-client reads a code only from there.
  const encoded = method === 'POST' ? new URLSearchParams(fields.map((pair) => [...pair])) : new URL(url).hash.slice(1)
  const asQuery = flow === 'query' || flow === 'id_token' ? url : `${REDIRECT}?${encoded}`
  return { url: asQuery, verifier, state, nonce }
}

async function signIn(stage: Stage, flow: Flow) {
  const at = await discover(stage)
  if (flow === 'id_token') client.useIdTokenResponseType(at)
  const { url, verifier, state, nonce } = await authorize(at, flow)
  const current = new URL(url)
  if (flow === 'id_token') {
    const claims = await client.implicitAuthentication(at, current, nonce, { expectedState: state })
    return { at, claims, tokens: null, code: null }
  }
  const tokens = await client.authorizationCodeGrant(at, current, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
  })
  return { at, claims: tokens.claims(), tokens, code: current.searchParams.get('code') }
}
