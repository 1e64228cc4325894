import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { Audit, AuditAction } from '../audit/audit.ts'
import { type CookieScope, readCookie, setCookie } from '../http/cookies.ts'
import { sourceOfPost } from '../http/fetch-metadata.ts'
import { readForm, readQuery } from '../http/read-body.ts'
import { cookieScope, stateOf } from '../http/request.ts'
import { retryAfter } from '../http/retry-after.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { Sites } from '../http/sites.ts'
import type { Remembered } from '../sessions/remembered.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import type { ActiveSolution } from '../solutions/catalog.ts'
import { noEffects } from '../solutions/host-call.ts'
import { permissionsOf } from '../solutions/prepared-solution.ts'
import type {
  Accepted,
  AccountSource,
  AccountSourceName,
  AccountSources,
  Asking,
  SignInAnswer,
} from './account-sources.ts'
import type { ChangePasswordPages } from './change-password.ts'
import type { FormTokens } from './form-token.ts'
import type { KnownBrowsers } from './known-browser.ts'
import type { LoginPage, LoginPageSender } from './login-page.ts'
import type { LoginTokens } from './login-token.ts'
import { keptFields } from './query-params.ts'
import { signInModeOf } from './sign-in-mode.ts'
import type { Throttle } from './throttle.ts'

export type SignInParts = {
  readonly limits: Limits
  readonly sites: Sites
  readonly formTokens: FormTokens
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly accountSources: AccountSources
  readonly throttle: Throttle
  readonly knownBrowsers: KnownBrowsers
  readonly loginTokens: LoginTokens
  readonly changePassword: ChangePasswordPages
  readonly audit: Audit
  readonly sendLoginPage: LoginPageSender
}

/** One try to sign in, with all that the browser sent. */
type Attempt = Asking & {
  readonly ctx: Context
  readonly scope: CookieScope
  readonly source: AccountSource
  readonly fields: ReadonlyMap<string, string>
}

/** More passwords are being checked than the machine can check at once. */
const PASSWORDS_BUSY: Failed = {
  code: 'sandbox_busy',
  message: 'too many passwords are being checked',
  milliseconds: 0,
}

type Refused = Extract<SignInAnswer, { kind: 'refused' }>

/** A session with the cookie that it was found by. */
export type FoundSession = { readonly session: Session; readonly cookie: string }

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
    status: 200,
    fields: keptFields(url, { username: false }),
    ...(url.has('password-changed') ? { notice: { key: 'platform.password.changed' } } : {}),
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
  parts: SignInParts,
): Promise<void> {
  const attempt = readAttempt(ctx, solution, locale, await readForm(ctx, parts.limits), parts)
  try {
    await answerAttempt(attempt, parts)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (error.code === 'ERR_DATABASE_UNREACHABLE') showUnavailable(attempt, parts)
    else if (error.code === 'ERR_PASSWORDS_BUSY') showFailure(attempt, PASSWORDS_BUSY, 401, parts)
    else throw error
  }
}

async function answerAttempt(attempt: Attempt, parts: SignInParts): Promise<void> {
  const { ctx, solution, locale } = attempt
  if (!cameFromOwnPage(attempt, parts)) return refuseForeignForm(attempt, parts)
  const token = attempt.fields.get('id_token') ?? ''
  const wait = await countAttempt(attempt, token, parts)
  if (wait !== null) return showThrottled(attempt, wait, parts)
  const answer =
    token === '' ? await attempt.source.check(attempt, attempt.fields) : await checkLoginToken(attempt, token, parts)
  if (answer.kind === 'failed') return showFailure(attempt, answer.failure, 401, parts)
  if (answer.kind === 'refused') return refuse(attempt, answer, parts)
  if (token === '') await parts.throttle.succeeded(counted(attempt), isKnown(attempt, parts))
  if (answer.user?.mustChangePassword) return parts.changePassword.demand(ctx, solution, locale, answer.user)
  const session = await acceptCredentials(attempt, answer, token === '', parts)
  if (session === null) return refuse(attempt, { kind: 'refused', effects: noEffects(), values: {} }, parts)
  if (answer.effects.showUrl !== null) return sendToAddress(ctx, answer.effects.showUrl, attempt.serverUrl, locale)
  ctx.status = 303
  ctx.set('Location', pageAskedFor(ctx))
}

/**
 * A remembered browser is signed in without the login page, if its user may still sign in. A use is a GET of the page as
 * a navigation, never one that the browser makes ahead of a wish (`Sec-Purpose`).
 * @returns the new session; `answered` when a page was sent that says why not now; null when the person has to sign in
 */
