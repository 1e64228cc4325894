import type { CryptoKey } from 'jose'
import { decodeUtf8, parseStrictJson } from '../../runtime/bundle/strict-json.ts'
import { isJsonObject } from '../../runtime/json.ts'
import { algorithmOf, type SignatureAlgorithm } from './algorithms.ts'
import { OAuthProblem, quote } from './problems.ts'

/** The header parameters that identify the key. */
export type TokenHeader = { readonly alg: string; readonly kid: string | null }

/**
 * Returns the key that verifies a token.
 * @param isRejected true if the signature did not match the key from the first call: the provider may have replaced the
 *   key under the same `kid`
 * @returns null if there is no other key
 * @throws OAuthProblem if there is no key at all
 */
export type FindKey = (header: TokenHeader, isRejected: boolean) => Promise<CryptoKey | null>

export type TokenRules = {
  /** The token's name in error messages, such as `the ID token`. */
  readonly what: string
  /** The allowed values of `typ`, in lower case. `typ` is optional. */
  readonly types: readonly string[]
  readonly algorithms: readonly string[]
  /** Called only after the header has passed all checks. */
  readonly key: FindKey
}

export type SignedToken = {
  readonly algorithm: SignatureAlgorithm
  /** The claims and all objects in them have no prototype. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** Maximum length of a token, in characters. */
const LONGEST_TOKEN = 32 * 1024
const LONGEST_KID = 200
/**
 * Header parameters that contain or link to a key, or change how the token is parsed (RFC 7515 section 4.1, RFC 7797).
 * `crit` is always rejected, since no extension is supported here.
 */
const REFUSED_PARAMETERS = ['jwk', 'jku', 'x5u', 'crit', 'b64']

/**
 * Parses a JWT in compact serialization, and checks its header and signature (RFC 7515, RFC 8725). The caller must
 * check the claims. JSON with duplicate keys, or with the keys `__proto__`, `constructor` or `prototype`, is rejected:
 * other parsers might read a different value from it.
 * @throws OAuthProblem `oauth_token`; also throws the errors of `rules.key`
 */
export async function readSignedToken(token: string, rules: TokenRules): Promise<SignedToken> {
  const refuse = (text: string) => new OAuthProblem('oauth_token', `${rules.what} ${text}`)
  const parts = splitToken(token)
  if (typeof parts === 'string') throw refuse(parts)
  const header = readPart(parts.header)
  if (typeof header === 'string') throw refuse(`has a header that ${header}`)
  const refusal = headerRefusal(header, rules)
  if (refusal !== null) throw refuse(refusal)
  const claims = readPart(parts.payload)
  if (typeof claims === 'string') throw refuse(`has a payload that ${claims}`)
  const alg = header.alg as string
  const named = { alg, kid: (header.kid as string | undefined) ?? null }
  const isSigned =
    (await isSignedWith(await rules.key(named, false), token, alg)) ||
    (await isSignedWith(await rules.key(named, true), token, alg))
  if (!isSigned) throw refuse('has a signature that does not match the provider’s key')
  return { algorithm: algorithmOf(alg) as SignatureAlgorithm, claims }
}

async function isSignedWith(key: CryptoKey | null, token: string, alg: string): Promise<boolean> {
  if (key === null) return false
  const { compactVerify } = await import('jose')
  try {
    await compactVerify(token, key, { algorithms: [alg] })
    return true
  } catch {
    return false
  }
}

/**
 * Reads the claims of a token without checking its signature, so they must not be trusted.
 * @returns null if the text is not a token
 */
export function readUncheckedClaims(token: string): Readonly<Record<string, unknown>> | null {
  const parts = splitToken(token)
  const claims = typeof parts === 'string' ? parts : readPart(parts.payload)
  return typeof claims === 'string' ? null : claims
}

/** @returns the parts, or a text that describes the error */
function splitToken(token: string): { readonly header: string; readonly payload: string } | string {
  if (typeof token !== 'string') return 'is not a string'
  if (token.length > LONGEST_TOKEN) return `has ${token.length} characters, but at most ${LONGEST_TOKEN} are allowed`
  const parts = token.split('.', 6)
  if (parts.length === 5) return 'is encrypted; only signed tokens are supported'
  const [header, payload, signature] = parts
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined)
    return 'does not have three parts'
  if (signature === '') return 'has no signature'
  return parts.every(isBase64url) ? { header, payload } : 'has parts that are not base64url without padding'
}

/** Accepts only the canonical encoding: no padding, and no nonzero trailing bits (RFC 4648 section 3.5). */
export function isBase64url(text: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text
}

/** @returns the JSON object, or a text that describes the error without quoting the part */
function readPart(part: string): Readonly<Record<string, unknown>> | string {
  const text = decodeUtf8(Buffer.from(part, 'base64url'))
  if (text === null) return 'is not UTF-8'
  const read = parseStrictJson(text)
  if ('error' in read) return `is not strict JSON (line ${read.error.line}, column ${read.error.column})`
  return isJsonObject(read.value) ? read.value : 'is not a JSON object'
}

function headerRefusal(header: Readonly<Record<string, unknown>>, rules: TokenRules): string | null {
  const { alg, typ, kid } = header
  const refused = REFUSED_PARAMETERS.find((name) => Object.hasOwn(header, name))
  if (refused !== undefined) return `has the header parameter "${refused}", which is never accepted`
  if (typeof alg !== 'string' || !rules.algorithms.includes(alg) || algorithmOf(alg) === null)
    return `must be signed with ${rules.algorithms.join(', ')}; its "alg" is ${quote(alg)}`
  if (typ !== undefined && !(typeof typ === 'string' && rules.types.includes(shortType(typ))))
    return `must have no "typ", or the "typ" ${rules.types.join(' or ')}, but has ${quote(typ)}`
  if (kid !== undefined && !isKid(kid)) return `must have a "kid" of 1 to ${LONGEST_KID} printable characters`
  return null
}

/** Media types are case-insensitive, and `application/` may be omitted (RFC 7515 section 4.1.9). */
function shortType(typ: string): string {
  return typ.toLowerCase().replace(/^application\/(?=[^/]+$)/, '')
}

/** Whether a `kid` from a token or a key set is valid. */
export function isKid(kid: unknown): kid is string {
  return typeof kid === 'string' && kid.length <= LONGEST_KID && /^[^\p{Cc}\p{Cs}]+$/u.test(kid)
}
