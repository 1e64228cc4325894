import { createHmac } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { checkLogoutToken, readUnchecked } from '../../../host/oauth/logout-token.ts'
import { OAuthProblem } from '../../../host/oauth/problems.ts'
import { createProviderKeys } from '../../../host/oauth/provider-keys.ts'
import type { TokenHeader } from '../../../host/oauth/signed-token.ts'
import {
  CLIENT_ID,
  encode,
  ISSUER,
  makeKey,
  provider,
  type SigningKey,
  signToken,
} from '../../support/provider-tokens.ts'

const NOW = 1_700_000_000_000
const SECONDS = NOW / 1000
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const CLAIMS = {
  iss: ISSUER,
  aud: CLIENT_ID,
  sub: 'u-1',
  sid: 's-1',
  jti: 'j-1',
  iat: SECONDS,
  exp: SECONDS + 120,
  events: { [EVENT]: {} },
}

let key: SigningKey
let impostor: SigningKey
beforeAll(async () => {
  key = await makeKey('RS256', 'k1')
  impostor = await makeKey('RS256', 'k1')
})

const token = (claims: object = {}, header: object = {}) =>
  signToken(key, { header: { typ: 'logout+jwt', ...header }, claims: { ...CLAIMS, ...claims } })

function check(made: string) {
  const set = createProviderKeys({ getJson: async () => ({ keys: [key.jwk] }) }, () => NOW)
  const find = (header: TokenHeader) => set.find('crm', `${ISSUER}/keys`, header)
  return checkLogoutToken(made, { provider: provider(), clientId: CLIENT_ID, now: NOW, skew: 60_000, key: find })
}

async function problemOf(made: string): Promise<OAuthProblem> {
  const result = await check(made).catch((error: unknown) => error)
  if (result instanceof OAuthProblem) return result
  throw new Error('the token was accepted', { cause: result })
}

test('logout token: it identifies the sessions to end', async () => {
  const named = { iss: ISSUER, jti: 'j-1', issuedAt: NOW }
  expect(await check(await token())).toEqual({ ...named, sub: 'u-1', sid: 's-1' })
  expect(await check(await token({ sid: undefined }))).toEqual({ ...named, sub: 'u-1', sid: null })
  expect(await check(await token({ sub: undefined }))).toEqual({ ...named, sub: null, sid: 's-1' })
})

test.each<[string, object, object]>([
  ['no typ', {}, { typ: undefined }],
  ['typ JWT', {}, { typ: 'JWT' }],
  ['typ application/logout+jwt', {}, { typ: 'application/logout+jwt' }],
  ['its audience as the only one in a list', { aud: [CLIENT_ID] }, {}],
  ['an event that has members', { events: { [EVENT]: { reason: 'x' } } }, {}],
  ['another event in addition', { events: { [EVENT]: {}, 'https://example.org/other': {} } }, {}],
  ['an age of ten minutes plus the clock skew', { iat: SECONDS - 660 }, {}],
  ['an iat at the limit of the clock skew', { iat: SECONDS + 60 }, {}],
])('logout token: a token with %s is accepted', async (_what, claims, header) => {
  expect((await check(await token(claims, header))).jti).toBe('j-1')
})

