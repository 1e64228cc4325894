/** A signature algorithm (RFC 7518 section 3.1, RFC 8037, RFC 9864) and its kind of key. */
export type SignatureAlgorithm = {
  readonly kty: 'RSA' | 'EC' | 'OKP'
  /** Null for RSA. */
  readonly crv: string | null
  /** The hash for `at_hash` and `c_hash` (OIDC Core section 3.1.3.6), with its name in `node:crypto`. */
  readonly hash: 'sha256' | 'sha384' | 'sha512'
}

const RSA = { kty: 'RSA', crv: null } as const
const ED25519 = { kty: 'OKP', crv: 'Ed25519', hash: 'sha512' } as const

/**
 * All algorithms that are accepted for a provider's tokens. None is symmetric. Otherwise, a token could be signed with
 * a client secret, or with a public key used as a secret. OIDC Core specifies no hash for Ed25519. Chosen here: the
 * hash that the signature itself uses.
 */
export const ALGORITHMS: Readonly<Record<string, SignatureAlgorithm>> = {
  RS256: { ...RSA, hash: 'sha256' },
  RS384: { ...RSA, hash: 'sha384' },
  RS512: { ...RSA, hash: 'sha512' },
  PS256: { ...RSA, hash: 'sha256' },
  PS384: { ...RSA, hash: 'sha384' },
  PS512: { ...RSA, hash: 'sha512' },
  ES256: { kty: 'EC', crv: 'P-256', hash: 'sha256' },
  ES384: { kty: 'EC', crv: 'P-384', hash: 'sha384' },
  ES512: { kty: 'EC', crv: 'P-521', hash: 'sha512' },
  EdDSA: ED25519,
  Ed25519: ED25519,
}

/**
 * Names are case-sensitive.
 * @returns null for a name that is not in the table
 */
export function algorithmOf(name: unknown): SignatureAlgorithm | null {
  return typeof name === 'string' && Object.hasOwn(ALGORITHMS, name) ? (ALGORITHMS[name] as SignatureAlgorithm) : null
}