export async function signInRemembered(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  parts: SignInParts,
): Promise<FoundSession | 'answered' | null> {
  const { sites, remembered, sessions, audit } = parts
  const scope = cookieScope(ctx, sites, solution.name)
  const cookie = readCookie(ctx, 'remember', scope)
  if (cookie === undefined || ctx.get('Sec-Purpose') !== '') return null
  const use = await remembered.use(solution.name, cookie)
  const attempt = readAttempt(ctx, solution, locale, new Map(), parts)
  if (use.kind === 'unknown') {
    setCookie(ctx, 'remember', scope, null)
    return null
  }
  const { series } = use
  const note = (action: AuditAction, outcome: string) =>
    audit.note({ ...auditFacts(attempt), actor: `user:${series.username}`, action, outcome })
  // Another way of signing in was chosen since, so nobody is left who could say whether this user may.
  const isOfMode = series.source === attempt.source.name
  if (use.kind === 'stolen' || !isOfMode) {
    await remembered.end(solution.name, cookie)
    if (use.kind === 'stolen') {
      await sessions.endOfSeries(series.selector)
      note('remembered-theft', 'refused')
    }
    setCookie(ctx, 'remember', scope, null)
    return null
  }
  const answer = await attempt.source.recheck(attempt, series)
  if (answer.kind === 'failed') {
    // It could not be asked: whoever may come in still may when it can be asked again.
    showFailure(attempt, answer.failure, 200, parts)
    return 'answered'
  }
  if (answer.kind === 'refused') {
    await remembered.end(solution.name, cookie)
    setCookie(ctx, 'remember', scope, null)
    note('remembered-sign-in', 'refused')
    return null
  }
  const next = use.kind === 'current' ? await remembered.rotate(cookie, { ...series, ...answer.login }) : null
  // Another tab may have rotated it meanwhile, or somebody ended it.
  if (next === null && (await remembered.use(solution.name, cookie)).kind !== 'previous') return null
  if (next !== null) setCookie(ctx, 'remember', scope, next, parts.limits.REMEMBER_LIFETIME)
  const session = await startSession(attempt, answer, series.source, series.selector, parts)
  note('remembered-sign-in', session === null ? 'refused' : 'ok')
  return session
}

function readAttempt(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  fields: ReadonlyMap<string, string>,
  { sites, accountSources }: SignInParts,
): Attempt {
  const { correlationId, client } = stateOf(ctx)
  const mode = signInModeOf(solution)
  if (mode === 'NONE') throw new TypeError('nobody has to sign in here')
  return {
    ctx,
    solution,
    locale,
    url: readQuery(ctx),
    fields,
    scope: cookieScope(ctx, sites, solution.name),
    source: accountSources(mode),
    correlationId,
    address: client.address,
    serverUrl: sites.originOf(solution.name, client),
  }
}

/** The hidden token is always needed; where the browser says where the form came from, that must be here. */
function cameFromOwnPage({ ctx, scope, serverUrl, fields }: Attempt, { formTokens }: SignInParts): boolean {
  if (sourceOfPost(ctx, serverUrl) === 'foreign') return false
  return formTokens.check(ctx, scope, fields.get('csrf_token'))
}

/** A page that was open for too long looks the same, so the person gets a new one with what they had typed. */
function refuseForeignForm({ ctx, solution, locale, fields }: Attempt, { sendLoginPage }: SignInParts): void {
  sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    status: 403,
    fields: keptFields(fields, { username: true }),
    notice: { key: 'platform.login.expired' },
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
  const listed = permissionsOf(solution)
  if (login === null || (listed !== null && login.permissions.some((name) => !listed.includes(name)))) {
    return { kind: 'refused', effects: noEffects(), values: {} }
  }
  return { kind: 'accepted', login, effects: { ...noEffects(), login }, user: null }
}

/**
 * @param mayRemember whether it was signed in by credentials, which can be asked about again
 * @returns as `startSession`
 */
