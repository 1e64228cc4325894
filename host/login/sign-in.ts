import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Failed } from '../../runtime/outcome.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { sourceOfPost } from '../http/fetch-metadata.ts'
import { readForm, readQuery } from '../http/read-body.ts'
import { cookieScope, stateOf } from '../http/request.ts'
import { retryAfter } from '../http/retry-after.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { Sites } from '../http/sites.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ActiveSolution } from '../solutions/catalog.ts'
import { secretFields } from '../solutions/redact.ts'
import type { EntryResult, EntryRunner } from '../solutions/run-entry.ts'
import type { FormTokens } from './form-token.ts'
import type { LoginPage, LoginPageSender } from './login-page.ts'
import { argumentOf, keptFields, queryParams } from './query-params.ts'

export type SignInParts = {
  readonly limits: Limits
  readonly sites: Sites
  readonly formTokens: FormTokens
  readonly sessions: Sessions
  readonly runEntry: EntryRunner
  readonly sendLoginPage: LoginPageSender
}

type Attempt = {
  readonly ctx: Context
  readonly solution: ActiveSolution
  readonly locale: string
  readonly url: ReadonlyMap<string, string>
  readonly fields: ReadonlyMap<string, string>
}

/** The login page at GET: nothing is asked of the authenticator yet. */
export function showLoginPage(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  sendLoginPage: LoginPageSender,
): void {
  const url = readQuery(ctx)
  sendLoginPage(ctx, solution, { ...emptyPage(locale), status: 200, fields: keptFields(url, { username: false }) })
}

/**
 * The login form: its fields are read, the browser checked, the authenticator asked, and the answer is a session or
 * the login page again.
 */
export async function signIn(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  parts: SignInParts,
): Promise<void> {
  const url = readQuery(ctx)
  const fields = await readForm(ctx, parts.limits)
  const attempt = { ctx, solution, locale, url, fields }
  if (!cameFromOwnPage(attempt, parts)) return refuseForeignForm(attempt, parts)
  const result = await askAuthenticator(attempt, parts)
  if (result.failure !== null) return showFailure(attempt, result.failure, parts)
  const { login, showUrl } = result.effects
  if (login !== null) await startSession(attempt, result, parts)
  if (showUrl !== null) return sendToAddress(ctx, showUrl, originOf(attempt, parts), locale)
  if (login === null) return showRefusal(attempt, result, parts)
  ctx.status = 303
  ctx.set('Location', pageAskedFor(ctx))
}

/** The hidden token is always needed; where the browser says where the form came from, that must be here. */
function cameFromOwnPage({ ctx, solution, fields }: Attempt, { sites, formTokens }: SignInParts): boolean {
  if (sourceOfPost(ctx, sites.originOf(solution.name, stateOf(ctx).client)) === 'foreign') return false
  return formTokens.check(ctx, cookieScope(ctx, sites, solution.name), fields.get('csrf_token'))
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

function askAuthenticator(
  { ctx, solution, locale, url, fields }: Attempt,
  { sites, runEntry }: SignInParts,
): Promise<EntryResult> {
  const { correlationId, client } = stateOf(ctx)
  return runEntry(solution, {
    unit: 'authenticator',
    entry: 'onSolutionOpen',
    args: [argumentOf(url), queryParams(url, fields)],
    secrets: secretFields(new Map([...url, ...fields])),
    call: { kind: 'login', correlationId, user: null, locale, serverUrl: sites.originOf(solution.name, client) },
  })
}

/** A new session id at each login; the session that the browser had ends. */
async function startSession(
  { ctx, solution, locale }: Attempt,
  { effects }: EntryResult,
  parts: SignInParts,
): Promise<void> {
  const { sites, sessions, formTokens } = parts
  if (effects.login === null) throw new TypeError('a session needs a login')
  const scope = cookieScope(ctx, sites, solution.name)
  const before = readCookie(ctx, 'session', scope)
  if (before !== undefined) await sessions.end(solution.name, before)
  const cookie = await sessions.start({
    ...effects.login,
    solution: solution.name,
    tenant: effects.tenant,
    locale: effects.locale ?? locale,
    address: stateOf(ctx).client.address,
  })
  setCookie(ctx, 'session', scope, cookie)
  formTokens.renew(ctx, scope)
}

/** Nobody was logged in: an answer, not an error. */
function showRefusal(
  { ctx, solution, locale, fields }: Attempt,
  { effects, values }: EntryResult,
  { sendLoginPage }: SignInParts,
): void {
  ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
  sendLoginPage(ctx, solution, {
    status: 401,
    locale: effects.locale ?? locale,
    failed: true,
    values,
    messages: effects.messages,
    fields: keptFields(fields, { username: true }),
  })
}

/** The script could not say yes or no. The end user gets the error label and an id that the author finds in the log. */
function showFailure(
  { ctx, solution, locale, fields }: Attempt,
  failure: Failed,
  { sendLoginPage }: SignInParts,
): void {
  const page: Pick<LoginPage, 'locale' | 'failed' | 'values' | 'messages' | 'fields'> = {
    ...emptyPage(locale),
    failed: true,
    fields: keptFields(fields, { username: true }),
  }
  if (failure.code === 'sandbox_busy') {
    const seconds = retryAfter(failure)
    ctx.set('Retry-After', String(seconds))
    sendLoginPage(ctx, solution, {
      ...page,
      status: 503,
      notice: { key: 'platform.login.busy', values: [seconds] },
    })
    return
  }
  ctx.set('WWW-Authenticate', `FormBased realm="${solution.name}"`)
  sendLoginPage(ctx, solution, { ...page, status: 401, notice: { key: 'platform.login.outcome' } })
}

function emptyPage(locale: string): Omit<LoginPage, 'status'> {
  return { locale, failed: false, values: {}, messages: new Map(), fields: new Map() }
}

function originOf({ ctx, solution }: Attempt, { sites }: SignInParts): string {
  return sites.originOf(solution.name, stateOf(ctx).client)
}

/** The page with its query as it was, but for the mark that somebody had signed out. */
function pageAskedFor(ctx: Context): string {
  const kept = ctx.querystring.split('&').filter((part) => !/^signed-out(=|$)/.test(part) && part !== '')
  return kept.length === 0 ? ctx.path : `${ctx.path}?${kept.join('&')}`
}

/** @throws ERR_MODE_UNAVAILABLE for the ways of signing in that are not part of this version */
export function requireKnownMode(solution: ActiveSolution): 'NONE' | 'AUTHENTICATOR' {
  const mode = solution.manifest.authenticator
  if (mode === 'NONE' || mode === 'AUTHENTICATOR') return mode
  throw new PlatformError(
    'ERR_MODE_UNAVAILABLE',
    `This version cannot sign users in by the authenticator ${mode} yet.`,
    { mode },
  )
}
