import { OAuthProblem, quote } from './problems.ts'
import type { Claims, ClientAuthentication, Provider } from './provider.ts'

export type ProviderName = 'Google' | 'Microsoft' | 'Apple' | 'Okta' | 'LinkedIn' | 'GitHub' | 'Custom'

/** Settings that only some providers have. */
export type OwnSetting = 'tenant' | 'domain' | 'teamId' | 'keyId'
export type OwnSettings = Readonly<Partial<Record<OwnSetting, string>>>

/** A provider's addresses. Missing ones are in its discovery document. */
export type Places = {
  readonly issuer: string | null
  /** See `OAuthConfiguration`. */
  readonly issuerHasTenant?: boolean
  readonly authorizationEndpoint?: string
  readonly tokenEndpoint?: string
  readonly userInfoEndpoint?: string
}

export type ResponseType = 'code' | 'id_token'
export type ResponseMode = 'query' | 'form_post' | 'fragment'

/** The defaults of a provider, which settings override. */
export type ProviderRow = {
  /** Its display name; null to use its host name. */
  readonly title: string | null
  /** The settings that `places` accepts. */
  readonly settings: readonly OwnSetting[]
  /** Returns null if a required setting is missing, which `needs` names. */
  readonly places: (settings: OwnSettings) => Places | null
  /** Worded to follow `{provider} needs`. */
  readonly needs: string
  readonly scope: string
  readonly pkce: 'S256' | null
  /** Whether its ID tokens contain the request's `nonce`. If not, only `state` binds a response to its request. */
  readonly sendsNonce: boolean
  readonly responseTypes: readonly ResponseType[]
  readonly responseModes: readonly ResponseMode[]
  /** Whether all its clients that can run on a server have a secret. */
  readonly needsSecret: boolean
  /** null: chosen from its discovery document. */
  readonly clientAuthentication: ClientAuthentication | null
  /** Reads the user's claims from a provider without ID tokens; null for the others. */
  readonly readProfile: ReadProfile | null
}

/**
 * Asks an OAuth 2.0 provider who signed in.
 * @param get requests JSON from an address of the provider, with the user's access token as bearer token
 * @throws OAuthProblem `oauth_provider` if the response differs from the provider's documentation, and what `get`
 *   throws
 */
export type ReadProfile = (
  provider: Pick<Provider, 'issuer' | 'userInfoEndpoint'>,
  get: (address: string) => Promise<unknown>,
) => Promise<Claims>

const OPENID: Pick<
  ProviderRow,
  'settings' | 'needs' | 'scope' | 'pkce' | 'sendsNonce' | 'responseTypes' | 'responseModes' | 'readProfile'
> = {
  settings: [],
  needs: '',
  scope: 'openid email profile',
  pkce: 'S256',
  sendsNonce: true,
  responseTypes: ['code', 'id_token'],
  responseModes: ['query', 'form_post', 'fragment'],
  readProfile: null,
}

