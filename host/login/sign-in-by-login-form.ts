import type { Context } from 'koa'
import { factorAccount } from '../../base/accounts/factor-account.ts'
import { Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { Users } from '../../base/accounts/users.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { noEffects } from '../../base/bundles/host-call.ts'
import { mayGrant } from '../../base/bundles/prepared-solution.ts'
import { sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import type { Sites } from '../../base/http/sites.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { isStillAllowed } from './account-sources.ts'
import { type Arrival, readArrival } from './arrival.ts'
import type { LoginTokens } from './login-token.ts'
import { cameFromOwnPage } from './own-page.ts'
import { redirectSignedIn, type SignedIn } from './redirect-signed-in.ts'
import { requestedPage } from './requested-page.ts'
import { type FirstStep, passwordOf } from './second-step-gate.ts'
import type { ClientSignIn, ClientSignIns } from './sign-in-token.ts'
import { acceptSignIn, auditSignIn, BASIS_OF_TOKEN, type SessionParts } from './start-session.ts'

export type LoginFormParts = SessionParts & {
  readonly sites: Sites
  readonly throttle: Throttle
  readonly loginTokens: LoginTokens
  readonly clientSignIns: ClientSignIns
  readonly users: Pick<Users, 'get'>
}

/**
 * `isOfClient` is true if the solution's login form signed the user in. Otherwise, the user has a login token, whose
 * issuer vouches for them.
 */
type FormSignIn = ClientSignIn & { readonly isOfClient: boolean }
type Attempt = Arrival & { readonly fields: ReadonlyMap<string, string> }

/**
 * Handles the form that a client's page sends after the client's login form has signed a user in. `id_token` is either
 * a client's token or a login token. All other fields are ignored, because names and passwords are meant only for the
 * form's script.
 */
export const BY_LOGIN_FORM: WayOfSigningIn<Attempt, Attempt, FormSignIn, SignedIn, LoginFormParts> = {
  ownPage: checkPage,
  async throttle(attempt, { throttle }) {
    const retryAfter = await throttle.count(counted(attempt), true)
    if (retryAfter === null) return null
    return new Refusal({ outcome: 'throttled', username: '', isRepeatable: true }, () => {
      throw new PlatformError('ERR_THROTTLED', 'Too many sign-in attempts. Try again later.', { retryAfter })
    })
  },
  source: readToken,
  async secondStep(attempt, signIn, parts) {
    const waits = signIn.isOfClient ? await parts.secondStep.check(attempt, firstStepOf(attempt, signIn)) : null
    if (waits !== null) await parts.throttle.succeeded(counted(attempt), true)
    return waits
  },
  async accept(attempt, signIn, parts) {
    const { login, tenant, locale, isOfClient } = signIn
    const effects = { ...noEffects(), login, tenant, locale }
    const { account, methods, password } = firstStepOf(attempt, signIn)
    const basis = isOfClient
      ? {
          ...BASIS_OF_TOKEN,
          ...{ factorsOf: account.source, methods },
          stillHolds: () => isStillAllowed(parts.users, account, password),
        }
      : BASIS_OF_TOKEN
    // Never remember this user, because no source could check them again. A remembered login would stay valid after the
    // user lost their permissions.
    const session = await acceptSignIn(attempt, { login, effects }, basis, null, parts)
    return session === null ? refused(attempt) : { ...signIn, username: login.username }
  },
  audit: auditSignIn,
  async redirect(attempt, signedIn, { throttle }) {
    await throttle.succeeded(counted(attempt), true)
    redirectSignedIn(attempt, signedIn)
  },
}

/** @throws ERR_FOREIGN_ORIGIN, ERR_THROTTLED, ERR_DATABASE_UNREACHABLE */
export async function signInByLoginForm(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  parts: LoginFormParts,
): Promise<void> {
  const fields = await readForm(ctx, parts.limits)
  await walkSignIn(BY_LOGIN_FORM, { ...readArrival(ctx, solution, locale, parts.sites), fields }, parts)
}

/** Returns the first step of the sign-in. Its `source` is '', because no source can check the user again. */
function firstStepOf({ solution }: Attempt, signIn: FormSignIn): FirstStep {
  const { login, tenant, locale, page, showUrl, needsSecondFactor } = signIn
  const password = passwordOf(signIn, login)
  return {
    account: factorAccount(password === null ? '' : 'users', solution.name, login.uid),
    login,
    tenant,
    locale,
    showUrl,
    page,
    source: '',
    providerLogin: null,
    methods: ['script'],
    remember: null,
    knownAs: null,
    password,
    isRaised: needsSecondFactor,
  }
}

function checkPage(attempt: Attempt, { formTokens }: LoginFormParts): Attempt | Refusal {
  const { ctx, serverUrl, fields } = attempt
  if (cameFromOwnPage(attempt, fields, formTokens)) return attempt
  return new Refusal(null, () => {
    // The user signed in on another tab, which invalidated this page's CSRF token. Reload the page as the user who is
    // signed in now.
    if (sourceOfPost(ctx, serverUrl) === 'same-origin') return goTo(ctx, requestedPage(ctx))
    throw new PlatformError(
      'ERR_FOREIGN_ORIGIN',
      'This page has expired, or the form came from another site. Open the page again.',
    )
  })
}

/** Returns what to count the attempt towards. This is only the network's limit, because the account is unknown. */
function counted({ solution, address }: Attempt) {
  return { source: `solution ${solution.name}`, username: '', address }
}

/** Accepts a token only if the solution's scripts could currently grant its permissions. */
async function readToken(
  attempt: Attempt,
  { formTokens, clientSignIns, loginTokens }: LoginFormParts,
): Promise<FormSignIn | Refusal> {
  const { ctx, solution, scope, locale, fields } = attempt
  const token = fields.get('id_token') ?? ''
  let byClient: ClientSignIn | null = null
  for (const browser of formTokens.browsersOf(ctx, scope)) {
    byClient ??= await clientSignIns.consume(solution.name, token, browser)
  }
  const login = byClient?.login ?? (await loginTokens.consume(solution.name, token))
  if (login === null || !mayGrant(solution, login.permissions)) return refused(attempt)
  if (byClient !== null) return { ...byClient, isOfClient: true }
  const nothing = { tenant: null, showUrl: null, authenticated: null, needsSecondFactor: false } as const
  return { ...nothing, login, locale, page: requestedPage(ctx), isOfClient: false }
}

/** Redirects to the requested page, which shows the login form again. */
function refused({ ctx }: Attempt): Refusal {
  return new Refusal({ outcome: 'refused', username: '' }, () => goTo(ctx, requestedPage(ctx)))
}
