import type { ProviderName } from '../../base/oauth/providers.ts'
import { isJsonObject } from '../../runtime/json.ts'
import { OAuthProblem, quote } from './problems.ts'
import type { Claims, Provider } from './provider.ts'

/**
 * Requests the claims of a signed-in user from an OAuth 2.0 provider.
 * @param get requests JSON from a URL at the provider, with the user's access token as the bearer token
 * @throws OAuthProblem `oauth_provider` if the response differs from the provider's documentation; also throws the
 *   errors of `get`
 */
export type ReadProfile = (
  provider: Pick<Provider, 'issuer' | 'userInfoEndpoint'>,
  get: (address: string) => Promise<unknown>,
) => Promise<Claims>

/** How to read a user's claims from each provider that has no ID tokens. */
export const PROFILES: Readonly<Partial<Record<ProviderName, ReadProfile>>> = { GitHub: readGithubProfile }

/**
 * Maximum number of email addresses to check per account. GitHub paginates them; the primary address is among the
 * first.
 */
const MOST_EMAILS = 100

/**
 * Converts a GitHub account to claims. `sub` is the numeric id, because a login name can be released and reused by
 * another user. Anyone can put any email into their profile (`/user`), so only the primary address in `/user/emails` is
 * used, and only if it is verified.
 */
async function readGithubProfile(
  { issuer, userInfoEndpoint }: Pick<Provider, 'issuer' | 'userInfoEndpoint'>,
  get: (address: string) => Promise<unknown>,
): Promise<Claims> {
  if (issuer === null || userInfoEndpoint === null)
    throw new TypeError('the configuration for GitHub has no issuer or no UserInfo endpoint')
  const user = await get(userInfoEndpoint)
  if (!isJsonObject(user) || !Number.isSafeInteger(user.id) || (user.id as number) <= 0) {
    const came = isJsonObject(user) ? quote(user.id) : quote(user)
    throw new OAuthProblem(
      'oauth_provider',
      `GitHub returned an invalid user: "id" must be a positive number (received: ${came})`,
    )
  }
  const email = verifiedEmail(await get(`${userInfoEndpoint}/emails`))
  return Object.assign(Object.create(null) as Record<string, unknown>, {
    iss: issuer,
    sub: String(user.id),
    ...textClaim('preferred_username', user.login),
    ...textClaim('name', user.name),
    ...textClaim('picture', user.avatar_url),
    ...(email === null ? {} : { email, email_verified: true }),
  })
}

function verifiedEmail(emails: unknown): string | null {
  if (!Array.isArray(emails))
    throw new OAuthProblem('oauth_provider', 'GitHub returned an invalid response: the email addresses must be a list')
  const primary = emails
    .slice(0, MOST_EMAILS)
    .find((one: unknown) => isJsonObject(one) && one.primary === true && one.verified === true)
  const email: unknown = isJsonObject(primary) ? primary.email : null
  return isShortText(email) ? email : null
}

function textClaim(name: string, value: unknown): Record<string, string> {
  return isShortText(value) ? { [name]: value } : {}
}

/** Whether the text is safe for logs, pages and databases. */
function isShortText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= 500 &&
    value.isWellFormed() &&
    !/\p{Cc}/u.test(value)
  )
}
