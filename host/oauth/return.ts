import { findSession } from '../../base/accounts/find-session.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { Arrival } from '../login/arrival.ts'
import type { AuthenticatorQuestion } from '../login/ask-authenticator.ts'
import { goOn, goTo } from '../login/go-on.ts'
import { customFields, queryParams } from '../login/query-params.ts'
import { forgetSignedOut } from '../login/signed-out-browser.ts'
import { acceptSignIn, type SessionParts } from '../login/start-session.ts'
import {
  type AuthorizationResponse,
  checkAuthorizationResponse,
  type ReturnMode,
  stateOfResponse,
} from './authorization-response.ts'
import type { ClaimsReader, VerifiedClaims } from './claims.ts'
import type { ClientSecrets } from './client-secret.ts'
import { lastLoginOf } from './last-login.ts'
import { OAuthProblem, problemOfFailure } from './problems.ts'
import type { ProviderLogins } from './provider-logins.ts'
import { type ProblemContext, type ShowProblemParts, showProblem } from './show-problem.ts'
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
    /** The clock, in epoch ms. */
    readonly now?: () => number
  }

/** The verified claims, and the provider's tokens for refresh and logout. */
type SignedIn = VerifiedClaims & Pick<Tokens, 'idToken' | 'refreshToken'>

/** Handles the browser's return from the provider (guide 4): starts a session, or shows why it can't. */
export async function returnFromProvider(
  arrival: Arrival,
  parameters: URLSearchParams,
  mode: ReturnMode,
  parts: ReturnParts,
): Promise<void> {
  const { ctx, scope } = arrival
  const nothingKnown = { configuration: null, provider: null, claims: null, returnTo: startPageOf(arrival) }
  let context: ProblemContext = nothingKnown
  try {
    const state = stateOfResponse(parameters)
    const taken = state === null ? null : await take(arrival, state, parts)
    if (taken?.kind === 'used') return await repeat(arrival, taken.returnTo, parts)
    if (state === null) throw expired('the answer must have one "state"')
    if (taken === null || taken.kind === 'unknown') throw expired()
    clearTransactionCookie(ctx, scope, state)
    const { transaction } = taken
    const { configuration, provider } = transaction.content
    context = { configuration, provider, claims: null, returnTo: transaction.returnTo }
    const response = checkAuthorizationResponse(parameters, mode, transaction)
    const signedIn = await verify(transaction, response, parts)
    context = { ...context, claims: signedIn.claims }
    await letIn(withPageOf(arrival, transaction), transaction, signedIn, parts)
  } catch (error) {
    if (!(error instanceof OAuthProblem)) throw error
    await showProblem(arrival, error, context, parts)
  }
}

/** Takes the transaction only with its cookie from this browser. Without it, the transaction stays unchanged. */
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

/** Back button, reload or a saved link: redirects users who are already signed in, without signing in twice. */
async function repeat(arrival: Arrival, returnTo: string, { sessions }: ReturnParts): Promise<void> {
  const { ctx, scope } = arrival
  if ((await findSession(ctx, scope, sessions)) === null) throw expired()
  goTo(ctx, returnTo)
}

async function verify(
  { solution, startedAt, content }: Transaction,
  response: AuthorizationResponse,
  { clientSecrets, tokenRequests, claims }: ReturnParts,
): Promise<SignedIn> {
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
  if (provider.tokenEndpoint === null) throw new TypeError('a code was asked for without a token endpoint')
  const secret = await clientSecrets.secretFor(solution, configuration, provider.tokenEndpoint)
  const registration = { provider, configuration, secret }
  const tokens = await tokenRequests.exchangeCode(registration, { code, redirectUri, verifier })
  return { ...(await claims.ofTokens(solution, registration, tokens, { nonce, startedAt, code })), ...tokens }
}

/** Asks the authenticator, and signs the user in if it accepts. */
async function letIn(
  arrival: Arrival,
  { content, returnTo, startedAt }: Transaction,
  { claims, issuedAt, idToken, refreshToken }: SignedIn,
  parts: ReturnParts,
): Promise<void> {
  const { solution, url, ctx, serverUrl, locale } = arrival
  const { logins, askAuthenticator, now = Date.now } = parts
  const params = { ...queryParams(url), last_login: lastLoginOf(claims, now(), null) }
  const answer = await askAuthenticator(arrival, params)
  if (answer.kind === 'failed') throw problemOfFailure(answer.failure, 'onSolutionOpen')
  if (answer.kind === 'refused') {
    if (answer.effects.showUrl !== null) return sendToAddress(ctx, answer.effects.showUrl, serverUrl, locale)
    throw new OAuthProblem('oauth_unknown_user', 'the authenticator did not log the user in')
  }
  const { configuration, provider, nonce } = content
  const login = { configuration, provider, page: returnTo, nonce, claims, idToken, refreshToken }
  const providerLogin = await logins.start(solution.name, login, issuedAt, startedAt)
  if (providerLogin === null) throw expired('the provider has signed the user out meanwhile')
  const basis = { source: 'provider' as const, providerLogin, stillHolds: () => logins.isAlive(providerLogin) }
  // Chosen here: the provider decides whether users stay signed in, by sending a refresh token.
  const remember = refreshToken === null ? null : { custom: customFields(url) }
  const session = await acceptSignIn(arrival, answer, basis, remember, parts)
  if (session === null) throw expired('the provider has signed the user out meanwhile')
  forgetSignedOut(ctx, arrival.scope)
  goOn(arrival, { showUrl: answer.effects.showUrl, page: returnTo, locale })
}

/** The authenticator gets the query parameters of the requested page, not those of the provider's response. */
function withPageOf(arrival: Arrival, { returnTo }: Transaction): Arrival {
  const url = new Map(new URL(returnTo, arrival.serverUrl).searchParams)
  return { ...arrival, url }
}

export function startPageOf({ solution }: Arrival): string {
  return `/solution/${solution.name}/index.html`
}

function expired(message = 'the sign-in is too old, was used before, or began in another browser'): OAuthProblem {
  return new OAuthProblem('oauth_expired', message)
}
