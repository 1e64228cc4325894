import type { Context } from 'koa'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { noEffects } from '../../base/bundles/host-call.ts'
import { mayGrant } from '../../base/bundles/prepared-solution.ts'
import { sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { readForm } from '../../base/http/read-body.ts'
import type { Sites } from '../../base/http/sites.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { type Arrival, readArrival } from './arrival.ts'
import { goOn, goTo } from './go-on.ts'
import type { LoginTokens } from './login-token.ts'
import { cameFromOwnPage } from './own-page.ts'
import { pageAskedFor } from './page-asked-for.ts'
import type { ClientSignIn, ClientSignIns } from './sign-in-token.ts'
import { acceptSignIn, BASIS_OF_TOKEN, type SessionParts, signInFacts } from './start-session.ts'

export type LoginFormParts = SessionParts & {
  readonly sites: Sites
  readonly throttle: Throttle
  readonly loginTokens: LoginTokens
  readonly clientSignIns: ClientSignIns
}

/**
 * Handles the POST that a client's page sends after its login form signed a user in. `id_token` is a client's token or
 * a login token. All other fields are ignored: names and passwords are for the form's script.
 * @throws ERR_FOREIGN_ORIGIN, ERR_THROTTLED, ERR_DATABASE_UNREACHABLE
 */
export async function signInByLoginForm(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  parts: LoginFormParts,
): Promise<void> {
  const fields = await readForm(ctx, parts.limits)
  const arrival = readArrival(ctx, solution, locale, parts.sites)
  if (!cameFromOwnPage(arrival, fields, parts.formTokens)) {
    // Another tab signed in, which invalidated this page's CSRF token: reload the page as the user who is signed in.
    if (sourceOfPost(ctx, arrival.serverUrl) === 'same-origin') return goTo(ctx, pageAskedFor(ctx))
    throw new PlatformError('ERR_FOREIGN_ORIGIN', 'This page had expired, or the form came from another site.')
  }
  // Attempts count only for the network: the account is unknown.
  const attempt = { source: `solution ${solution.name}`, username: '', address: arrival.address }
  const wait = await parts.throttle.count(attempt, true)
  if (wait !== null) {
    parts.audit.noteOnce({ ...signInFacts(arrival, ''), outcome: 'throttled' })
    throw new PlatformError('ERR_THROTTLED', 'Too many attempts to sign in.', { retryAfter: wait })
  }
  const signIn = await readToken(arrival, fields.get('id_token') ?? '', parts)
  const session = signIn === null ? null : await accept(arrival, signIn, parts)
  if (signIn === null || session === null) {
    parts.audit.note({ ...signInFacts(arrival, ''), outcome: 'refused' })
    // The client opens on its login form again.
    return goTo(ctx, pageAskedFor(ctx))
  }
  await parts.throttle.succeeded(attempt, true)
  goOn(arrival, { ...signIn, locale: session.session.locale })
}

/** @returns null unless the solution's scripts could currently grant the token's permissions */
async function readToken(
  { ctx, solution, scope, locale }: Arrival,
  token: string,
  { formTokens, clientSignIns, loginTokens }: LoginFormParts,
): Promise<ClientSignIn | null> {
  let byClient: ClientSignIn | null = null
  for (const browser of formTokens.browsersOf(ctx, scope)) {
    byClient ??= await clientSignIns.consume(solution.name, token, browser)
  }
  const login = byClient?.login ?? (await loginTokens.consume(solution.name, token))
  if (login === null || !mayGrant(solution, login.permissions)) return null
  return byClient ?? { login, tenant: null, locale, page: pageAskedFor(ctx), showUrl: null }
}

/** Never remembered: no source could check the user again, so the login would outlive their permissions. */
function accept(arrival: Arrival, { login, tenant, locale }: ClientSignIn, parts: LoginFormParts) {
  const effects = { ...noEffects(), login, tenant, locale }
  return acceptSignIn(arrival, { login, effects }, BASIS_OF_TOKEN, null, parts)
}
