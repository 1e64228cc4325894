import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { Failed } from '../../runtime/outcome.ts'
import { readForm, readQuery } from '../http/read-body.ts'
import { retryAfter } from '../http/retry-after.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { Sites } from '../http/sites.ts'
import type { ActiveSolution } from '../solutions/catalog.ts'
import { noEffects } from '../solutions/host-call.ts'
import { mayGrant } from '../solutions/prepared-solution.ts'
import type { Accepted, AccountSources, FormSource, SignInAnswer } from './account-sources.ts'
import { type Arrival, readArrival } from './arrival.ts'
import type { ChangePasswordPages } from './change-password.ts'
import type { KnownBrowsers } from './known-browser.ts'
import type { LoginPage, LoginPageSender } from './login-page.ts'
import { LOGIN_STATES } from './login-states.ts'
import type { LoginTokens } from './login-token.ts'
import { cameFromOwnPage } from './own-page.ts'
import { pageAskedFor } from './page-asked-for.ts'
import { keptFields } from './query-params.ts'
import { type FormMode, signInModeOf } from './sign-in-mode.ts'
import { acceptSignIn, type FoundSession, type SessionBasis, type SessionParts } from './start-session.ts'
import type { Throttle } from './throttle.ts'

export type SignInParts = SessionParts & {
  readonly sites: Sites
  readonly accountSources: AccountSources
  readonly throttle: Throttle
  readonly knownBrowsers: KnownBrowsers
  readonly loginTokens: LoginTokens
  readonly changePassword: ChangePasswordPages
  readonly sendLoginPage: LoginPageSender
}

/** One try to sign in, with all that the browser sent. */
type Attempt = Arrival & { readonly source: FormSource; readonly fields: ReadonlyMap<string, string> }

const UNREACHABLE = 'ERR_DATABASE_UNREACHABLE'

/** More passwords are being checked than the machine can check at once. */
const PASSWORDS_BUSY: Failed = {
  code: 'sandbox_busy',
  message: 'too many passwords are being checked',
  milliseconds: 0,
}

type Refused = Extract<SignInAnswer, { kind: 'refused' }>

/** The login page at GET: nothing is asked of the authenticator yet. */
export function showLoginPage(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  sendLoginPage: LoginPageSender,
): void {
  const url = readQuery(ctx)
  sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...(url.has('password-changed') ? LOGIN_STATES.passwordChanged : LOGIN_STATES.first),
    fields: keptFields(url, { username: false }),
  })
}

/**
 * The login form: the browser is checked, the attempt counted, the source of accounts asked, and the answer is a session
 * or the login page again.
 */
export async function signIn(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  mode: FormMode,
  parts: SignInParts,
): Promise<void> {
  const attempt = await readAttempt(ctx, solution, locale, mode, parts)
  try {
    await answerAttempt(attempt, parts)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (error.code === UNREACHABLE) showUnavailable(attempt, parts)
    else if (error.code === 'ERR_PASSWORDS_BUSY') fail(attempt, PASSWORDS_BUSY, parts)
    else throw error
  }
}

async function answerAttempt(attempt: Attempt, parts: SignInParts): Promise<void> {
  const { ctx, solution, locale } = attempt
  if (!cameFromOwnPage(attempt, attempt.fields, parts.formTokens)) return refuseForeignForm(attempt, parts)
  const token = attempt.fields.get('id_token') ?? ''
  const wait = await countAttempt(attempt, token, parts)
  if (wait !== null) return showThrottled(attempt, wait, parts)
  const answer =
    token === '' ? await attempt.source.check(attempt, attempt.fields) : await checkLoginToken(attempt, token, parts)
  if (answer.kind === 'failed') return fail(attempt, answer.failure, parts)
  if (answer.kind === 'refused') return refuse(attempt, answer, parts)
  if (token === '') await parts.throttle.succeeded(counted(attempt), isKnown(attempt, parts))
  if (answer.user?.mustChangePassword) return parts.changePassword.demand(ctx, solution, locale, answer.user)
  const session = await acceptCredentials(attempt, answer, token === '', parts)
  if (session === null) return refuse(attempt, { kind: 'refused', effects: noEffects(), values: {} }, parts)
  if (answer.effects.showUrl !== null) return sendToAddress(ctx, answer.effects.showUrl, attempt.serverUrl, locale)
  ctx.status = 303
  ctx.set('Location', pageAskedFor(ctx))
}

/** It could not be asked whether a remembered user may still come in: the login page says so, and the cookie stays. */
export function showRecheckFailure(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  failure: Failed,
  parts: SignInParts,
): void {
  showFailure({ ...readArrival(ctx, solution, locale, parts.sites), fields: new Map() }, failure, 200, parts)
}

async function readAttempt(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  mode: FormMode,
  { sites, accountSources, limits }: SignInParts,
): Promise<Attempt> {
  const fields = await readForm(ctx, limits)
  return { ...readArrival(ctx, solution, locale, sites), fields, source: accountSources.ofForm(mode) }
}

/** A page that was open for too long looks the same, so the person gets a new one with what they had typed. */
function refuseForeignForm({ ctx, solution, locale, fields }: Attempt, { sendLoginPage }: SignInParts): void {
  sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...LOGIN_STATES.expired,
    fields: keptFields(fields, { username: true }),
  })
}

