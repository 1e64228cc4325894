import { createHash, createHmac, createPrivateKey, createPublicKey } from 'node:crypto'
import { exportPKCS8, importJWK } from 'jose'
import { beforeAll, expect, test } from 'vitest'
import { checkIdToken, type ExpectedIdToken } from '../../../host/oauth/id-token.ts'
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
  signWithSha1,
  type TokenParts,
} from '../../support/provider-tokens.ts'

const NOW = 1_700_000_000_000
const SECONDS = NOW / 1000
const SKEW = 60_000
const NONCE = 'n-0S6_WzA2Mj'
const DAY = 86_400
const CLAIMS = { iss: ISSUER, aud: CLIENT_ID, sub: 'u-1', exp: SECONDS + 300, iat: SECONDS, nonce: NONCE }
const GUID = '72f988bf-86f1-41af-91ab-2d7cd011db47'

let key: SigningKey
let other: SigningKey
/** A different key with the same `kid` as `key`. */
let impostor: SigningKey
let elliptic: SigningKey
beforeAll(async () => {
  key = await makeKey('RS256', 'k1')
  impostor = await makeKey('RS256', 'k1')
  other = await makeKey('RS256', 'k2')
  elliptic = await makeKey('ES256', 'e1')
})

function expected(changes: Partial<ExpectedIdToken> = {}, keys: readonly SigningKey[] = [key, elliptic]) {
  const set = createProviderKeys({ getJson: async () => ({ keys: keys.map(({ jwk }) => jwk) }) }, () => NOW)
  return {
    provider: provider(),
    clientId: CLIENT_ID,
    nonce: NONCE,
    startedAt: NOW - 5000,
    now: NOW,
    skew: SKEW,
    key: (header: TokenHeader) => set.find('crm', `${ISSUER}/keys`, header),
    ...changes,
  }
}

async function problemOf(token: string, wanted = expected()): Promise<OAuthProblem> {
  try {
    await checkIdToken(token, wanted)
  } catch (error) {
    if (error instanceof OAuthProblem) return error
    throw error
  }
  throw new Error('the token was accepted')
}

const token = (claims: object = {}, header: object = {}) => signToken(key, { header, claims: { ...CLAIMS, ...claims } })
const hash = (text: string, bits = 256) => {
  const whole = createHash(`sha${bits}`).update(text).digest()
  return whole.subarray(0, whole.length / 2).toString('base64url')
}
/** Replaces the character at index `at` in one part of the token. */
function flip(text: string, part: number, at: number): string {
  const parts = text.split('.')
  const old = parts[part] as string
  parts[part] = `${old.slice(0, at)}${old[at] === 'A' ? 'B' : 'A'}${old.slice(at + 1)}`
  return parts.join('.')
}
const unsigned = (alg: string) => `${encode({ alg, typ: 'JWT' })}.${encode(CLAIMS)}.`

