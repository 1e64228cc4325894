import { parseStrictJson } from '../../runtime/bundle/strict-json.ts'
import type { Limits } from '../../runtime/limits.ts'
import { isNonceExpected } from './authorize.ts'
import { checkIdToken } from './id-token.ts'
import { OAuthProblem } from './problems.ts'
import type { Claims } from './provider.ts'
import { findKey, type ProviderKeys } from './provider-keys.ts'
import { PROFILES } from './read-profile.ts'
import type { Registration, TokenRequests, Tokens } from './token-requests.ts'

/** The values that an ID token must match, in addition to the client registration. */
export type ExpectedToken = {
  readonly nonce: string
  /** When the request was sent, in epoch ms. The ID token must be newer. */
  readonly startedAt: number
  readonly code?: string
  /**
   * The earlier claims if the token was refreshed. The issuer and subject must stay the same, and the nonce is optional
   * (OIDC Core section 12.2).
   */
  readonly before?: Claims
}

/**
 * Claims about the user who signed in. They have passed all checks. `issuedAt` is the ID token's `iat`, in epoch ms.
 */
export type VerifiedClaims = { readonly claims: Claims; readonly issuedAt: number }

export interface ClaimsReader {
  /** @throws OAuthProblem */
  ofTokens(
    solution: string,
    registration: Registration,
    tokens: Tokens,
    expected: ExpectedToken,
  ): Promise<VerifiedClaims>
  /**
   * Reads the claims of an ID token that was sent through the browser, without an access token.
   * @throws OAuthProblem
   */
  ofIdToken(
    solution: string,
    registration: Registration,
    idToken: string,
    expected: ExpectedToken,
  ): Promise<VerifiedClaims>
}

/** @param now returns the current time in epoch milliseconds */
export function createClaimsReader(
  keys: ProviderKeys,
  tokenRequests: TokenRequests,
  limits: Pick<Limits, 'OAUTH_CLOCK_SKEW'>,
  now: () => number = Date.now,
): ClaimsReader {
  async function ofIdToken(
    solution: string,
    { provider, configuration }: Registration,
    idToken: string,
    { nonce, startedAt, code, before }: ExpectedToken,
    accessToken?: string,
  ): Promise<VerifiedClaims> {
    const { jwksUri } = provider
    if (jwksUri === null) throw new TypeError('the provider issues ID tokens, but its JWKS URL ("jwks_uri") is missing')
    const maxAge = Number(configuration.parameters.max_age)
    const claims = await checkIdToken(idToken, {
      provider,
      clientId: configuration.clientId,
      nonce: isNonceExpected(configuration, provider) && before === undefined ? nonce : null,
      ...(before === undefined ? {} : { earlierNonce: nonce, subject: before.sub, issuer: before.iss }),
      startedAt,
      now: now(),
      skew: limits.OAUTH_CLOCK_SKEW,
      ...(Number.isFinite(maxAge) && before === undefined ? { maxAge } : {}),
      ...(code === undefined ? {} : { code }),
      ...(accessToken === undefined ? {} : { accessToken }),
      key: findKey(keys, solution, jwksUri),
    })
    return { claims, issuedAt: (claims.iat as number) * 1000 }
  }

  /**
   * Handles OAuth 2.0 without an ID token. The provider sent the access token directly to the host, so the profile for
   * this token identifies the user.
   */
  async function ofProfile(registration: Registration, { accessToken }: Tokens, expected: ExpectedToken) {
    const readProfile = PROFILES[registration.configuration.api]
    if (readProfile === undefined)
      throw new TypeError('this provider issues no ID tokens, and the host cannot read its user profiles')
    const claims = await readProfile(registration.provider, (address) =>
      tokenRequests.readProfile(registration, accessToken, address),
    )
    if (expected.before !== undefined && expected.before.sub !== claims.sub) {
      throw new OAuthProblem('oauth_token', 'the provider’s response to the token refresh is for a different user')
    }
    return { claims, issuedAt: now() }
  }

  return {
    ofIdToken,
    async ofTokens(solution, registration, tokens, expected) {
      const { provider, configuration } = registration
      if (!provider.hasIdToken) return ofProfile(registration, tokens, expected)
      const { before } = expected
      const { idToken, accessToken } = tokens
      if (idToken === null && before === undefined) {
        throw new OAuthProblem(
          'oauth_token',
          `${provider.title} returned no ID token: check that the client is allowed to request the scope "openid"`,
        )
      }
      const verified =
        idToken === null
          ? { claims: before as Claims, issuedAt: now() }
          : await ofIdToken(solution, registration, idToken, expected, accessToken)
      if (provider.userInfoEndpoint === null || !asksForMore(configuration.scope, verified.claims, idToken))
        return verified
      const info = await tokenRequests.readUserInfo(registration, accessToken, verified.claims.sub)
      return { ...verified, claims: withUserInfo(verified.claims, info, idToken === null) }
    },
  }
}

