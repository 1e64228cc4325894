import { exportJWK, generateSecret, type JWK } from 'jose'
import { beforeAll, expect, test } from 'vitest'
import { OAuthProblem } from '../../../host/oauth/problems.ts'
import { createProviderKeys } from '../../../host/oauth/provider-keys.ts'
import { makeKey, type SigningKey } from '../../support/provider-tokens.ts'

const URI = 'https://id.example.org/keys'
const MINUTE = 60_000

let one: SigningKey
let two: SigningKey
let elliptic: SigningKey
beforeAll(async () => {
  one = await makeKey('RS256', 'k1')
  two = await makeKey('RS256', 'k2')
  elliptic = await makeKey('ES256', 'e1')
})

/** Simulates a provider and a clock. The test can change the provider's keys. */
function provider(...first: readonly unknown[]) {
  let time = 1_700_000_000_000
  let answer: () => unknown = () => ({ keys: first })
  const asked: string[] = []
  const getJson = async (address: string) => {
    asked.push(address)
    await null
    return answer() as Record<string, unknown>
  }
  const keys = createProviderKeys({ getJson }, () => time)
  return {
    asked,
    after(ms: number) {
      time += ms
    },
    answers(next: () => unknown) {
      answer = next
    },
    rotate(...next: readonly unknown[]) {
      answer = () => ({ keys: next })
    },
    find: (kid: string | null, alg = 'RS256', solution = 'crm', uri = URI) => keys.find(solution, uri, { alg, kid }),
    findOther: (kid: string | null) => keys.findOther('crm', URI, { alg: 'RS256', kid }),
  }
}

async function problemOf(finding: Promise<unknown>): Promise<OAuthProblem> {
  const result = await finding.catch((error: unknown) => error)
  if (result instanceof OAuthProblem) return result
  throw new Error('a key was found', { cause: result })
}

const codeOf = async (finding: Promise<unknown>) => (await problemOf(finding)).code

test('provider keys: a key is found by its kid, and can only verify', async () => {
  const found = await provider(one.jwk, two.jwk).find('k2')
  expect([found.type, found.usages, (await exportJWK(found)).n]).toEqual(['public', ['verify'], two.jwk.n])
})

test('provider keys: if a token has no kid, the only matching key is used', async () => {
  const { find } = provider(one.jwk, elliptic.jwk)
  expect((await exportJWK(await find(null, 'ES256'))).x).toBe(elliptic.jwk.x)
})

test('provider keys: if a token has no kid and several keys match, none is used', async () => {
  const { find, asked } = provider(one.jwk, two.jwk)
  const problem = await problemOf(find(null))
  expect([problem.code, problem.message]).toEqual([
    'oauth_token',
    'the key set has 2 different keys for RS256 that match a token without "kid"',
  ])
  expect(asked).toHaveLength(1)
})

test('provider keys: if two different keys have the same kid, neither is used', async () => {
  expect(await codeOf(provider(one.jwk, { ...two.jwk, kid: 'k1' }).find('k1'))).toBe('oauth_token')
  expect((await provider(one.jwk, { ...one.jwk, alg: undefined }).find('k1')).type).toBe('public')
})

test('provider keys: keys for different algorithms may have the same kid', async () => {
  const { find } = provider(one.jwk, { ...elliptic.jwk, kid: 'k1' })
  expect((await find('k1', 'ES256')).algorithm).toEqual({ name: 'ECDSA', namedCurve: 'P-256' })
})

test('provider keys: a key is used only for its own algorithm', async () => {
  const { alg: _, ...open } = one.jwk
  expect(await codeOf(provider(one.jwk).find('k1', 'PS256'))).toBe('oauth_token')
  expect((await provider(open).find('k1', 'PS256')).algorithm.name).toBe('RSA-PSS')
  expect(await codeOf(provider(open).find('k1', 'ES256'))).toBe('oauth_token')
  expect(await codeOf(provider(elliptic.jwk).find('e1', 'ES384'))).toBe('oauth_token')
  for (const alg of ['HS256', 'none', '__proto__', 'toString'])
    expect(await codeOf(provider(open).find('k1', alg))).toBe('oauth_token')
})

const text = (size: number, first = 0xc1) => Buffer.alloc(size, first).toString('base64url')
const rsa = (bytes: number, e = 'AQAB') => ({ kty: 'RSA', kid: 'bad', n: text(bytes), e })

