import { importJWK } from 'jose'
import { beforeAll, expect, test } from 'vitest'
import { createClaimsReader } from '../../../host/oauth/claims.ts'
import type { Claims } from '../../../host/oauth/provider.ts'
import type { ProviderKeys } from '../../../host/oauth/provider-keys.ts'
import type { Registration, TokenRequests } from '../../../host/oauth/token-requests.ts'
import { createLimits } from '../../../runtime/limits.ts'
import {
  CLIENT_ID,
  configuration,
  ISSUER,
  makeKey,
  provider,
  type SigningKey,
  signToken,
} from '../../support/provider-tokens.ts'

let key: SigningKey
beforeAll(async () => {
  key = await makeKey('RS256', 'k1')
})

const NOW = 1_700_000_000_000
const seconds = NOW / 1000

/** Reads the claims from this ID token and UserInfo response, and counts the UserInfo requests. */
async function read(ofToken: Record<string, unknown> | null, info: Record<string, unknown>, before?: Claims) {
  let asked = 0
  const tokenRequests = {
    readUserInfo: async () => {
      asked++
      return info
    },
  } as unknown as TokenRequests
  const keys = { find: async () => importJWK(key.jwk, key.alg), findOther: async () => null } as unknown as ProviderKeys
  const reader = createClaimsReader(keys, tokenRequests, createLimits(), () => NOW)
  const registration = {
    provider: provider({ userInfoEndpoint: `${ISSUER}/me` }),
    configuration: configuration({ scope: 'openid email profile' }),
    secret: null,
  } as Registration
  const base = { iss: ISSUER, aud: CLIENT_ID, sub: 'anna', iat: seconds, exp: seconds + 60 }
  const idToken =
    ofToken === null
      ? null
      : await signToken(key, { claims: { ...base, ...(before === undefined ? { nonce: 'n' } : {}), ...ofToken } })
  const tokens = { accessToken: 'a', idToken, refreshToken: null }
  const expected = { nonce: 'n', startedAt: NOW, ...(before === undefined ? {} : { before }) }
  const { claims } = await reader.ofTokens('crm', registration, tokens, expected)
  return { claims: { ...claims }, asked }
}

test('claims: user info is not requested if the ID token has all claims for the requested scope', async () => {
  const { claims, asked } = await read({ email: 'anna@example.org', name: 'Anna' }, {})
  expect([asked, claims.email]).toEqual([0, 'anna@example.org'])
})

test('claims: missing claims come from user info; signed ones take precedence', async () => {
  const { claims, asked } = await read({ name: 'Anna' }, { sub: 'anna', name: 'Bram', email: 'anna@example.org' })
  expect([asked, claims.name, claims.email]).toEqual([1, 'Anna', 'anna@example.org'])
})

test('claims: UserInfo cannot set claims about the token', async () => {
  const info = {
    sub: 'anna',
    iss: 'https://evil.example',
    aud: 'other',
    exp: 1,
    nonce: 'x',
    sid: 'made-up',
    auth_time: 1,
  }
  const { claims } = await read({}, info)
  expect(claims).toMatchObject({ iss: ISSUER, aud: CLIENT_ID, exp: seconds + 60, nonce: 'n' })
  expect([claims.sid, claims.auth_time]).toEqual([undefined, undefined])
})

test('claims: email_verified applies only to the email from the same source', async () => {
  const { claims } = await read({ email: 'anna@example.org' }, { sub: 'anna', email: 'x@y.z', email_verified: true })
  expect([claims.email, claims.email_verified]).toEqual(['anna@example.org', undefined])
})

test('claims: after a refresh without an ID token, user info replaces older claims', async () => {
  const before = { iss: ISSUER, sub: 'anna', email: 'old@example.org', email_verified: true, name: 'Anna', sid: 's' }
  const { claims, asked } = await read(null, { sub: 'anna', email: 'new@example.org' }, before)
  expect(asked).toBe(1)
  expect(claims).toEqual({ iss: ISSUER, sub: 'anna', email: 'new@example.org', name: 'Anna', sid: 's' })
})

test('claims: at a refresh, the ID token must be for the same user and issuer', async () => {
  const before = { iss: ISSUER, sub: 'bram' }
  await expect(read({ email: 'a@b.c', name: 'x' }, {}, before)).rejects.toMatchObject({ code: 'oauth_token' })
  const elsewhere = { iss: 'https://other.example', sub: 'anna' }
  await expect(read({ email: 'a@b.c', name: 'x' }, {}, elsewhere)).rejects.toMatchObject({ code: 'oauth_token' })
})

test('claims: user info that is too large is rejected', async () => {
  await expect(read({}, { sub: 'anna', groups: 'x'.repeat(40_000) })).rejects.toMatchObject({ code: 'oauth_provider' })
})

test('claims: a provider that sends no ID token causes an error that says so', async () => {
  await expect(read(null, {})).rejects.toThrow(
    'returned no ID token: check that the client is allowed to request the scope "openid"',
  )
})
