import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import { insertOnce } from '../../base/database/portable.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { Asking } from '../login/arrival.ts'
import type { AnonymousLines } from './anonymous-lines.ts'
import type { ConfigurationChooser } from './chosen-configuration.ts'
import type { OAuthConfiguration } from './configuration.ts'
import { checkLogoutToken, LOGOUT_TOKEN_AGE, readUnchecked } from './logout-token.ts'
import { OAuthProblem } from './problems.ts'
import type { Provider } from './provider.ts'
import type { ProviderFinder } from './provider-finder.ts'
import { findKey, type ProviderKeys } from './provider-keys.ts'
import type { ProviderLogins } from './provider-logins.ts'

export type BackchannelLogoutParts = {
  readonly db: HostDatabase
  readonly chooser: ConfigurationChooser
  readonly finder: ProviderFinder
  readonly keys: ProviderKeys
  readonly logins: ProviderLogins
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly writeLine: AnonymousLines
  readonly audit: Audit
  readonly limits: Limits
  /** The clock, in epoch milliseconds. */
  readonly now?: () => number
}

type Registered = { readonly configuration: OAuthConfiguration; readonly provider: Provider }

/**
 * Handles a provider's message that a user signed out there (OIDC Back-Channel Logout 1.0). Ends the user's sessions
 * and remembered logins that began with a sign-in at the provider. This takes effect on all hosts within a second.
 * @returns why the token is rejected; null if it was accepted
 */
export async function backchannelLogout(
  asking: Asking,
  token: string,
  parts: BackchannelLogoutParts,
): Promise<string | null> {
  const { solution, correlationId, address } = asking
  const { audit, writeLine } = parts
  try {
    const ended = await follow(asking, token, parts)
    const facts = { solution: solution.name, address, correlationId }
    if (ended > 0) audit.note({ ...facts, actor: 'provider', action: 'session-end', outcome: 'ok' })
    return null
  } catch (error) {
    if (!(error instanceof OAuthProblem)) throw error
    writeLine(solution.name, address, {
      level: 'warn',
      code: error.code,
      message: `a logout token was rejected: ${error.message}`,
      correlationId,
    })
    return error.message
  }
}

/** @returns the number of provider logins that ended */
async function follow(asking: Asking, token: string, parts: BackchannelLogoutParts): Promise<number> {
  const { db, keys, logins, sessions, remembered, limits, now = Date.now } = parts
  const { name } = asking.solution
  const named = readUnchecked(token)
  if (named === null) throw new OAuthProblem('oauth_token', '"logout_token" is not a signed token')
  const { configuration, provider } = await registeredAs(asking, named, parts)
  const { jwksUri } = provider
  if (jwksUri === null)
    throw new OAuthProblem(
      'oauth_token',
      'the token cannot be verified, because the provider’s JWKS URL ("jwks_uri") is missing',
    )
  const { clientId } = configuration
  const checked = await checkLogoutToken(token, {
    provider,
    clientId,
    now: now(),
    skew: limits.OAUTH_CLOCK_SKEW,
    key: findKey(keys, name, jwksUri),
  })
  const id = `logout-token ${name} ${storedHash(JSON.stringify([checked.iss, checked.jti]))}`
  // Store the token's id until its `iat` is too old to be accepted, so that nobody can use the token twice.
  const expires_at = now() + LOGOUT_TOKEN_AGE + 3 * limits.OAUTH_CLOCK_SKEW
  if (!(await insertOnce(db, 'used_tokens', { id, expires_at }))) {
    throw new OAuthProblem('oauth_token', 'the token was already used')
  }
  const client = { issuer: checked.iss, clientId }
  const ids = await logins.endSignedOut(name, { client, subject: checked.sub, sid: checked.sid }, checked.issuedAt)
  for (const login of ids) await Promise.all([sessions.endOfProviderLogin(login), remembered.endOfProviderLogin(login)])
  return ids.length
}

/**
 * Finds the client registration that a token was issued for, in a current provider login. If there is none, uses the
 * settings, unless these depend on query parameters. `iss` and `aud` are not verified yet, so they are used only for
 * the lookup.
 */
async function registeredAs(
  asking: Asking,
  { iss, aud }: { readonly iss: string; readonly aud: readonly string[] },
  { chooser, finder, logins }: BackchannelLogoutParts,
): Promise<Registered> {
  const { solution } = asking
  for (const clientId of aud.slice(0, 5)) {
    const login = await logins.findOfClient(solution.name, { issuer: iss, clientId })
    if (login !== null) return login.content
  }
  if (solution.manifest.authenticator !== 'OAUTH') {
    throw new OAuthProblem('oauth_token', 'no user is signed in with the token’s issuer and audience')
  }
  const configuration = await chooser.choose(asking)
  return { configuration, provider: await finder.find(solution.name, configuration) }
}