async function acceptCredentials(
  attempt: Attempt,
  answer: Accepted,
  mayRemember: boolean,
  parts: SignInParts,
): Promise<FoundSession | null> {
  const { ctx, solution, scope, source, fields } = attempt
  const { remembered, knownBrowsers, audit, limits } = parts
  const { login } = answer
  const before = readCookie(ctx, 'remember', scope)
  if (before !== undefined) await remembered.end(solution.name, before)
  const wishes = mayRemember && (fields.get('remember') ?? '') !== ''
  const cookie = wishes ? await remembered.start(solution.name, { ...login, source: source.name }) : null
  if (before !== undefined) setCookie(ctx, 'remember', scope, null)
  // A login token can name any uid: nothing that the users table knows of somebody holds for its bearer.
  const session = await startSession(attempt, answer, mayRemember ? source.name : '', null, parts)
  if (session === null) {
    if (cookie !== null) await remembered.end(solution.name, cookie)
    return null
  }
  if (cookie !== null) setCookie(ctx, 'remember', scope, cookie, limits.REMEMBER_LIFETIME)
  if (mayRemember) knownBrowsers.note(ctx, scope, source.countedAs(solution), fields.get('username') ?? '')
  audit.note({ ...auditFacts(attempt), actor: `user:${login.username}`, action: 'sign-in', outcome: 'ok' })
  return session
}

/**
 * A new session id at each login; the session that the browser had ends.
 * @param source '' where nothing that a source knows counts, as for login tokens
 * @returns null when the user's access ended meanwhile: nobody is signed in
 */
async function startSession(
  attempt: Attempt,
  answer: Accepted,
  source: AccountSourceName,
  selector: string | null,
  { sessions, remembered, formTokens }: SignInParts,
): Promise<FoundSession | null> {
  const { ctx, solution, locale, scope, address } = attempt
  const { login, effects } = answer
  const before = readCookie(ctx, 'session', scope)
  if (before !== undefined) await sessions.end(solution.name, before)
  const session = {
    ...login,
    solution: solution.name,
    tenant: effects.tenant,
    locale: effects.locale ?? locale,
    source,
    selector,
  }
  const { cookie, publicId, loggedInAt } = await sessions.start({ ...session, address })
  const holds = source === '' || (await attempt.source.stillHolds(attempt, answer))
  if (!holds || (selector !== null && !(await remembered.isAlive(selector)))) {
    await sessions.end(solution.name, cookie)
    return null
  }
  setCookie(ctx, 'session', scope, cookie)
  formTokens.renew(ctx, scope)
  return { session: { ...session, publicId, loggedInAt }, cookie }
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
    status: 401,
    locale: effects.locale ?? locale,
    failed: true,
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
    status: 429,
    failed: true,
    fields: keptFields(fields, { username: true }),
    notice: { key: 'platform.login.throttled' },
  })
}

/**
 * The source could not say yes or no. The end user gets the error label and an id that the author finds in the log.
 * @param status of the page when it is not that the machine is busy
 */
function showFailure(
  attempt: Attempt,
  failure: Failed,
  status: 200 | 401,
  { audit, sendLoginPage }: SignInParts,
): void {
  const { ctx, solution, locale, fields } = attempt
  audit.note({ ...auditFacts(attempt), actor: actorOf(attempt), action: 'sign-in', outcome: failure.code })
  const page = { ...emptyPage(locale), failed: true, fields: keptFields(fields, { username: true }) }
  if (failure.code === 'sandbox_busy') {
    const seconds = retryAfter(failure)
    ctx.set('Retry-After', String(seconds))
    sendLoginPage(ctx, solution, { ...page, status: 503, notice: { key: 'platform.login.busy', values: [seconds] } })
    return
  }
  if (status === 401) ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
  sendLoginPage(ctx, solution, { ...page, status, notice: { key: 'platform.login.outcome' } })
}

/** The database is away: nobody can be signed in, and nothing is known of what was typed. */
function showUnavailable({ ctx, solution, locale, fields }: Attempt, { sendLoginPage }: SignInParts): void {
  ctx.set('Retry-After', '5')
  sendLoginPage(ctx, solution, {
    ...emptyPage(locale),
    status: 503,
    fields: keptFields(fields, { username: true }),
    notice: { key: 'platform.login.unavailable' },
  })
}

function actorOf({ fields }: Attempt): string {
  return `user:${fields.get('username') ?? ''}`
}

function auditFacts({ solution, address, correlationId }: Attempt) {
  return { solution: solution.name, address, correlationId }
}

function emptyPage(locale: string): Omit<LoginPage, 'status'> {
  return { locale, failed: false, values: {}, messages: new Map(), fields: new Map() }
}

/** The page with its query as it was, but for what the platform's own pages add to it. */
function pageAskedFor(ctx: Context): string {
  const kept = ctx.querystring
    .split('&')
    .filter((part) => !/^(signed-out|password-changed)(=|$)/.test(part) && part !== '')
  return kept.length === 0 ? ctx.path : `${ctx.path}?${kept.join('&')}`
}
