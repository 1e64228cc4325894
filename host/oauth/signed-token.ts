import { type CryptoKey, compactVerify } from 'jose'
import { decodeUtf8, parseStrictJson } from '../../runtime/bundle/strict-json.ts'
import { algorithmOf, type SignatureAlgorithm } from './algorithms.ts'
import { OAuthProblem, quote } from './problems.ts'

/** What of a token's header says which key signed it. */
export type TokenHeader = { readonly alg: string; readonly kid: string | null }

/**
 * @param isRejected whether the key that was given before does not fit the signature: the provider may have changed it
 *   under the same name
 * @returns null where there is no other one; @throws OAuthProblem where there is none at all
 */
export type FindKey = (header: TokenHeader, isRejected: boolean) => Promise<CryptoKey | null>

export type TokenRules = {
  /** What it is called in error texts, such as `the ID token`. */
  readonly what: string
  /** The values of `typ` that it may have, in small letters; it may have none as well. */
  readonly types: readonly string[]
  readonly algorithms: readonly string[]
  /** Asked only after the header passed every check. */
  readonly key: FindKey
}

export type SignedToken = {
  readonly algorithm: SignatureAlgorithm
  /** Without prototype, at any depth. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** Characters of a whole token: 32 KiB. */
const LONGEST_TOKEN = 32 * 1024
const LONGEST_KID = 200
/**
 * Header parameters that bring a key along, or change how the token is read (RFC 7515 section 4.1, RFC 7797). `crit` is
 * refused whatever it names: no extension is understood here.
 */
const REFUSED_PARAMETERS = ['jwk', 'jku', 'x5u', 'crit', 'b64']

/**
 * Reads a JWT in the compact form of a signed token, and checks its header and signature (RFC 7515, RFC 8725). What its
 * claims say is for the caller to check. JSON with a key that appears twice, or that is `__proto__`, `constructor` or
 * `prototype`, is refused: nobody else may have read another value.
 * @throws OAuthProblem `oauth_token`; whatever `rules.key` throws
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
  if (!isSigned) throw refuse("has a signature that is not by the provider's key")
  return { algorithm: algorithmOf(alg) as SignatureAlgorithm, claims }
}

async function isSignedWith(key: CryptoKey | null, token: string, alg: string): Promise<boolean> {
  if (key === null) return false
  try {
    await compactVerify(token, key, { algorithms: [alg] })
    return true
  } catch {
    return false
  }
}

/**
 * The claims of a token whose signature nobody checked: nothing of them may be believed.
 * @returns null for what is no token
 */
export function readUncheckedClaims(token: string): Readonly<Record<string, unknown>> | null {
  const parts = splitToken(token)
  const claims = typeof parts === 'string' ? parts : readPart(parts.payload)
  return typeof claims === 'string' ? null : claims
}

/** @returns a text that says what is wrong */
function splitToken(token: string): { readonly header: string; readonly payload: string } | string {
  if (typeof token !== 'string') return 'is not text'
  if (token.length > LONGEST_TOKEN) return `has ${token.length} characters; ${LONGEST_TOKEN} are possible`
  const parts = token.split('.', 6)
  if (parts.length === 5) return 'is encrypted; only signed ones are read'
  const [header, payload, signature] = parts
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined)
    return 'has not three parts'
  if (signature === '') return 'has no signature'
  return parts.every(isBase64url) ? { header, payload } : 'has parts that are not base64url without padding'
}

/** Only the one way to write the bytes: no padding, and no bits left over (RFC 4648 section 3.5). */
export function isBase64url(text: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text
}

/** @returns a text that says what is wrong, without anything that the part holds */
function readPart(part: string): Readonly<Record<string, unknown>> | string {
  const text = decodeUtf8(Buffer.from(part, 'base64url'))
  if (text === null) return 'is not UTF-8'
  const read = parseStrictJson(text)
  if ('error' in read) return `is not strict JSON, from line ${read.error.line}, column ${read.error.column} on`
  const { value } = read
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : 'is not a JSON object'
}

function headerRefusal(header: Readonly<Record<string, unknown>>, rules: TokenRules): string | null {
  const { alg, typ, kid } = header
  const refused = REFUSED_PARAMETERS.find((name) => Object.hasOwn(header, name))
  if (refused !== undefined) return `has the header parameter "${refused}", which is never taken from a token`
  if (typeof alg !== 'string' || !rules.algorithms.includes(alg) || algorithmOf(alg) === null)
    return `must be signed with ${rules.algorithms.join(', ')}; its "alg" is ${quote(alg)}`
  if (typ !== undefined && !(typeof typ === 'string' && rules.types.includes(shortType(typ))))
    return `must have no "typ" or ${rules.types.join(', ')}; it is ${quote(typ)}`
  if (kid !== undefined && !isKid(kid)) return `must have a "kid" of 1 to ${LONGEST_KID} printable characters`
  return null
}

/** A media type counts in any case, and `application/` may be left out (RFC 7515 section 4.1.9). */
function shortType(typ: string): string {
  return typ.toLowerCase().replace(/^application\/(?=[^/]+$)/, '')
}

/** Whether a key's name, of a token or a key set, is one that is looked up. */
export function isKid(kid: unknown): kid is string {
  return typeof kid === 'string' && kid.length <= LONGEST_KID && /^[^\p{Cc}\p{Cs}]+$/u.test(kid)
}