test.each<[string, () => Promise<unknown> | unknown]>([
  [
    'symmetric',
    async () => ({ ...(await exportJWK(await generateSecret('HS256', { extractable: true }))), kid: 'bad' }),
  ],
  ['symmetric and for RS256', () => ({ kty: 'oct', k: text(32), kid: 'bad', alg: 'RS256' })],
  ['private', async () => ({ ...(await exportJWK(two.privateKey)), kid: 'bad' })],
  ['public with a symmetric part', () => ({ ...two.jwk, kid: 'bad', k: text(32) })],
  ['for encryption', () => ({ ...two.jwk, kid: 'bad', use: 'enc' })],
  ['for signing only', () => ({ ...two.jwk, kid: 'bad', key_ops: ['sign'] })],
  ['with key_ops as a string', () => ({ ...two.jwk, kid: 'bad', key_ops: 'verify' })],
  ['for an encryption algorithm', () => ({ ...two.jwk, kid: 'bad', alg: 'RSA-OAEP' })],
  ['for HMAC', () => ({ ...two.jwk, kid: 'bad', alg: 'HS256' })],
  ['RSA of 1024 bits', async () => rsa(128)],
  ['RSA of 2047 bits', () => ({ ...rsa(256), n: text(256, 0x7f) })],
  ['RSA of 2048 bits with leading zeros', () => ({ ...rsa(256), n: `${'A'.repeat(200)}${two.jwk.n?.slice(200)}` })],
  ['RSA of more than 8192 bits', () => rsa(1025)],
  ['RSA with the exponent 1', () => ({ ...two.jwk, kid: 'bad', e: 'AQ' })],
  ['RSA with an even exponent', () => ({ ...two.jwk, kid: 'bad', e: 'AQAA' })],
  ['RSA with an exponent of 33 bits', () => ({ ...two.jwk, kid: 'bad', e: 'AQAAAAE' })],
  ['RSA with an even modulus', () => ({ ...rsa(256), n: text(256, 0xc2) })],
  ['RSA without an exponent', () => ({ ...two.jwk, kid: 'bad', e: undefined })],
  ['RSA in standard base64', () => ({ ...two.jwk, kid: 'bad', n: `${two.jwk.n}==` })],
  ['EC with the curve secp256k1', () => ({ kty: 'EC', crv: 'secp256k1', x: text(32), y: text(32), kid: 'bad' })],
  ['EC with a point that is not on its curve', () => ({ ...elliptic.jwk, kid: 'bad', y: text(32) })],
  ['EC with a short coordinate', () => ({ ...elliptic.jwk, kid: 'bad', y: text(31) })],
  ['EC with a curve that is a list', () => ({ ...elliptic.jwk, kid: 'bad', crv: ['P-256'] })],
  ['EC with the curve __proto__', () => ({ ...elliptic.jwk, kid: 'bad', crv: '__proto__' })],
  ['Ed448', () => ({ kty: 'OKP', crv: 'Ed448', x: text(57), kid: 'bad' })],
  ['of a future type', () => ({ kty: 'AKP', alg: 'ML-DSA-44', pub: text(1312), kid: 'bad' })],
  ['with a kid that is a number', () => ({ ...two.jwk, kid: 7 })],
  ['null', () => null],
  ['a string', () => 'key'],
  ['a list', () => []],
  ['empty', () => ({})],
])('provider keys: one that is %s is ignored, and the others are used', async (_what, make) => {
  const bad = JSON.parse(JSON.stringify(await make())) as JWK
  for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256', 'RSA-OAEP'])
    expect(await codeOf(provider(one.jwk, bad).find('bad', alg))).toBe('oauth_token')
  expect((await provider(bad, one.jwk).find('k1')).type).toBe('public')
  expect((await provider(bad, one.jwk).find(null)).type).toBe('public')
  const alone = await problemOf(provider(bad).find('bad'))
  expect([alone.code, alone.message]).toEqual([
    'oauth_provider',
    expect.stringMatching(/contains no usable key \(keys found: 1\)/),
  ])
})

test.each(['RS256', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])(
  'provider keys: a valid key for %s is accepted, even without alg, use and kid',
  async (alg) => {
    const { jwk } = await makeKey(alg, 'k')
    const { alg: _alg, use: _use, kid: _kid, ...bare } = jwk
    expect((await provider(jwk).find('k', alg)).type).toBe('public')
    expect((await provider({ ...bare, key_ops: ['verify'] }).find(null, alg)).type).toBe('public')
  },
)