export const PROVIDERS: Readonly<Record<ProviderName, ProviderRow>> = {
  /** @see https://accounts.google.com/.well-known/openid-configuration */
  Google: {
    ...OPENID,
    title: 'Google',
    places: () => ({ issuer: 'https://accounts.google.com' }),
    needsSecret: true,
    clientAuthentication: null,
  },
  /** @see https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc */
  Microsoft: {
    ...OPENID,
    title: 'Microsoft',
    settings: ['tenant'],
    places: ({ tenant = 'common' }) => microsoftPlaces(tenant.toLowerCase()),
    needsSecret: false,
    clientAuthentication: null,
  },
  /**
   * Sends name and e-mail only with form_post, and the name only at the first sign-in, in the form field `user`.
   * @see https://developer.apple.com/documentation/signinwithapplerestapi/request-an-authorization-to-the-sign-in-with-apple-server.
   */
  Apple: {
    ...OPENID,
    title: 'Apple',
    settings: ['teamId', 'keyId'],
    places: () => ({ issuer: 'https://appleid.apple.com' }),
    scope: 'openid email name',
    responseTypes: ['code'],
    needsSecret: true,
    clientAuthentication: 'client_secret_post',
  },
  /**
   * The organization's authorization server. `issuer` can name a custom one, such as `https://{domain}/oauth2/default`.
   */
  Okta: {
    ...OPENID,
    title: 'Okta',
    settings: ['domain'],
    places: ({ domain }) => (domain === undefined ? null : { issuer: `https://${domain}` }),
    needs: '"domain", or "issuer" for a custom authorization server',
    needsSecret: false,
    clientAuthentication: null,
  },
  /**
   * Rejects `code_verifier` unless LinkedIn has enabled PKCE for the application, puts no `nonce` into ID tokens, and
   * accepts the secret only in the form, which its discovery document does not mention.
   * @see https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
   */
  LinkedIn: {
    ...OPENID,
    title: 'LinkedIn',
    places: () => ({ issuer: 'https://www.linkedin.com/oauth' }),
    pkce: null,
    sendsNonce: false,
    responseTypes: ['code'],
    responseModes: ['query'],
    needsSecret: true,
    clientAuthentication: 'client_secret_post',
  },
  /**
   * OAuth 2.0 only. Since 2026 its responses have `iss` (RFC 9207): `https://github.com/login/oauth`.
   * @see https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
   */
  GitHub: {
    ...OPENID,
    title: 'GitHub',
    settings: ['domain'],
    places: ({ domain = 'github.com' }) => githubPlaces(domain.toLowerCase()),
    scope: 'read:user user:email',
    sendsNonce: false,
    responseTypes: ['code'],
    responseModes: ['query'],
    needsSecret: true,
    clientAuthentication: 'client_secret_post',
    readProfile: readGithubProfile,
  },
  Custom: {
    ...OPENID,
    title: null,
    places: () => ({ issuer: null }),
    needsSecret: false,
    clientAuthentication: null,
  },
}

/**
 * The tenant of all personal accounts: an alias of `consumers`, whose discovery document has this GUID in its issuer.
 */
const PERSONAL_ACCOUNTS = '9188040d-6c67-4c5b-b112-36a304b66dad'

function microsoftPlaces(tenant: string): Places {
  const named = tenant === 'consumers' ? PERSONAL_ACCOUNTS : tenant
  return {
    issuer: `https://login.microsoftonline.com/${named}/v2.0`,
    issuerHasTenant: named === 'common' || named === 'organizations',
  }
}

/**
 * GitHub Enterprise Server has its API under a path, github.com and Enterprise Cloud (`*.ghe.com`) under a host name.
 */
function githubPlaces(domain: string): Places {
  const hasApiHost = domain === 'github.com' || domain.endsWith('.ghe.com')
  const api = hasApiHost ? `https://api.${domain}` : `https://${domain}/api/v3`
  const issuer = `https://${domain}/login/oauth`
  return {
    issuer,
    authorizationEndpoint: `${issuer}/authorize`,
    tokenEndpoint: `${issuer}/access_token`,
    userInfoEndpoint: `${api}/user`,
  }
}

/** E-mail addresses that are checked per account. GitHub paginates them; the primary one is among the first. */
const MOST_EMAILS = 100

/**
 * GitHub's account as claims. `sub` is the numeric id, since logins can be released and reused by others. Anyone can
 * put any e-mail into their profile (`/user`), so only the primary address in `/user/emails` is used, if it is
 * verified.
 */
async function readGithubProfile(
  { issuer, userInfoEndpoint }: Pick<Provider, 'issuer' | 'userInfoEndpoint'>,
  get: (address: string) => Promise<unknown>,
): Promise<Claims> {
  if (issuer === null || userInfoEndpoint === null) throw new TypeError('the configuration of GitHub has no user info')
  const user = await get(userInfoEndpoint)
  if (!isObject(user) || !Number.isSafeInteger(user.id) || (user.id as number) <= 0) {
    const came = isObject(user) ? quote(user.id) : quote(user)
    throw new OAuthProblem('oauth_provider', `GitHub’s user must be an object with the number "id", but is ${came}`)
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
  if (!Array.isArray(emails)) throw new OAuthProblem('oauth_provider', 'GitHub’s e-mail addresses must be a list')
  const primary = emails
    .slice(0, MOST_EMAILS)
    .find((one: unknown) => isObject(one) && one.primary === true && one.verified === true)
  const email: unknown = isObject(primary) ? primary.email : null
  return isShortText(email) ? email : null
}

function textClaim(name: string, value: unknown): Record<string, string> {
  return isShortText(value) ? { [name]: value } : {}
}

/** Text that is safe for logs, pages and databases. */
function isShortText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= 500 &&
    value.isWellFormed() &&
    !/\p{Cc}/u.test(value)
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
