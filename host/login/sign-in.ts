import type { Context } from 'koa'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { KnownBrowsers } from '../../base/accounts/known-browser.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { noEffects } from '../../base/bundles/host-call.ts'
import type { LoginPage } from '../../base/bundles/login-page.ts'
import { LOGIN_STATES, type LoginStateName } from '../../base/bundles/login-states.ts'
import { mayGrant } from '../../base/bundles/prepared-solution.ts'
import { readForm, readQuery } from '../../base/http/read-body.ts'
import type { Sites } from '../../base/http/sites.ts'
import { type ErrorCode, PlatformError } from '../../runtime/errors.ts'
import type { Failed } from '../../runtime/outcome.ts'
import { retryAfter } from '../http/retry-after.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { AccountSources, FormSource } from './account-sources.ts'
import { type Arrival, readArrival } from './arrival.ts'
import type { ChangePasswordPages } from './change-password.ts'
import { goOn } from './go-on.ts'
import type { LoginPageSender } from './login-page.ts'
import type { LoginTokens } from './login-token.ts'
import { cameFromOwnPage } from './own-page.ts'
import { pageAskedFor } from './page-asked-for.ts'
import { customFields, keptFields } from './query-params.ts'
import type { Accepted, SignInAnswer } from './sign-in-answer.ts'
import type { FormMode } from './sign-in-mode.ts'
import { acceptSignIn, BASIS_OF_TOKEN, type SessionBasis, type SessionParts, signInFacts } from './start-session.ts'

export type SignInParts = SessionParts & {
  readonly sites: Sites
  readonly accountSources: AccountSources
  readonly throttle: Throttle
  readonly knownBrowsers: KnownBrowsers
  readonly loginTokens: LoginTokens
  readonly changePassword: ChangePasswordPages
  readonly sendLoginPage: LoginPageSender
}

/** A sign-in attempt, with everything that the browser sent. */
type Attempt = Arrival & { readonly source: FormSource; readonly fields: ReadonlyMap<string, string> }

/** The source that checks credentials is unreachable or refuses to answer, so the credentials were not checked. */
const AWAY: Partial<Record<ErrorCode, LoginStateName>> = {
  ERR_DATABASE_UNREACHABLE: 'unavailable',
  ERR_CLOUD_UNREACHABLE: 'cloudAway',
  ERR_CLOUD_REFUSED: 'cloudRefused',
}
/** In seconds, if the error does not give a time. */
const RETRY_AFTER = 5

/** More passwords are being checked than the machine can check at once. */
const PASSWORDS_BUSY: Failed = {
  code: 'sandbox_busy',
  message: 'too many passwords are being checked',
  milliseconds: 0,
}

type Refused = Extract<SignInAnswer, { kind: 'refused' }>

/** Answers GET with the login page, without running the authenticator. */
export function showLoginPage(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  sendLoginPage: LoginPageSender,
): Promise<void> {
  const url = readQuery(ctx)
  return sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...(url.has('password-changed') ? LOGIN_STATES.passwordChanged : LOGIN_STATES.first),
    fields: keptFields(url, { username: false }),
  })
}

/**
 * Handles the login form: checks where it came from, counts the attempt, and asks the account source. Starts a session
 * or shows the login page again.
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
    if (error.code === 'ERR_PASSWORDS_BUSY') await fail(attempt, PASSWORDS_BUSY, parts)
    else await showAway(attempt, error, parts)
  }
}

async function answerAttempt(attempt: Attempt, parts: SignInParts): Promise<void> {
  const { ctx, solution, locale } = attempt
  if (!cameFromOwnPage(attempt, attempt.fields, parts.formTokens)) return refuseForeignForm(attempt, parts)
  const token = attempt.fields.get('id_token') ?? ''
  const wait = await countAttempt(attempt, token, parts)
  if (wait !== null) return showThrottled(attempt, wait, parts)
  const answer = token === '' ? await askSource(attempt, parts) : await checkLoginToken(attempt, token, parts)
  if (answer.kind === 'failed') return fail(attempt, answer.failure, parts)
  if (answer.kind === 'refused') {
    // Only someone who knows the password gets this answer, so it is not a guess.
    if (answer.state === 'verify') await parts.throttle.succeeded(counted(attempt), isKnown(attempt, parts))
    return refuse(attempt, answer, parts)
  }
  if (token === '') await parts.throttle.succeeded(counted(attempt), isKnown(attempt, parts))
  if (answer.user?.mustChangePassword) return parts.changePassword.demand(ctx, solution, locale, answer.user)
  const session = await acceptCredentials(attempt, answer, token === '', parts)
  if (session === null) return refuse(attempt, { kind: 'refused', effects: noEffects(), values: {} }, parts)
  goOn(attempt, { showUrl: answer.effects.showUrl, page: pageAskedFor(ctx), locale })
}

/** If the control center is unreachable, the password was not checked: the attempt does not count for the account. */
async function askSource(attempt: Attempt, parts: SignInParts): Promise<SignInAnswer> {
  try {
    return await attempt.source.check(attempt, attempt.fields)
  } catch (error) {
    const isAway = error instanceof PlatformError && error.code.startsWith('ERR_CLOUD_')
    if (isAway) await parts.throttle.gaveNothing(counted(attempt), isKnown(attempt, parts))
    throw error
  }
}

/**
 * The login page, if the source of a remembered user is unreachable or busy.
 * @throws the error if the login page has no state for it
 */