test.each<[string, () => string | Promise<string>, RegExp]>([
  ['a signature with another key', () => signToken(impostor, { claims: CLAIMS }), /signature/],
  ['no signature', async () => (await token()).replace(/[^.]+$/, ''), /no signature/],
  ['algorithm none', () => token({}, { alg: 'none' }), /"none"/],
  ['HMAC with the public key', () => hmacToken(), /"HS256"/],
  ['an unknown kid', () => token({}, { kid: 'k2' }), /no key "k2"/],
  ['its own key', () => token({}, { jwk: impostor.jwk }), /"jwk"/],
  ['a critical parameter', () => token({}, { crit: ['x'], x: 1 }), /"crit"/],
  ['the typ of an access token', () => token({}, { typ: 'at+jwt' }), /the "typ" jwt or logout\+jwt/],
  ['another issuer', () => token({ iss: 'https://evil.example' }), /"iss"/],
  ['no issuer', () => token({ iss: undefined }), /"iss"/],
  ['another audience', () => token({ aud: 'client-2' }), /"aud"/],
  ['no audience', () => token({ aud: undefined }), /"aud"/],
  ['another audience in addition to ours', () => token({ aud: [CLIENT_ID, 'client-2'] }), /"aud"/],
  ['no events', () => token({ events: undefined }), /"events"/],
  ['events as a string', () => token({ events: EVENT }), /"events"/],
  ['events as a list', () => token({ events: [EVENT] }), /"events"/],
  ['events without the logout event', () => token({ events: { 'https://example.org/other': {} } }), /"events"/],
  ['an event that is null', () => token({ events: { [EVENT]: null } }), /"events"/],
  ['an event that is a list', () => token({ events: { [EVENT]: [] } }), /"events"/],
  ['an event with a slash', () => token({ events: { [`${EVENT}/`]: {} } }), /"events"/],
  ['a nonce', () => token({ nonce: 'n-1' }), /no "nonce"/],
  ['a nonce of null', () => token({ nonce: null }), /no "nonce"/],
  ['neither sub nor sid', () => token({ sub: undefined, sid: undefined }), /"sub" or "sid"/],
  ['an empty sub', () => token({ sub: '' }), /"sub"/],
  ['a sub that is a number', () => token({ sub: 1 }), /"sub"/],
  ['a sid that is too long', () => token({ sid: 's'.repeat(256) }), /"sid"/],
  ['a sid that is null', () => token({ sid: null }), /"sid"/],
  ['no jti', () => token({ jti: undefined }), /"jti"/],
  ['a jti that is a number', () => token({ jti: 7 }), /"jti"/],
  ['no iat', () => token({ iat: undefined }), /"iat"/],
  ['iat as a string', () => token({ iat: `${SECONDS}` }), /"iat"/],
  ['no exp', () => token({ exp: undefined }), /"exp"/],
  ['a payload that is not JSON', () => signToken(key, { claims: 'logout' }), /strict JSON/],
  [
    'events twice',
    () => signToken(key, { claims: JSON.stringify(CLAIMS).replace('{', '{"events":{},') }),
    /strict JSON/,
  ],
  ['the claims of an ID token', () => token({ events: undefined, jti: undefined, nonce: 'n-1' }), /"events"/],
])('logout token: a token with %s is rejected', async (_what, make, text) => {
  const problem = await problemOf(await make())
  expect([problem.code, problem.message]).toEqual(['oauth_token', expect.stringMatching(text)])
})

test.each<[string, object, string]>([
  ['an exp in the past', { exp: SECONDS - 61 }, 'oauth_clock'],
  ['an age of more than ten minutes', { iat: SECONDS - 662 }, 'oauth_clock'],
  ['an iat in the future', { iat: SECONDS + 61 }, 'oauth_clock'],
  ['an nbf in the future', { nbf: SECONDS + 61 }, 'oauth_clock'],
  ['an age of two days', { iat: SECONDS - 2 * 86_400 }, 'oauth_token'],
  ['an exp two days ago', { exp: SECONDS - 2 * 86_400 }, 'oauth_token'],
])('logout token: a token with %s is rejected', async (_what, claims, code) => {
  expect((await problemOf(await token(claims))).code).toBe(code)
})

test('logout token: issuer and audience can be read before the token is verified', async () => {
  expect(readUnchecked(await token())).toEqual({ iss: ISSUER, aud: [CLIENT_ID] })
  expect(readUnchecked(await signToken(impostor, { claims: { iss: 'x', aud: ['a', 'b'] } }))).toEqual({
    iss: 'x',
    aud: ['a', 'b'],
  })
})

test('logout token: a token without issuer and audience is read as null', async () => {
  const claims = [
    {},
    { iss: ISSUER },
    { iss: '', aud: 'a' },
    { iss: 1, aud: 'a' },
    { iss: 'x', aud: [] },
    { iss: 'x', aud: [1] },
  ]
  const tokens = await Promise.all(claims.map((one) => signToken(key, { claims: one })))
  const large = await signToken(key, { claims: { ...CLAIMS, padding: 'p'.repeat(33_000) } })
  for (const one of [...tokens, large, '', 'a.b', `a.${encode(CLAIMS)}.=`, `e30.${encode('[]')}.AA`])
    expect(readUnchecked(one)).toBeNull()
})

function hmacToken(): string {
  const signed = `${encode({ alg: 'HS256', kid: 'k1' })}.${encode(CLAIMS)}`
  return `${signed}.${createHmac('sha256', JSON.stringify(key.jwk)).update(signed).digest('base64url')}`
}
