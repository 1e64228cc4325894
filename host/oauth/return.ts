import { factorAccount } from '../../base/accounts/factor-account.ts'
import { findSession } from '../../base/accounts/find-session.ts'
import { Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import type { Users } from '../../base/accounts/users.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { goTo } from '../../base/http/go-to.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import { isStillAllowed } from '../login/account-sources.ts'
import type { Arrival } from '../login/arrival.ts'
import type { AuthenticatorQuestion } from '../login/ask-authenticator.ts'
import { customFields, queryParams } from '../login/query-params.ts'
import { redirectSignedIn, type SignedIn } from '../login/redirect-signed-in.ts'
import { type FirstStep, passwordOf } from '../login/second-step-gate.ts'
import type { Accepted } from '../login/sign-in-answer.ts'
import { forgetSignedOut } from '../login/signed-out-browser.ts'
import { acceptSignIn, auditSignIn, type SessionBasis, type SessionParts, valuesOf } from '../login/start-session.ts'
import type { OAuthProblemDetail } from '../web/pages.ts'
import {
  type AuthorizationResponse,
  checkAuthorizationResponse,
  type ReturnMode,
  stateOfResponse,
} from './authorization-response.ts'
import type { ClaimsReader, VerifiedClaims } from './claims.ts'
import type { ClientSecrets } from './client-secret.ts'
import type { OAuthConfiguration } from './configuration.ts'
import { lastLoginOf } from './last-login.ts'
import { OAuthProblem, problemOfFailure } from './problems.ts'
import type { Claims } from './provider.ts'
import type { ProviderLogins } from './provider-logins.ts'
import { endedBy, type ProblemContext, type ShowProblemParts, showProblem } from './show-problem.ts'
import type { TokenRequests, Tokens } from './token-requests.ts'
import { clearTransactionCookie, readTransactionCookies } from './transaction-cookies.ts'
import type { TakenTransaction, Transaction, Transactions } from './transactions.ts'

export type ReturnParts = SessionParts &
  ShowProblemParts & {
    readonly transactions: Transactions
    readonly clientSecrets: ClientSecrets
    readonly tokenRequests: TokenRequests
    readonly claims: ClaimsReader
    readonly logins: ProviderLogins
    readonly askAuthenticator: AuthenticatorQuestion
    readonly users: Pick<Users, 'get'>
    /** Returns the current time in epoch ms. */
    readonly now?: () => number
  }

/** What the browser brings back from the provider. `parameters` is null if the response was too large to read. */
type Asked = Arrival & { readonly parameters: URLSearchParams | null; readonly mode: ReturnMode }
/**
 * The browser's return from the provider, and the sign-in that this browser started. `url` contains the query
 * parameters of the requested page.
 */
type Attempt = Asked & { readonly parameters: URLSearchParams; readonly transaction: Transaction }
/** The verified claims, and the provider's tokens for refresh and logout. */
type Verified = VerifiedClaims & Pick<Tokens, 'idToken' | 'refreshToken'>
/** `providerLogin` is the id of the stored `ProviderLogin`. */
type Checked = { readonly verified: Verified; readonly answer: Accepted; readonly providerLogin: string }

/** Handles the browser's return from a provider (the OAuth callback). */
export const BY_PROVIDER: WayOfSigningIn<Asked, Attempt, Checked, SignedIn, ReturnParts> = {
  // The transaction's cookie shows that the sign-in started in this browser.
  ownPage: takeTransaction,
  throttle: {
    none: 'The provider checks the credentials, and each browser can return only once per sign-in.',
  },
  source: checkUser,
  secondStep: (attempt, checked, parts) => parts.secondStep.check(attempt, firstStepOf(attempt, checked)),
  accept,
  audit: auditSignIn,
  redirect: redirectSignedIn,
  failed(attempt, error, parts) {
    if (!(error instanceof OAuthProblem)) throw error
    return refused(attempt, error, contextOf(attempt, null), parts)
  },
}

/** Starts a session, or shows why that is not possible. */
export function returnFromProvider(
  arrival: Arrival,
  parameters: URLSearchParams | null,
  mode: ReturnMode,
  parts: ReturnParts,
): Promise<void> {
  return walkSignIn(BY_PROVIDER, { ...arrival, parameters, mode }, parts)
}

async function takeTransaction(asked: Asked, parts: ReturnParts): Promise<Attempt | Refusal> {
  const { ctx, scope, solution, serverUrl, parameters } = asked
  const nothingKnown = { configuration: null, provider: null, claims: null, returnTo: startPageOf(solution) }
  const refuse = (problem = expired()) => refused(asked, problem, nothingKnown, parts)
  const unreadable = (message: string) => refuse(expired(message, 'unreadable'))
  if (parameters === null) return unreadable('the response was not read, because it is larger than FORM_BODY allows')
  const state = stateOfResponse(parameters)
  if (state === null) return unreadable('the response must have exactly one "state"')
  const taken = await take(asked, state, parts)
  if (taken.kind === 'unknown') return refuse()
  if (taken.kind === 'used') {
    // Redirect users who are already signed in, instead of signing them in twice. They may have used the back button, a
    // reload or a saved link.
    const found = await findSession(ctx, scope, parts.sessions)
    return found === null ? refuse() : new Refusal(null, () => goTo(ctx, taken.returnTo))
  }
  clearTransactionCookie(ctx, scope, state)
  const { transaction } = taken
  // The authenticator gets the query parameters of the requested page, not those of the provider's response.
  const url = new Map(new URL(transaction.returnTo, serverUrl).searchParams)
  return { ...asked, parameters, url, transaction }
}

/** Marks the transaction as used, but only if this browser sent its cookie. */
async function take(
  { ctx, solution, scope }: Arrival,
  state: string,
  { transactions }: ReturnParts,
): Promise<TakenTransaction> {
  for (const cookie of readTransactionCookies(ctx, scope, state)) {
    const taken = await transactions.take(solution.name, state, cookie)
    if (taken.kind !== 'unknown') return taken
  }
  return transactions.take(solution.name, state, undefined)
}

/** Verifies the provider's response, then calls the authenticator. */
async function checkUser(attempt: Attempt, parts: ReturnParts): Promise<Checked | Refusal> {
  const { ctx, serverUrl, locale, parameters, mode, transaction } = attempt
  const verified = await verify(transaction, checkAuthorizationResponse(parameters, mode, transaction), parts)
  const { claims } = verified
  const { askAuthenticator, now = Date.now } = parts
  const params = { ...queryParams(attempt.url), last_login: lastLoginOf(claims, now(), null) }
  const answer = await askAuthenticator(attempt, params)
  if (answer.kind === 'accepted') return started(attempt, verified, answer, parts)
  if (answer.kind === 'refused' && answer.effects.showUrl !== null) {
    const { showUrl } = answer.effects
    return new Refusal(null, () => sendToAddress(ctx, showUrl, serverUrl, locale))
  }
  const problem =
    answer.kind === 'failed'
      ? problemOfFailure(answer.failure, 'onSolutionOpen')
      : new OAuthProblem('oauth_unknown_user', 'the authenticator did not sign the user in')
  return refused(attempt, problem, contextOf(attempt, claims), parts)
}

async function verify(
  { solution, startedAt, content }: Transaction,
  response: AuthorizationResponse,
  { clientSecrets, tokenRequests, claims }: ReturnParts,
): Promise<Verified> {
  const { configuration, provider, nonce, redirectUri, verifier } = content
  if (response.code === null) {
    const { idToken } = response
    const verified = await claims.ofIdToken(solution, { provider, configuration, secret: null }, idToken, {
      nonce,
      startedAt,
    })
    return { ...verified, idToken, refreshToken: null }
  }
  const { code } = response
  if (provider.tokenEndpoint === null)
    throw new TypeError('the provider has no token endpoint, so the code cannot be exchanged')
  const secret = await clientSecrets.secretFor(solution, configuration, provider.tokenEndpoint)
  const registration = { provider, configuration, secret }
  const tokens = await tokenRequests.exchangeCode(registration, { code, redirectUri, verifier })
  return { ...(await claims.ofTokens(solution, registration, tokens, { nonce, startedAt, code })), ...tokens }
}

/** Stores the sign-in at the provider, so that the provider's logout requests can be matched to it. */
async function started(
  attempt: Attempt,
  verified: Verified,
  answer: Accepted,
  parts: ReturnParts,
): Promise<Checked | Refusal> {
  const { content, returnTo, startedAt } = attempt.transaction
  const { claims, issuedAt, idToken, refreshToken } = verified
  const { configuration, provider, nonce } = content
  const login = { configuration, provider, page: returnTo, nonce, claims, idToken, refreshToken }
  const providerLogin = await parts.logins.start(attempt.solution.name, login, issuedAt, startedAt)
  return providerLogin === null ? signedOut(attempt, claims, parts) : { verified, answer, providerLogin }
}

async function accept(attempt: Attempt, checked: Checked, parts: ReturnParts): Promise<SignedIn | Refusal> {
  const { ctx, scope, locale, transaction } = attempt
  const { verified, answer, providerLogin } = checked
  const { account, methods, remember, password } = firstStepOf(attempt, checked)
  const basis: SessionBasis = {
    source: 'provider',
    providerLogin,
    factorsOf: account.source,
    methods,
    isConfirmed: true,
    stillHolds: async () =>
      (await parts.logins.isAlive(providerLogin)) && (await isStillAllowed(parts.users, account, password)),
  }
  const session = await acceptSignIn(attempt, answer, basis, remember, parts)
  if (session === null) {
    return (await parts.logins.isAlive(providerLogin))
      ? refused(
          attempt,
          expired('the account in the users table changed during the sign-in'),
          contextOf(attempt, verified.claims),
          parts,
        )
      : signedOut(attempt, verified.claims, parts)
  }
  forgetSignedOut(ctx, scope)
  return { username: answer.login.username, showUrl: answer.effects.showUrl, page: transaction.returnTo, locale }
}

/** Whether the ID token reports a second factor, by `amr` (RFC 8176) or by one of the configured `acr` values. */
function reportsSecondFactor(
  { amr, acr }: Checked['verified']['claims'],
  { secondFactorAcr = [] }: OAuthConfiguration,
) {
  const hasMethod = Array.isArray(amr) && amr.includes('mfa')
  return hasMethod || (typeof acr === 'string' && acr !== '' && secondFactorAcr.includes(acr))
}

function firstStepOf(attempt: Attempt, { verified, answer, providerLogin }: Checked): FirstStep {
  const { solution, url, transaction } = attempt
  const { login, effects } = answer
  const { claims, refreshToken } = verified
  const password = passwordOf(effects, login)
  const hasSecondFactor = reportsSecondFactor(claims, transaction.content.configuration)
  return {
    account: factorAccount(password === null ? 'provider' : 'users', solution.name, login.uid),
    login,
    ...valuesOf(attempt, effects),
    showUrl: effects.showUrl,
    page: transaction.returnTo,
    source: 'provider',
    providerLogin,
    methods: hasSecondFactor ? ['provider', 'provider-mfa'] : ['provider'],
    // Chosen here: a user is remembered if the provider sends a refresh token, so the provider determines whether users
    // stay signed in.
    remember: refreshToken === null ? null : { custom: customFields(url) },
    knownAs: null,
    password,
    isRaised: effects.needsSecondFactor === true,
  }
}

function signedOut(attempt: Attempt, claims: Claims, parts: ReturnParts): Refusal {
  const problem = expired('the provider signed the user out before this sign-in was complete', 'signed-out')
  return refused(attempt, problem, contextOf(attempt, claims), parts)
}

function refused(asked: Arrival, problem: OAuthProblem, context: ProblemContext, parts: ReturnParts): Refusal {
  return new Refusal(endedBy(problem, context.claims), () => showProblem(asked, problem, context, parts))
}

function contextOf({ transaction: { content, returnTo } }: Attempt, claims: Claims | null): ProblemContext {
  const { configuration, provider } = content
  return { configuration, provider, claims, returnTo }
}

function startPageOf(solution: ActiveSolution): string {
  return `/solution/${solution.name}/index.html`
}

function expired(
  message = 'this browser has no sign-in in progress that matches the response',
  detail?: OAuthProblemDetail,
): OAuthProblem {
  return new OAuthProblem('oauth_expired', message, detail === undefined ? {} : { detail })
}