export function showRecheckError(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  error: unknown,
  parts: SignInParts,
): Promise<void> {
  const code = error instanceof PlatformError ? error.code : ''
  // An unreachable database has a separate error page: without it, the browser's session can't be read.
  if (!(error instanceof PlatformError) || (code !== 'ERR_THROTTLED' && !code.startsWith('ERR_CLOUD_'))) throw error
  const fields = keptFields(readQuery(ctx), { username: false })
  return sendAway({ ctx, solution, locale, fields }, error, parts)
}

/** The check of a remembered user failed: the login page says so, and the browser keeps its cookie. */
export function showRecheckFailure(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  failure: Failed,
  parts: SignInParts,
): Promise<void> {
  return showFailure({ ...readArrival(ctx, solution, locale, parts.sites), fields: new Map() }, failure, 200, parts)
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

/** The page may just have been open for too long: the user gets a new one that keeps what they typed. */
function refuseForeignForm({ ctx, solution, locale, fields }: Attempt, { sendLoginPage }: SignInParts): Promise<void> {
  return sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...LOGIN_STATES.expired,
    fields: keptFields(fields, { username: true }),
  })
}

/** Attempts with a login token count only for the network: the account is unknown. */
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

/** Signs in the user that a login token was issued for, if the solution's scripts could grant its permissions. */
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
  const basis: SessionBasis = byPassword
    ? { source: source.name, providerLogin: null, stillHolds: () => source.stillHolds(attempt, answer, null) }
    : BASIS_OF_TOKEN
  const isAsked = byPassword && (fields.get('remember') ?? '') !== ''
  const remember = isAsked ? { custom: customFields(attempt.url, fields) } : null
  const session = await acceptSignIn(attempt, answer, basis, remember, parts)
  if (session !== null && byPassword) {
    parts.knownBrowsers.note(ctx, scope, source.countedAs(solution), fields.get('username') ?? '')
  }
  return session
}

/** The source refused the sign-in. That is an answer, not an error. */
async function refuse(attempt: Attempt, { effects, values, state }: Refused, parts: SignInParts): Promise<void> {
  const { ctx, solution, locale, fields, serverUrl } = attempt
  parts.audit.note({ ...factsOf(attempt), outcome: 'refused' })
  if (effects.showUrl !== null) {
    sendToAddress(ctx, effects.showUrl, serverUrl, locale)
    return
  }
  ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
  await parts.sendLoginPage(ctx, solution, {
    ...LOGIN_STATES[state ?? 'refused'],
    locale: effects.locale ?? locale,
    values,
    messages: effects.messages,
    fields: keptFields(fields, { username: true }),
  })
}

function showThrottled(attempt: Attempt, seconds: number, { audit, sendLoginPage }: SignInParts): Promise<void> {
  const { ctx, solution, locale, fields } = attempt
  audit.noteOnce({ ...factsOf(attempt), outcome: 'throttled' })
  ctx.set('Retry-After', String(seconds))
  return sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    ...LOGIN_STATES.throttled,
    fields: keptFields(fields, { username: true }),
  })
}

function fail(attempt: Attempt, failure: Failed, parts: SignInParts): Promise<void> {
  parts.audit.note({ ...factsOf(attempt), outcome: failure.code })
  return showFailure(attempt, failure, 401, parts)
}

/**
 * The source failed, so it neither accepted nor refused. The user sees the error label and an id that is also in the
 * log.
 * @param status of the page, unless the host is busy
 */
function showFailure(
  attempt: Omit<Attempt, 'source'>,
  failure: Failed,
  status: 200 | 401,
  { sendLoginPage }: SignInParts,
): Promise<void> {
  const { ctx, solution, locale, fields } = attempt
  const page = { ...emptyPage(locale), fields: keptFields(fields, { username: true }) }
  if (failure.code === 'sandbox_busy') {
    const seconds = retryAfter(failure)
    ctx.set('Retry-After', String(seconds))
    const { notice, ...busy } = LOGIN_STATES.busy
    return sendLoginPage(ctx, solution, { ...page, ...busy, notice: { ...notice, values: [seconds] } })
  }
  if (status === 401) ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
  return sendLoginPage(ctx, solution, { ...page, ...LOGIN_STATES.outcome, status })
}

/** @throws the error if the login page has no state for it */
function showAway(attempt: Attempt, error: PlatformError, parts: SignInParts): Promise<void> {
  const { fields } = attempt
  const seconds = waitOf(error)
  // The source counts attempts too.
  if (error.code === 'ERR_THROTTLED') return showThrottled(attempt, seconds, parts)
  if (AWAY[error.code] === undefined) throw error
  parts.audit.noteOnce({ ...factsOf(attempt), outcome: error.code })
  return sendAway({ ...attempt, fields: keptFields(fields, { username: true }) }, error, parts)
}

function sendAway(
  { ctx, solution, locale, fields }: Pick<Attempt, 'ctx' | 'solution' | 'locale' | 'fields'>,
  error: PlatformError,
  { sendLoginPage }: SignInParts,
): Promise<void> {
  const state = LOGIN_STATES[AWAY[error.code] ?? 'throttled']
  ctx.set('Retry-After', String(waitOf(error)))
  return sendLoginPage(ctx, solution, { ...emptyPage(locale), ...state, fields })
}

function waitOf({ details }: PlatformError): number {
  return typeof details.retryAfter === 'number' ? details.retryAfter : RETRY_AFTER
}

function factsOf(attempt: Attempt) {
  return signInFacts(attempt, attempt.fields.get('username') ?? '')
}

function emptyPage(locale: string): Omit<LoginPage, 'status' | 'failed'> {
  return { locale, values: {}, messages: new Map(), fields: new Map() }
}