test.each<[string, () => unknown]>([
  ['is empty', () => ({ keys: [] })],
  ['has no keys', () => ({})],
  ['has keys that are not a list', () => ({ keys: { k1: one.jwk } })],
  ['has more than 100 keys', () => ({ keys: Array.from({ length: 101 }, () => one.jwk) })],
])('provider keys: a key set that %s is reported as a provider error', async (_what, answer) => {
  const { find, answers } = provider()
  answers(answer)
  expect(await codeOf(find('k1'))).toBe('oauth_provider')
})

test('provider keys: the error contains the reason why a request failed, and the next sign-in requests the keys again', async () => {
  const { find, answers, rotate, asked } = provider()
  answers(() => {
    throw new OAuthProblem('oauth_provider', 'id.example.org answered 500, not 200')
  })
  expect((await problemOf(find('k1'))).message).toBe('id.example.org answered 500, not 200')
  rotate(one.jwk)
  expect((await find('k1')).type).toBe('public')
  expect(asked).toEqual([URI, URI])
})

test('provider keys: a request that fails synchronously does not block the next one', async () => {
  let fails = true
  const getJson = () => {
    if (fails) throw new OAuthProblem('oauth_provider', 'no')
    return Promise.resolve({ keys: [one.jwk] })
  }
  const keys = createProviderKeys({ getJson }, () => 0)
  const find = () => keys.find('crm', URI, { alg: 'RS256', kid: 'k1' })
  expect(await codeOf(find())).toBe('oauth_provider')
  fails = false
  expect((await find()).type).toBe('public')
})

test('provider keys: a key set is cached for ten minutes', async () => {
  const { find, after, asked, rotate } = provider(one.jwk)
  await find('k1')
  after(10 * MINUTE - 1)
  await find('k1')
  expect(asked).toHaveLength(1)
  rotate(two.jwk)
  after(1)
  expect(await codeOf(find('k1'))).toBe('oauth_token')
  expect(asked).toHaveLength(2)
})

test('provider keys: an expired set is not used, even if it cannot be fetched again', async () => {
  const { find, after, answers } = provider(one.jwk)
  await find('k1')
  answers(() => {
    throw new OAuthProblem('oauth_provider', 'away')
  })
  after(10 * MINUTE)
  expect(await codeOf(find('k1'))).toBe('oauth_provider')
})

test('provider keys: new keys are found by the next sign-in after 5 s', async () => {
  const { find, after, rotate, asked } = provider(one.jwk)
  await find('k1')
  rotate(one.jwk, two.jwk)
  after(4999)
  expect(await codeOf(find('k2'))).toBe('oauth_token')
  expect(asked).toHaveLength(1)
  after(1)
  expect((await find('k2')).type).toBe('public')
  expect(asked).toHaveLength(2)
})

test('provider keys: a new key without kid is found too, if it is of another type', async () => {
  const { find, after, rotate } = provider(one.jwk)
  await find(null)
  rotate({ ...elliptic.jwk, kid: undefined })
  after(5000)
  expect((await find(null, 'ES256')).type).toBe('public')
})

test('provider keys: 20 sign-ins with unknown keys cause at most 3 requests', async () => {
  const { find, after, asked } = provider(one.jwk)
  for (let n = 0; n < 20; n++) {
    expect(await codeOf(find(`made-up-${n}`))).toBe('oauth_token')
    after(2500)
  }
  expect(asked).toHaveLength(3)
  expect((await find('k1')).type).toBe('public')
})

test('provider keys: 20 simultaneous sign-ins with unknown keys cause one request, or two after the cool-down', async () => {
  const { find, after, asked } = provider(one.jwk)
  const all = () => Promise.all(Array.from({ length: 20 }, (_, n) => codeOf(find(`made-up-${n}`))))
  expect(await all()).toEqual(Array(20).fill('oauth_token'))
  expect(asked).toHaveLength(1)
  after(5000)
  await all()
  expect(asked).toHaveLength(2)
})

test('provider keys: one extra request for unknown keys is allowed per minute, up to two', async () => {
  const { find, after, asked } = provider(one.jwk)
  const use = async () => {
    after(5000)
    await problemOf(find('made-up'))
    return asked.length
  }
  await find('k1')
  expect([await use(), await use(), await use()]).toEqual([2, 3, 3])
  after(50_000)
  expect([await use(), await use()]).toEqual([4, 4])
  after(5 * MINUTE)
  expect([await use(), await use(), await use()]).toEqual([5, 6, 6])
})

