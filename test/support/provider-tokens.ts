import { type KeyObject, sign as signBytes } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import type { OAuthConfiguration } from '../../host/oauth/configuration.ts'
import type { Provider } from '../../host/oauth/provider.ts'

/**
 * A provider's signing key. The functions in this file don't use the host's code, so they can sign any header and
 * claims.
 */
export type SigningKey = {
  readonly alg: string
  readonly kid: string
  readonly privateKey: CryptoKey
  /** The public key, with `kid`, `alg` and `use`. */
  readonly jwk: JWK & { readonly kid: string }
}

export async function makeKey(alg: string, kid: string, options: { modulusLength?: number } = {}): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, ...options })
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

const PARAMETERS: Readonly<Record<string, { name: string; hash?: string; saltLength?: number }>> = {
  RS: { name: 'RSASSA-PKCS1-v1_5' },
  PS256: { name: 'RSA-PSS', saltLength: 32 },
  PS384: { name: 'RSA-PSS', saltLength: 48 },
  PS512: { name: 'RSA-PSS', saltLength: 64 },
  ES256: { name: 'ECDSA', hash: 'SHA-256' },
  ES384: { name: 'ECDSA', hash: 'SHA-384' },
  ES512: { name: 'ECDSA', hash: 'SHA-512' },
  Ed: { name: 'Ed25519' },
}

/**
 * The contents of a token. Undefined properties are omitted. A string is used as it is, for JSON that no object can
 * represent.
 */
export type TokenParts = { readonly header?: object | string; readonly claims: object | string }

/**
 * Creates a token signed with `key`. By default, its header contains the key's `alg` and `kid`, and JWT as the `typ`.
 * `header` overrides these values.
 */
export async function signToken(key: SigningKey, { header = {}, claims }: TokenParts): Promise<string> {
  const whole = typeof header === 'string' ? header : { alg: key.alg, kid: key.kid, typ: 'JWT', ...header }
  const signed = `${encode(whole)}.${encode(claims)}`
  const algorithm = PARAMETERS[key.alg] ?? PARAMETERS[key.alg.slice(0, 2)]
  if (algorithm === undefined) throw new TypeError(`no way to sign with ${key.alg}`)
  const signature = await crypto.subtle.sign(algorithm, key.privateKey, Buffer.from(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}

/** Creates a token signed with RSA and SHA-1. Token libraries no longer support that. */
export function signWithSha1(key: KeyObject, { header = {}, claims }: TokenParts): string {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${signBytes('sha1', Buffer.from(signed), key).toString('base64url')}`
}

export function encode(part: object | string): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
}

export const ISSUER = 'https://id.example.org'
export const CLIENT_ID = 'client-1'

/** Returns metadata for a provider at `ISSUER`. It contains everything that OpenID Connect requires. */
export function provider(changes: Partial<Provider> = {}): Provider {
  return {
    title: 'id.example.org',
    issuer: ISSUER,
    issuerOrigins: [],
    issuerHasTenant: false,
    authorizationEndpoint: `${ISSUER}/authorize`,
    tokenEndpoint: `${ISSUER}/token`,
    jwksUri: `${ISSUER}/keys`,
    userInfoEndpoint: null,
    revocationEndpoint: null,
    endSessionEndpoint: null,
    idTokenAlgorithms: ['RS256', 'ES256'],
    clientAuthentication: 'client_secret_basic',
    sendsIssuer: false,
    hasIdToken: true,
    ...changes,
  }
}

/** Returns OAuth settings that contain an issuer but no endpoints. */
export function configuration(changes: Partial<OAuthConfiguration> = {}): OAuthConfiguration {
  return {
    api: 'Custom',
    clientId: CLIENT_ID,
    apiSecret: '%%SECRET%%',
    signedSecret: null,
    issuer: ISSUER,
    issuerHasTenant: false,
    authorizationEndpoint: null,
    tokenEndpoint: null,
    jwksUri: null,
    userInfoEndpoint: null,
    hasIdToken: true,
    clientAuthentication: null,
    scope: 'openid email profile',
    pkce: 'S256',
    responseType: 'code',
    responseMode: 'query',
    loginFailedUrl: null,
    parameters: {},
    ...changes,
  }
}