function hmacToken(secret: string | Buffer): string {
  const signed = `${encode({ alg: 'HS256', kid: 'k1', typ: 'JWT' })}.${encode(CLAIMS)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
const publicKey = () => createPublicKey({ key: key.jwk, format: 'jwk' })

test('ID token: all claims of a valid token are returned, as objects without a prototype at any depth', async () => {
  const claims = await checkIdToken(await token({ email: 'a@example.org', address: { country: 'NL' } }), expected())
  expect({ ...claims, address: { ...(claims.address as object) } }).toEqual({
    ...CLAIMS,
    email: 'a@example.org',
    address: { country: 'NL' },
  })
  expect([Object.getPrototypeOf(claims), Object.getPrototypeOf(claims.address)]).toEqual([null, null])
})

test.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])(
  'ID token: %s is verified, and a changed signature is rejected',
  async (alg) => {
    const made = await makeKey(alg, 'k')
    const wanted = expected({ provider: provider({ idTokenAlgorithms: [alg] }) }, [made])
    const sound = await signToken(made, { claims: CLAIMS })
    expect((await checkIdToken(sound, wanted)).sub).toBe('u-1')
    expect((await problemOf(flip(sound, 2, 20), wanted)).code).toBe('oauth_token')
  },
)

test.each<[string, () => string | Promise<string>, RegExp]>([
  ['a flipped first character of the signature', async () => flip(await token(), 2, 0), /signature/],
  ['a flipped character within the signature', async () => flip(await token(), 2, 100), /signature/],
  ['a flipped character of the payload', async () => flip(await token({ name: 'AAAAAAAAAAAA' }), 1, 150), /./],
  ['the signature of another key with the same kid', () => signToken(impostor, { claims: CLAIMS }), /signature/],
  ['an empty signature', async () => (await token()).replace(/[^.]+$/, ''), /has no signature/],
  ['no signature part', async () => (await token()).replace(/\.[^.]+$/, ''), /three parts/],
  ['a signature of zeros', async () => (await token()).replace(/[^.]+$/, 'A'.repeat(342)), /signature/],
  ['algorithm none', () => unsigned('none'), /no signature/],
  ['algorithm None', () => `${unsigned('None')}AA`, /its "alg" is "None"/],
  ['algorithm NONE', () => `${unsigned('NONE')}AA`, /its "alg" is "NONE"/],
  ['algorithm nOnE', () => `${unsigned('nOnE')}AA`, /its "alg" is "nOnE"/],
  ['the algorithm none with a signature', () => token({}, { alg: 'none' }), /its "alg" is "none"/],
  ['no algorithm', () => token({}, { alg: undefined }), /its "alg" is undefined/],
  ['an algorithm that is a list', () => token({}, { alg: ['RS256'] }), /its "alg" is a list/],
  ['an algorithm in lowercase', () => token({}, { alg: 'rs256' }), /its "alg" is "rs256"/],
  ['an algorithm that we support but the provider does not', () => token({}, { alg: 'RS512' }), /"RS512"/],
  ['an algorithm that is not registered', () => token({}, { alg: 'RS257' }), /"RS257"/],
  ['__proto__ as algorithm', () => token({}, { alg: '__proto__' }), /"__proto__"/],
  ['SHA-1', () => sha1({ claims: CLAIMS, header: { alg: 'RS1', kid: 'k1' } }), /"RS1"/],
  [
    'a SHA-1 signature declared as RS256',
    () => sha1({ claims: CLAIMS, header: { alg: 'RS256', kid: 'k1' } }),
    /signature/,
  ],
  ['HMAC with the PEM as secret', () => hmacToken(publicKey().export({ type: 'spki', format: 'pem' })), /"HS256"/],
  ['HMAC with the JWK as secret', () => hmacToken(JSON.stringify(key.jwk)), /"HS256"/],
  ['HMAC with the DER as secret', () => hmacToken(publicKey().export({ type: 'spki', format: 'der' })), /"HS256"/],
  ['HMAC with the modulus as secret', () => hmacToken(Buffer.from(key.jwk.n as string, 'base64url')), /"HS256"/],
  ['the payload of another token', () => swapped(1), /signature/],
  ['the header of another token', () => swapped(0), /no key "k2"/],
  ['an unknown kid', () => signToken(other, { claims: CLAIMS }), /no key "k2" for RS256/],
  [
    'a kid that looks like a path',
    () => token({}, { kid: '../../../../dev/null' }),
    /no key "..\/..\/..\/..\/dev\/null"/,
  ],
  ['a kid that looks like SQL', () => token({}, { kid: "k1' OR '1'='1" }), /no key/],
  ['the kid of a key of another type', () => token({}, { kid: 'e1' }), /no key "e1" for RS256/],
  ['an empty kid', () => token({}, { kid: '' }), /"kid"/],
  ['a kid that is a number', () => token({}, { kid: 1 }), /"kid"/],
  ['a kid that is null', () => token({}, { kid: null }), /"kid"/],
  ['a kid of 201 characters', () => token({}, { kid: 'k'.repeat(201) }), /"kid" of 1 to 200/],
  ['a kid with NUL', () => token({}, { kid: 'k1\0' }), /"kid"/],
  [
    'a key in the header',
    () => signToken(other, { header: { jwk: other.jwk, kid: undefined }, claims: CLAIMS }),
    /"jwk"/,
  ],
  ['the URL of a key set', () => token({}, { jku: 'https://evil.example/keys' }), /"jku"/],
  ['the URL of a certificate', () => token({}, { x5u: 'https://evil.example/x' }), /"x5u"/],
  ['an unknown critical parameter', () => token({}, { crit: ['exp2'], exp2: 1 }), /"crit"/],
  ['an empty list of critical parameters', () => token({}, { crit: [] }), /"crit"/],
  ['an unencoded payload', () => token({}, { b64: false, crit: ['b64'] }), /"crit"|"b64"/],
  ['b64 alone', () => token({}, { b64: true }), /"b64"/],
  ['the typ of a logout token', () => token({}, { typ: 'logout+jwt' }), /the "typ" jwt, but has "logout\+jwt"/],
  ['the typ of an access token', () => token({}, { typ: 'at+jwt' }), /"typ"/],
  ['a typ that is not a string', () => token({}, { typ: ['JWT'] }), /"typ"/],
  ['a typ in another media type tree', () => token({}, { typ: 'text/jwt' }), /"typ"/],
  [
    'another issuer',
    () => token({ iss: 'https://evil.example' }),
    /"iss" "https:\/\/id.example.org", but has "https:\/\/evil/,
  ],
  ['no issuer', () => token({ iss: undefined }), /"iss".*undefined/],
  ['the issuer with a slash', () => token({ iss: `${ISSUER}/` }), /"iss"/],
  ['a prefix of the issuer', () => token({ iss: ISSUER.slice(0, -4) }), /"iss"/],
  ['an issuer with a suffix', () => token({ iss: `${ISSUER}.evil.example` }), /"iss"/],
  ['the issuer in uppercase', () => token({ iss: ISSUER.toUpperCase() }), /"iss"/],
  ['the issuer in a list', () => token({ iss: [ISSUER] }), /"iss".*a list/],
  ['another audience', () => token({ aud: 'client-2' }), /only, but its "aud" is "client-2"/],
  ['no audience', () => token({ aud: undefined }), /"aud" is undefined/],
  ['an empty audience', () => token({ aud: '' }), /"aud"/],
  ['an empty list of audiences', () => token({ aud: [] }), /"aud" is a list of length 0/],
  [
    'another audience in addition to ours',
    () => token({ aud: [CLIENT_ID, 'client-2'] }),
    /"aud" is a list of length 2/,
  ],
  ['ours twice', () => token({ aud: [CLIENT_ID, CLIENT_ID] }), /"aud" is a list of length 2/],
  ['an audience that begins with ours', () => token({ aud: `${CLIENT_ID}0` }), /"aud"/],
  ['a list in a list', () => token({ aud: [[CLIENT_ID]] }), /"aud"/],
  ['another client as azp', () => token({ azp: 'client-2' }), /the "azp" "client-1", but has "client-2"/],
  ['another client as azp, with only our audience', () => token({ aud: [CLIENT_ID], azp: 'client-2' }), /"azp"/],
  ['an azp of null', () => token({ azp: null }), /"azp"/],
  ['no exp', () => token({ exp: undefined }), /a number of seconds in "exp", but has undefined/],
  ['exp as a string', () => token({ exp: String(SECONDS + 300) }), /a number of seconds in "exp"/],
  ['exp null', () => token({ exp: null }), /a number of seconds in "exp", but has null/],
  [
    'an exp that is too large for a date',
    () => signToken(key, { claims: JSON.stringify({ ...CLAIMS, exp: 0 }).replace('"exp":0', '"exp":1e300') }),
    /"exp"/,
  ],
  [
    'an exp that is too large for a number',
    () => signToken(key, { claims: JSON.stringify({ ...CLAIMS, exp: 0 }).replace('"exp":0', '"exp":1e999') }),
    /strict JSON/,
  ],
  ['exp two days ago', () => token({ exp: SECONDS - 2 * DAY, iat: SECONDS }), /expired at 2023-11-12T22:13:20.000Z/],
  ['no iat', () => token({ iat: undefined }), /a number of seconds in "iat"/],
  ['iat as a string', () => token({ iat: 'now' }), /a number of seconds in "iat"/],
  ['iat in two days', () => token({ iat: SECONDS + 2 * DAY, exp: SECONDS + 3 * DAY }), /in the future/],
  ['iat two days ago', () => token({ iat: SECONDS - 2 * DAY }), /\(the start of this sign-in\)/],
  ['iat in milliseconds', () => token({ iat: NOW }), /in the future/],
  ['nbf in two days', () => token({ nbf: SECONDS + 2 * DAY }), /not be used before/],
  ['nbf as a string', () => token({ nbf: '0' }), /a number of seconds in "nbf"/],
  ['another nonce', () => token({ nonce: 'n-0S6_WzA2Mk' }), /"nonce" that does not match this sign-in/],
  ['a nonce of another length', () => token({ nonce: `${NONCE}x` }), /"nonce"/],
  [
    'a nonce of the same length in characters, but not in bytes',
    () => token({ nonce: 'é'.repeat(NONCE.length) }),
    /"nonce"/,
  ],
  ['no nonce', () => token({ nonce: undefined }), /no "nonce"/],
  ['an empty nonce', () => token({ nonce: '' }), /"nonce"/],
  ['the nonce in a list', () => token({ nonce: [NONCE] }), /"nonce"/],
  ['no sub', () => token({ sub: undefined }), /"sub" of 1 to 255 .*is missing/],
  ['an empty sub', () => token({ sub: '' }), /"sub" of 1 to 255 .*has 0 characters/],
  ['a sub that is a number', () => token({ sub: 1 }), /"sub".*is not a string/],
  ['a sub of 256 characters', () => token({ sub: 'u'.repeat(256) }), /"sub".*has 256 characters/],
  ['a sub of 10,000 characters', () => token({ sub: 'u'.repeat(10_000) }), /"sub".*has 10000 characters/],
  ['a sub with a line break', () => token({ sub: 'u\n1' }), /"sub".*has invalid characters/],
  ['a sub with an unpaired surrogate', () => token({ sub: 'u\ud800' }), /"sub".*has invalid characters/],
  ['a wrong at_hash', () => token({ at_hash: hash('another') }), /"at_hash"/],
  [
    'the whole hash as at_hash',
    () => token({ at_hash: createHash('sha256').update('access').digest('base64url') }),
    /"at_hash"/,
  ],
  ['an empty at_hash', () => token({ at_hash: '' }), /"at_hash"/],
  ['an at_hash of null', () => token({ at_hash: null }), /"at_hash"/],
  ['a wrong c_hash', () => token({ c_hash: hash('another') }), /"c_hash"/],
  ['at_hash and c_hash swapped', () => token({ at_hash: hash('code'), c_hash: hash('access') }), /"at_hash"/],
  [
    'more than 32 KiB',
    () => token({ padding: 'p'.repeat(33_000) }),
    /has \d+ characters, but at most 32768 are allowed/,
  ],
  ['nothing', () => '', /three parts/],
  ['a text', () => 'token', /three parts/],
  ['four parts', async () => `${await token()}.AA`, /three parts/],
  ['the five parts of an encrypted token', () => 'eyJh.AA.AA.AA.AA', /is encrypted/],
  ['padding', async () => `${await token()}=`, /base64url/],
  ['a line break at the end', async () => `${await token()}\n`, /base64url/],
  ['characters of standard base64', async () => flip(await token(), 1, 3).replace(/\.(.)/, '.+'), /base64url/],
  ['unused bits that are not zero', async () => leftOver(await token()), /base64url/],
  [
    'a header that is not JSON',
    () => signToken(key, { header: 'alg', claims: CLAIMS }),
    /header that is not strict JSON/,
  ],
  [
    'a header with a duplicate key',
    () => signToken(key, { header: '{"alg":"none","alg":"RS256","kid":"k1"}', claims: CLAIMS }),
    /header that is not strict JSON/,
  ],
  [
    'a header that is a list',
    () => signToken(key, { header: '["RS256"]', claims: CLAIMS }),
    /header that is not a JSON object/,
  ],
  [
    'a payload that is not JSON',
    () => signToken(key, { claims: 'secret text' }),
    /payload that is not strict JSON \(line 1, column 1\)/,
  ],
  ['a payload that is a list', () => signToken(key, { claims: [CLAIMS] }), /payload that is not a JSON object/],
  ['a payload that is null', () => signToken(key, { claims: 'null' }), /payload that is not a JSON object/],
  [
    'a duplicate claim',
    () => signToken(key, { claims: JSON.stringify(CLAIMS).replace('{', '{"sub":"u-2",') }),
    /payload that is not strict JSON/,
  ],
  [
    'a claim named __proto__',
    () => signToken(key, { claims: JSON.stringify(CLAIMS).replace('{', '{"__proto__":{"email":"a@b"},') }),
    /payload that is not strict JSON/,
  ],
  [
    'claims nested 40 deep',
    () => token({ deep: JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) }),
    /payload that is not strict JSON/,
  ],
])('ID token: %s is rejected', async (_what, make, text) => {
  const made = await make()
  const problem = await problemOf(made, expected({ accessToken: 'access', code: 'code' }))
  expect([problem.code, problem.message]).toEqual(['oauth_token', expect.stringMatching(text)])
  for (const part of made.split('.')) if (part.length > 20) expect(problem.message).not.toContain(part)
  expect(problem.message).not.toContain(NONCE)
})

async function sha1(parts: TokenParts): Promise<string> {
  return signWithSha1(createPrivateKey(await exportPKCS8(key.privateKey)), parts)
}
async function swapped(part: number): Promise<string> {
  const parts = (await token()).split('.')
  const foreign = (await signToken(other, { claims: { ...CLAIMS, sub: 'u-2' } })).split('.')
  parts[part] = foreign[part] as string
  return parts.join('.')
}
/** Encodes the same bytes, but with different unused bits in the last character. */
function leftOver(text: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const changed = `${text.slice(0, -1)}${letters[letters.indexOf(text.slice(-1)) + 1]}`
  const last = (whole: string) => Buffer.from(whole.split('.')[2] as string, 'base64url')
  expect(last(changed)).toEqual(last(text))
  return changed
}

test('ID token: a token without a kid is rejected if several keys could match', async () => {
  const problem = await problemOf(await token({}, { kid: undefined }), expected({}, [key, other]))
  expect([problem.code, problem.message]).toEqual([
    'oauth_token',
    expect.stringMatching(/2 different keys for RS256 that match a token without "kid"/),
  ])
})

test.each<[string, () => Promise<string>]>([
  ['our audience as the only one in a list', () => token({ aud: [CLIENT_ID] })],
  ['our client as azp', () => token({ azp: CLIENT_ID })],
  ['no kid, if only one key fits', () => token({}, { kid: undefined })],
  ['no typ', () => token({}, { typ: undefined })],
  ['typ jwt', () => token({}, { typ: 'jwt' })],
  ['typ application/jwt', () => token({}, { typ: 'application/JWT' })],
  ['the thumbprint of a certificate', () => token({}, { x5t: 'AAAA' })],
  ['the other algorithm that the provider offers', () => signToken(elliptic, { claims: CLAIMS })],
  ['an exp that just passed, within the clock skew', () => token({ exp: SECONDS - 59 })],
  ['an iat at the limit of the clock skew', () => token({ iat: SECONDS + 60 })],
  ['an iat at the start of the sign-in, minus the clock skew', () => token({ iat: SECONDS - 65 })],
  ['an nbf at the limit of the clock skew', () => token({ nbf: SECONDS + 60 })],
  ['times with fractions of a second', () => token({ iat: SECONDS + 0.5, exp: SECONDS + 10.25 })],
  ['a correct at_hash and c_hash', () => token({ at_hash: hash('access'), c_hash: hash('code') })],
  ['a sub of 255 characters', () => token({ sub: 'é'.repeat(255) })],
  ['a sub with a surrogate pair', () => token({ sub: 'u😀' })],
])('ID token: %s is accepted', async (_what, make) => {
  const claims = await checkIdToken(await make(), expected({ accessToken: 'access', code: 'code' }))
  expect(claims.iss).toBe(ISSUER)
})

test('ID token: at_hash is checked with the hash function of the signature algorithm', async () => {
  const made = await makeKey('ES384', 'k')
  const wanted = expected({ provider: provider({ idTokenAlgorithms: ['ES384'] }), accessToken: 'access' }, [made])
  const withHash = (bits: number) => signToken(made, { claims: { ...CLAIMS, at_hash: hash('access', bits) } })
  expect((await checkIdToken(await withHash(384), wanted)).sub).toBe('u-1')
  expect((await problemOf(await withHash(256), wanted)).message).toMatch(/"at_hash"/)
})

test('ID token: at_hash and c_hash are ignored if there is no access token or code', async () => {
  const claims = await checkIdToken(await token({ at_hash: 'x', c_hash: 'x' }), expected())
  expect(claims.at_hash).toBe('x')
})

test.each<[string, object]>([
  ['exp at the limit of the clock skew', { exp: SECONDS - 60 }],
  ['exp an hour ago', { exp: SECONDS - 3600 }],
  ['iat in an hour', { iat: SECONDS + 3600, exp: SECONDS + 3900 }],
  ['iat a second beyond the clock skew', { iat: SECONDS + 61 }],
  ['nbf a second beyond the clock skew', { nbf: SECONDS + 61 }],
  ['iat and nbf in an hour', { iat: SECONDS + 3600, nbf: SECONDS + 3600, exp: SECONDS + 3900 }],
  ['iat and exp an hour ago', { iat: SECONDS - 3600, exp: SECONDS - 3300 }],
  ['iat a second too early', { iat: SECONDS - 66 }],
  ['iat a day old', { iat: SECONDS - DAY }],
])('ID token: %s is reported as a clock problem', async (_what, claims) => {
  const problem = await problemOf(await token(claims))
  const iat = new Date(1000 * ((claims as { iat?: number }).iat ?? SECONDS)).toISOString()
  expect(problem.code).toBe('oauth_clock')
  expect(problem.message).toContain(
    `the provider's clock showed ${iat} and this host's clock shows 2023-11-14T22:13:20.000Z`,
  )
})

test.each<[string, object]>([
  ['another nonce', { nonce: 'other' }],
  ['another audience', { aud: 'client-2' }],
  ['an exp that is far away', { exp: SECONDS - 2 * DAY }],
])('ID token: a wrong clock together with %s is not reported as a clock problem', async (_what, claims) => {
  expect((await problemOf(await token({ iat: SECONDS + 3600, ...claims }))).code).toBe('oauth_token')
})

test('ID token: a forged token with a wrong time is not reported as a clock problem', async () => {
  const forged = await signToken(impostor, { claims: { ...CLAIMS, exp: SECONDS - 3600 } })
  expect((await problemOf(forged)).code).toBe('oauth_token')
})

test.each<[string, object, Partial<ExpectedIdToken>, RegExp | null]>([
  ['without a nonce', { nonce: undefined }, {}, null],
  ['with the nonce of the sign-in', {}, { earlierNonce: NONCE }, null],
  ['with another nonce', { nonce: 'other' }, { earlierNonce: NONCE }, /"nonce"/],
  ['with the same subject and issuer', {}, { subject: 'u-1', issuer: ISSUER }, null],
  [
    'with another subject',
    { sub: 'u-2' },
    { subject: 'u-1', issuer: ISSUER },
    /has a different "sub" than the ID token of the original sign-in/,
  ],
  [
    'with another issuer of the provider',
    {},
    { subject: 'u-1', issuer: `${ISSUER}/old` },
    /has a different "iss" than the ID token of the original sign-in/,
  ],
  ["with someone else's issuer", { iss: 'https://evil.example' }, { subject: 'u-1' }, /"iss"/],
])(
  'ID token: at a refresh, nonce, subject and issuer must match those of the sign-in: %s',
  async (_what, claims, changes, refusal) => {
    const wanted = expected({ nonce: null, ...changes })
    if (refusal === null) expect((await checkIdToken(await token(claims), wanted)).sub).toBe('u-1')
    else expect((await problemOf(await token(claims), wanted)).message).toMatch(refusal)
  },
)

test.each<[string, object, boolean]>([
  ['just within', { auth_time: SECONDS - 360 }, true],
  ['too long ago', { auth_time: SECONDS - 361 }, false],
  ['missing', {}, false],
  ['text', { auth_time: `${SECONDS}` }, false],
  ['to come', { auth_time: SECONDS + 61 }, false],
])('ID token: if a maximum age is set, auth_time must be within it: %s', async (_what, claims, isFine) => {
  const wanted = expected({ maxAge: 300 })
  if (isFine) expect((await checkIdToken(await token(claims), wanted)).sub).toBe('u-1')
  else expect((await problemOf(await token(claims), wanted)).code).toBe('oauth_token')
})

const TENANT = provider({ issuer: 'https://login.example/{tenantid}/v2.0', issuerHasTenant: true })
test.each<[string, object, boolean]>([
  ['the tenant', { iss: `https://login.example/${GUID}/v2.0`, tid: GUID }, true],
  ['another tenant', { iss: `https://login.example/${GUID}/v2.0`, tid: GUID.replace('7', '8') }, false],
  ['no tid', { iss: `https://login.example/${GUID}/v2.0` }, false],
  ['a tid that is not a GUID', { iss: 'https://login.example/../v2.0', tid: '..' }, false],
  ['the template as tid', { iss: 'https://login.example/{tenantid}/v2.0', tid: '{tenantid}' }, false],
  ['the template as issuer', { iss: 'https://login.example/{tenantid}/v2.0', tid: GUID }, false],
  ['another host', { iss: `https://evil.example/${GUID}/v2.0`, tid: GUID }, false],
])('ID token: at a multi-tenant provider, iss must contain the tenant in tid: %s', async (_what, claims, isFine) => {
  const wanted = expected({ provider: TENANT })
  if (isFine) expect((await checkIdToken(await token(claims), wanted)).sub).toBe('u-1')
  else expect((await problemOf(await token(claims), wanted)).message).toMatch(/"iss"/)
})