test('provider keys: a request that finds the key does not count towards the limit', async () => {
  const { find, after, rotate, asked } = provider(one.jwk)
  await find('k1')
  const made = await Promise.all(Array.from({ length: 5 }, (_, n) => makeKey('ES256', `new-${n}`)))
  for (const { jwk } of made) {
    rotate(jwk)
    after(5000)
    expect((await find(jwk.kid, 'ES256')).type).toBe('public')
  }
  expect(asked).toHaveLength(6)
})

test('provider keys: if a sign-in shares a request with a sign-in that uses a forged kid, it finds its key, and the request is not counted', async () => {
  const { find, after, rotate, asked } = provider(one.jwk)
  await find('k1')
  for (let n = 0; n < 4; n++) {
    const { jwk } = await makeKey('ES256', `new-${n}`)
    rotate(jwk)
    after(5000)
    const [madeUp, found] = await Promise.all([codeOf(find('made-up')), find(jwk.kid, 'ES256')])
    expect([madeUp, found.type]).toEqual(['oauth_token', 'public'])
  }
  expect(asked).toHaveLength(5)
})

test('provider keys: a request is credited once, even if several sign-ins find their key with it', async () => {
  const { find, after, rotate, asked } = provider(one.jwk)
  await find('k1')
  after(5000)
  await problemOf(find('made-up'))
  rotate(two.jwk)
  after(5000)
  await Promise.all([find('k2'), find('k2'), find('k2')])
  expect(asked).toHaveLength(3)
  for (let n = 0; n < 3; n++) {
    after(5000)
    await problemOf(find('made-up'))
  }
  expect(asked).toHaveLength(4)
})

test('provider keys: a failed request for an unknown key keeps the known keys', async () => {
  const { find, after, answers } = provider(one.jwk)
  await find('k1')
  after(5000)
  answers(() => ({ keys: [] }))
  expect(await codeOf(find('k2'))).toBe('oauth_provider')
  expect((await find('k1')).type).toBe('public')
})

test('provider keys: simultaneous callers share one request', async () => {
  const { find, asked } = provider(one.jwk)
  await Promise.all(Array.from({ length: 10 }, () => find('k1')))
  expect(asked).toHaveLength(1)
})

test('provider keys: limits and caches are separate for each solution and URL', async () => {
  const { find, asked, after } = provider(one.jwk)
  await Promise.all([find('k1', 'RS256', 'a'), find('k1', 'RS256', 'b'), find('k1', 'RS256', 'a', `${URI}/2`)])
  expect(asked).toHaveLength(3)
  for (let n = 0; n < 5; n++) {
    after(5000)
    await problemOf(find('made-up', 'RS256', 'a'))
  }
  expect(asked).toHaveLength(5)
  await problemOf(find('made-up', 'RS256', 'b'))
  expect(asked).toHaveLength(6)
})

test('provider keys: the least recently used sets are removed from the cache', async () => {
  const { find, asked } = provider(one.jwk)
  await find('k1', 'RS256', 'first')
  await find('k1', 'RS256', 'second')
  for (let n = 0; n < 199; n++) {
    await find('k1', 'RS256', `s${n}`)
    await find('k1', 'RS256', 'first')
  }
  expect(asked).toHaveLength(201)
  await find('k1', 'RS256', 'first')
  expect(asked).toHaveLength(201)
  await find('k1', 'RS256', 'second')
  expect(asked).toHaveLength(202)
})

test('provider keys: setting the clock back does not extend the cache', async () => {
  const { find, after, asked, rotate } = provider(one.jwk)
  await find('k1')
  after(-60 * MINUTE)
  rotate(one.jwk, two.jwk)
  expect((await find('k2')).type).toBe('public')
  expect(asked).toHaveLength(2)
})

test('provider keys: a key that was replaced under the same kid is found after 5 s, and does not count towards the limit', async () => {
  for (const kid of ['k1', null]) {
    const { find, findOther, after, asked, rotate } = provider(one.jwk)
    await find(kid)
    for (const next of [two, one, two, one]) {
      rotate({ ...next.jwk, kid: 'k1' })
      expect(await findOther(kid)).toBeNull()
      after(5000)
      const other = await findOther(kid)
      expect(other === null ? null : (await exportJWK(other)).n).toBe(next.jwk.n)
    }
    expect(asked).toHaveLength(5)
  }
})

test('provider keys: tokens that match no key cause at most three requests in total', async () => {
  const { find, findOther, after, asked } = provider(one.jwk)
  for (let n = 0; n < 8; n++) {
    await find('k1')
    expect(await findOther('k1')).toBeNull()
    after(5000)
  }
  expect(asked).toHaveLength(3)
})
