import type { CryptoKey, JWK } from 'jose'
import { z } from '../../runtime/zod.ts'
import { ALGORITHMS } from './algorithms.ts'
import { OAuthProblem } from './problems.ts'
import { isBase64url, isKid } from './signed-token.ts'

/** A provider's public signing key. */
export type ProviderKey = {
  readonly kid: string | null
  /** The only algorithm that the provider uses the key for; null if the key set specifies none. */
  readonly alg: string | null
  readonly kty: string
  /** The curve; null for RSA. */
  readonly crv: string | null
  /** The public key. */
  readonly jwk: JWK
}

const MOST_KEYS = 100
/**
 * Allowed sizes of an RSA modulus, in bits. Shorter keys can be broken (RFC 7518 section 3.3). With longer ones,
 * verification is slow.
 */
const RSA_BITS = { least: 2048, most: 8192 }
/** The largest allowed public exponent. The usual ones are 3 and 65537. With large ones, verification is slow. */
const LARGEST_EXPONENT = 2n ** 32n - 1n
/** The supported curves. `bytes` is the size of each coordinate. */
const CURVES: Readonly<Record<string, { readonly kty: 'EC' | 'OKP'; readonly bytes: number }>> = {
  'P-256': { kty: 'EC', bytes: 32 },
  'P-384': { kty: 'EC', bytes: 48 },
  'P-521': { kty: 'EC', bytes: 66 },
  Ed25519: { kty: 'OKP', bytes: 32 },
}
/** Members that only private and symmetric keys have (RFC 7518 section 6). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

const KeySet = z.object({ keys: z.array(z.unknown()).min(1).max(MOST_KEYS) })
const Number64 = z.string().max(2048).refine(isBase64url)
const Key = z.object({
  kty: z.enum(['RSA', 'EC', 'OKP']),
  use: z.literal('sig').optional(),
  key_ops: z
    .array(z.string().max(50))
    .max(20)
    .refine((ops) => ops.includes('verify'))
    .optional(),
  kid: z.string().refine(isKid).optional(),
  alg: z
    .string()
    .refine((alg) => Object.hasOwn(ALGORITHMS, alg))
    .optional(),
  crv: z.string().max(50).optional(),
  n: Number64.optional(),
  e: Number64.optional(),
  x: Number64.optional(),
  y: Number64.optional(),
})

/**
 * Returns the keys of a provider's key set (RFC 7517) that can verify a token's signature. Skips invalid keys, keys of
 * unknown types, and keys for other purposes.
 * @param from the name of the set, for error messages
 * @throws OAuthProblem `oauth_provider` if no key is left
 */
export async function readKeySet(value: unknown, from: string): Promise<readonly ProviderKey[]> {
  const set = KeySet.safeParse(value)
  if (!set.success)
    throw new OAuthProblem('oauth_provider', `${from} must have an array "keys" with 1 to ${MOST_KEYS} keys`)
  const keys = (await Promise.all(set.data.keys.map(readKey))).filter((key) => key !== null)
  if (keys.length > 0) return keys
  throw new OAuthProblem(
    'oauth_provider',
    `${from} contains no usable key (keys found: ${set.data.keys.length}). A usable key is a valid public key that is strong enough ` +
      `for one of these algorithms: ${Object.keys(ALGORITHMS).join(', ')}`,
  )
}

/** @returns null for a key that can't be used */
async function readKey(value: unknown): Promise<ProviderKey | null> {
  const read = Key.safeParse(value)
  if (!read.success || PRIVATE_MEMBERS.some((name) => Object.hasOwn(value as object, name))) return null
  const { kid = null, alg = null, kty, crv = null, n, e, x, y } = read.data
  const jwk = kty === 'RSA' ? rsaKey(n, e) : curveKey(kty, crv, x, y)
  if (jwk === null) return null
  const key: ProviderKey = { kid, alg, kty, crv: kty === 'RSA' ? null : crv, jwk }
  const fitting = Object.keys(ALGORITHMS).find((name) => fitsAlgorithm(key, name))
  if (fitting === undefined) return null
  try {
    await importKey(key, fitting)
    return key
  } catch {
    // The key is invalid. For example, its point may not be on the curve.
    return null
  }
}

function rsaKey(n: string | undefined, e: string | undefined): JWK | null {
  if (n === undefined || e === undefined) return null
  const modulus = numberOf(n)
  const exponent = numberOf(e)
  const bits = modulus.toString(2).length
  const isSound = modulus % 2n === 1n && exponent % 2n === 1n && exponent > 1n && exponent <= LARGEST_EXPONENT
  return isSound && bits >= RSA_BITS.least && bits <= RSA_BITS.most ? { kty: 'RSA', n, e } : null
}

function curveKey(kty: 'EC' | 'OKP', crv: string | null, x = '', y = ''): JWK | null {
  const curve = crv !== null && Object.hasOwn(CURVES, crv) ? CURVES[crv] : undefined
  if (crv === null || curve?.kty !== kty || bytesOf(x) !== curve.bytes) return null
  if (kty === 'OKP') return { kty, crv, x }
  return bytesOf(y) === curve.bytes ? { kty, crv, x, y } : null
}

/** Whether the key may have signed a token that has the algorithm `alg` in its header. */
export function fitsAlgorithm(key: ProviderKey, alg: string): boolean {
  const algorithm = Object.hasOwn(ALGORITHMS, alg) ? ALGORITHMS[alg] : undefined
  return algorithm?.kty === key.kty && algorithm.crv === key.crv && (key.alg === null || key.alg === alg)
}

export function isSameKey(one: ProviderKey, other: ProviderKey): boolean {
  return (['kty', 'crv', 'n', 'e', 'x', 'y'] as const).every((name) => one.jwk[name] === other.jwk[name])
}

/** @param alg an algorithm that fits the key */
export async function importKey({ jwk }: ProviderKey, alg: string): Promise<CryptoKey> {
  const { importJWK } = await import('jose')
  const key = await importJWK(jwk, alg)
  if (key instanceof Uint8Array) throw new TypeError('the imported key is not a public key')
  return key
}

function numberOf(base64url: string): bigint {
  return BigInt(`0x${Buffer.from(base64url, 'base64url').toString('hex')}`)
}

function bytesOf(base64url: string): number {
  return Buffer.from(base64url, 'base64url').length
}
