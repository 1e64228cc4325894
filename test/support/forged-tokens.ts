import {
  constants,
  createHash,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign as signBytes,
} from 'node:crypto'
import type { JWK } from 'jose'

export type Json = Record<string, unknown>

/** A provider's private signing key, and the public key's entry in the provider's key set (JWKS). */
export type SigningKey = {
  readonly alg: string
  readonly kid: string
  readonly privateKey: KeyObject
  readonly jwk: JWK
}

/** Creates a signing key. Uses `node:crypto` because the jose package can't create weak keys. */
export function makeSigningKey(alg: 'RS256' | 'ES256', { bits = 2048 } = {}): SigningKey {
  const { privateKey, publicKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: bits })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const kid = `${alg}-${randomUUID()}`
  return { alg, kid, privateKey, jwk: { ...(publicKey.export({ format: 'jwk' }) as JWK), kid, alg, use: 'sig' } }
}

export function publicPem({ privateKey }: SigningKey): string {
  return String(createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }))
}

/** Creates a signed token (header.payload.signature). The header may name any algorithm. */
export function signToken(header: unknown, claims: unknown, key: SigningKey): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${signatureOf(input, key)}`
}

export function signWithSecret(header: unknown, claims: unknown, secret: string): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

export function signatureOf(input: string, { alg, privateKey }: SigningKey): string {
  const data = Buffer.from(input)
  const made =
    alg === 'ES256'
      ? signBytes('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' })
      : signBytes('sha256', data, { key: privateKey, padding: constants.RSA_PKCS1_PADDING })
  return made.toString('base64url')
}

export function encode(part: unknown): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
}

export function partsOf(token: string): [header: string, payload: string, signature: string] {
  const [header = '', payload = '', signature = ''] = token.split('.')
  return [header, payload, signature]
}

/** Computes `at_hash` or `c_hash` for tokens signed with a SHA-256 algorithm (OIDC Core 3.1.3.6). */
export function halfHash(value: string): string {
  return createHash('sha256').update(value).digest().subarray(0, 16).toString('base64url')
}