const ENDPOINTS_ONLY = provider({ issuer: null, issuerOrigins: ['https://id.example.org', 'http://localhost:9000'] })
test.each<[string, unknown, boolean]>([
  ['an origin', 'https://id.example.org', true],
  ['the origin with a path', 'https://id.example.org/realms/one', true],
  ['the other allowed origin', 'http://localhost:9000/', true],
  ['another port', 'https://id.example.org:8443/', false],
  ['http', 'http://id.example.org', false],
  ['a host that begins with the origin’s host', 'https://id.example.org.evil.example/', false],
  ['a username', 'https://id.example.org@evil.example/', false],
  ['a backslash', 'https://id.example.org\\@evil.example/', false],
  ['a query', 'https://id.example.org/?a', false],
  ['a fragment', 'https://id.example.org/#a', false],
  ['preceded by a space', ' https://id.example.org', false],
  ['followed by a line break', 'https://id.example.org/\n', false],
  ['too long', `https://id.example.org/${'a'.repeat(500)}`, false],
  ['a list', ['https://id.example.org'], false],
])('ID token: if no issuer is configured, iss must be a URL at an allowed origin: %s', async (_what, iss, isFine) => {
  const wanted = expected({ provider: ENDPOINTS_ONLY })
  if (isFine) expect((await checkIdToken(await token({ iss }), wanted)).iss).toBe(iss)
  else expect((await problemOf(await token({ iss }), wanted)).message).toMatch(/"iss"/)
})

test('ID token: HMAC signatures are rejected even if the provider declares them', async () => {
  const wanted = expected({
    provider: provider({ idTokenAlgorithms: ['HS256', 'none'] }),
    key: async () => (await importJWK(key.jwk, 'RS256')) as never,
  })
  for (const made of [hmacToken(JSON.stringify(key.jwk)), `${unsigned('none')}AA`])
    expect((await problemOf(made, wanted)).message).toMatch(/must be signed with/)
})

test('ID token: the header is checked before a key is requested', async () => {
  let asked = 0
  const key = async () => {
    asked++
    throw new OAuthProblem('oauth_token', 'asked')
  }
  for (const header of [{ alg: 'none' }, { jku: 'https://evil.example' }, { kid: '' }, { typ: 'at+jwt' }])
    expect((await problemOf(await token({}, header), expected({ key }))).message).not.toBe('asked')
  expect(asked).toBe(0)
})