/** The claims that sign-ins use, by scope (OIDC Core section 5.4). */
const CLAIMS_OF_SCOPE = {
  email: ['email'],
  profile: ['name', 'preferred_username', 'given_name', 'nickname'],
} as const

/**
 * Chosen here: the host requests UserInfo in only two cases. One is an ID token without the scope's claims, because
 * many providers send these only in UserInfo. The other is a refresh without an ID token, because only UserInfo then
 * shows changes.
 */
function asksForMore(scope: string, claims: Claims, idToken: string | null): boolean {
  const scopes = scope.split(' ')
  return Object.entries(CLAIMS_OF_SCOPE).some(
    ([name, wanted]) => scopes.includes(name) && (idToken === null || !wanted.some((claim) => claim in claims)),
  )
}

/**
 * Maximum characters of all claims together as JSON. They are limited because authenticators receive them as
 * parameters.
 */
const LONGEST_CLAIMS = 32 * 1024
/** Claims about the token, not the user. They are used only if they are in the signed ID token. */
const OF_TOKEN = [
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'nbf',
  'nonce',
  'azp',
  'at_hash',
  'c_hash',
  'auth_time',
  'acr',
  'amr',
  'sid',
  'jti',
]

/** Each `*_verified` claim applies only to the value from the same source: the ID token or UserInfo. */
const VERIFIED = [
  ['email', 'email_verified'],
  ['phone_number', 'phone_number_verified'],
] as const

/**
 * Merges the claims of an ID token with those from UserInfo. @param isNewer whether `info` is newer than `claims` and
 * takes precedence
 */
function withUserInfo(claims: Claims, info: Readonly<Record<string, unknown>>, isNewer: boolean): Claims {
  const ofUser = Object.fromEntries(Object.entries(strictly(info)).filter(([name]) => !OF_TOKEN.includes(name)))
  const [weaker, stronger] = isNewer ? [claims, ofUser] : [ofUser, claims]
  const merged = Object.assign(Object.create(null) as Record<string, unknown>, weaker)
  for (const [address, verified] of VERIFIED) if (address in stronger) delete merged[verified]
  Object.assign(merged, stronger)
  if (JSON.stringify(merged).length > LONGEST_CLAIMS) {
    throw new OAuthProblem('oauth_provider', `the UserInfo response has more than ${LONGEST_CLAIMS} characters`)
  }
  return merged as Claims
}

/**
 * Parses UserInfo by the same rules as tokens: its depth is limited, and no key can change a prototype when a script
 * copies the object.
 */
function strictly(info: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const read = parseStrictJson(textOf(info))
  if ('value' in read) return read.value as Readonly<Record<string, unknown>>
  throw new OAuthProblem('oauth_provider', `the UserInfo response is not strict JSON: ${read.error.message}`)
}

function textOf(info: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(info)
  } catch {
    // JSON.parse accepts any depth, but JSON.stringify does not.
    throw new OAuthProblem('oauth_provider', 'the UserInfo response is nested too deeply')
  }
}
