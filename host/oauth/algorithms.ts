/** A signature algorithm (RFC 7518 section 3.1, RFC 8037, RFC 9864), with the key type that it needs. */
export type SignatureAlgorithm = {
  readonly kty: 'RSA' | 'EC' | 'OKP'
  /** The curve; null for RSA. */
  readonly crv: string | null
  /** The hash algorithm for `at_hash` and `c_hash` (OIDC Core section 3.1.3.6), as named in `node:crypto`. */
  readonly hash: 'sha256' | 'sha384' | 'sha512'
}

const RSA = { kty: 'RSA', crv: null } as const
const ED25519 = { kty: 'OKP', crv: 'Ed25519', hash: 'sha512' } as const

/**
 * All algorithms that are accepted for a provider's tokens. None is symmetric. Otherwise, attackers could sign a token
 * with the client secret, or with a public key as the secret. OIDC Core specifies no hash for Ed25519. Chosen here: the
 * hash that is part of the signature algorithm.
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
 * Finds an algorithm by its name, which is case-sensitive.
 * @returns null if the name is not in the table
 */
export function algorithmOf(name: unknown): SignatureAlgorithm | null {
  return typeof name === 'string' && Object.hasOwn(ALGORITHMS, name) ? (ALGORITHMS[name] as SignatureAlgorithm) : null
}