/** Guesses of login tokens count for the network alone: no account is known. */
function countAttempt(attempt: Attempt, token: string, parts: SignInParts): Promise<number | null> {
  return parts.throttle.count(counted(attempt), token !== '' || isKnown(attempt, parts))
}

function counted({ source, solution, fields, address }: Attempt) {
  return { source: source.countedAs(solution), username: fields.get('username') ?? '', address }
}

function isKnown(attempt: Attempt, { knownBrowsers }: SignInParts): boolean {
  const { source, username } = counted(attempt)
  return knownBrowsers.isKnown(attempt.ctx, attempt.scope, source, username)
}

/** A login token of this platform signs in for whom it was made, within what the solution's scripts could grant. */
async function checkLoginToken(
  { solution }: Attempt,
  token: string,
  { loginTokens }: SignInParts,
): Promise<SignInAnswer> {
  const login = await loginTokens.consume(solution.name, token)
  if (login === null || !mayGrant(solution, login.permissions)) {
    return { kind: 'refused', effects: noEffects(), values: {} }
  }
  return { kind: 'accepted', login, effects: { ...noEffects(), login }, user: null }
}

/** @returns as `startSession` */
async function acceptCredentials(
  attempt: Attempt,
  answer: Accepted,
  byPassword: boolean,
  parts: SignInParts,
): Promise<FoundSession | null> {
  const { ctx, solution, scope, source, fields } = attempt
  // A login token can name any uid: nothing that the users table knows of somebody holds for its bearer, and nobody could be
  // asked about it again.
  const basis: SessionBasis = byPassword
    ? { source: source.name, providerLogin: null, stillHolds: () => source.stillHolds(attempt, answer, null) }
    : { source: '', providerLogin: null, stillHolds: async () => true }
  const remember = byPassword && (fields.get('remember') ?? '') !== ''
  const session = await acceptSignIn(attempt, answer, basis, remember, parts)
  if (session !== null && byPassword) {
    parts.knownBrowsers.note(ctx, scope, source.countedAs(solution), fields.get('username') ?? '')
  }
  return session
}

/** Nobody was logged in: an answer, not an error. */
function refuse(attempt: Attempt, { effects, values }: Refused, parts: SignInParts): void {
  const { ctx, solution, locale, fields, serverUrl } = attempt
  parts.audit.note({ ...auditFacts(attempt), actor: actorOf(attempt), action: 'sign-in', outcome: 'refused' })
  if (effects.showUrl !== null) {
    sendToAddress(ctx, effects.showUrl, serverUrl, locale)
    return
  }
  ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
  parts.sendLoginPage(ctx, solution, {
    ...LOGIN_STATES.refused,
    locale: effects.locale ?? locale,
    values,
    messages: effects.messages,
    fields: keptFields(fields, { username: true }),
  })
}

function showThrottled(attempt: Attempt, seconds: number, { audit, sendLoginPage }: SignInParts): void {
  const { ctx, solution, locale, fields } = attempt
  audit.noteOnce({ ...auditFacts(attempt), actor: actorOf(attempt), action: 'sign-in', outcome: 'throttled' })
  ctx.set('Retry-After', String(seconds))
  sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...LOGIN_STATES.throttled,
    fields: keptFields(fields, { username: true }),
  })
}

function fail(attempt: Attempt, failure: Failed, parts: SignInParts): void {
  parts.audit.note({ ...auditFacts(attempt), actor: actorOf(attempt), action: 'sign-in', outcome: failure.code })
  showFailure(attempt, failure, 401, parts)
}

/**
 * The source could not say yes or no. The end user gets the error label and an id that the author finds in the log.
 * @param status of the page when it is not that the machine is busy
 */
function showFailure(
  attempt: Omit<Attempt, 'source'>,
  failure: Failed,
  status: 200 | 401,
  { sendLoginPage }: SignInParts,
): void {
  const { ctx, solution, locale, fields } = attempt
  const page = { ...emptyPage(locale), fields: keptFields(fields, { username: true }) }
  if (failure.code === 'sandbox_busy') {
    const seconds = retryAfter(failure)
    ctx.set('Retry-After', String(seconds))
    const { notice, ...busy } = LOGIN_STATES.busy
    sendLoginPage(ctx, solution, { ...page, ...busy, notice: { ...notice, values: [seconds] } })
    return
  }
  if (status === 401) ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
  sendLoginPage(ctx, solution, { ...page, ...LOGIN_STATES.outcome, status })
}

/** The database is away: nobody can be signed in, and nothing is known of what was typed. */
function showUnavailable(attempt: Attempt, { audit, sendLoginPage }: SignInParts): void {
  const { ctx, solution, locale, fields } = attempt
  audit.noteOnce({ ...auditFacts(attempt), actor: actorOf(attempt), action: 'sign-in', outcome: UNREACHABLE })
  ctx.set('Retry-After', '5')
  sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...LOGIN_STATES.unavailable,
    fields: keptFields(fields, { username: true }),
  })
}

function actorOf({ fields }: Pick<Attempt, 'fields'>): string {
  return `user:${fields.get('username') ?? ''}`
}

function auditFacts({ solution, address, correlationId }: Arrival) {
  return { solution: solution.name, mode: signInModeOf(solution), address, correlationId }
}

function emptyPage(locale: string): Omit<LoginPage, 'status' | 'failed'> {
  return { locale, values: {}, messages: new Map(), fields: new Map() }
}
