import type Router from '@koa/router'
import type { Context } from 'koa'
import { Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import { requireNavigation, sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { AdminSecondStep } from '../access/admin-second-step.ts'
import { adminOrigin, pageCookieOf } from '../access/admit-page-session.ts'
import type { ApiTokens } from '../access/api-tokens.ts'
import { findToken } from '../access/authentication.ts'
import type { AdminCredentials } from '../access/credentials.ts'
import { setPageCookie } from '../access/page-cookie.ts'
import type { PageSessions } from '../access/page-sessions.ts'
import { sendPage, textFor } from './page.ts'

export type SignInParts = {
  readonly credentials: AdminCredentials
  readonly pageSessions: PageSessions
  readonly adminSecondStep: AdminSecondStep
  readonly tokens: Pick<ApiTokens, 'find'>
  readonly limits: Limits
}

type Attempt = { readonly ctx: Context; readonly username: string; readonly password: string; readonly to: string }

/** Signs the operator in to the admin pages. */
export const BY_ADMIN_PAGE: WayOfSigningIn<Context, Attempt, Attempt, Attempt, SignInParts> = {
  async ownPage(ctx, { limits }) {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const [username, password] = [fields.get('username') ?? '', fields.get('password') ?? '']
    return { ctx, username, password, to: pageToGoTo(fields.get('to') ?? '') }
  },
  throttle: { none: '`AdminCredentials` counts these attempts together with those in API requests.' },
  async source(attempt, { credentials }) {
    if (await credentials.areRight(attempt.ctx, attempt.username, attempt.password)) return attempt
    return refused(attempt, textFor(attempt.ctx)('admin.signin.refused'), 401)
  },
  async secondStep({ ctx, to }, _accepted, { adminSecondStep }) {
    const path = await adminSecondStep.begin(ctx, to)
    return path === null ? null : new Refusal(null, () => goTo(ctx, path))
  },
  async accept(attempt, _accepted, { pageSessions }) {
    await replaceSession(attempt.ctx, null, pageSessions)
    return attempt
  },
  audit: { none: '`AdminCredentials` records these attempts, as it does for API requests.' },
  redirect: (ctx, { to }) => goTo(ctx, to),
  failed(attempt, error) {
    return refused(attempt, throttledText(attempt.ctx, error), 429)
  },
}

type TokenAttempt = { readonly ctx: Context; readonly token: string; readonly to: string }
type TokenAccepted = { readonly id: string; readonly username: string; readonly to: string }

/** Signs in with an API token. The session has the token's scopes. It ends when the token expires or is deleted. */
export const BY_ADMIN_TOKEN: WayOfSigningIn<Context, TokenAttempt, TokenAccepted, TokenAccepted, SignInParts> = {
  async ownPage(ctx, { limits }) {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    return { ctx, token: (fields.get('token') ?? '').trim(), to: pageToGoTo(fields.get('to') ?? '') }
  },
  throttle: { none: '`findToken` counts failed attempts, as it does for API requests.' },
  async source({ ctx, token, to }, parts) {
    const found = await findToken(ctx, token, parts)
    if (found !== null) return { id: found.id, username: `token:${found.id}`, to }
    const refusal = textFor(ctx)('admin.signin.token.refused')
    return new Refusal(null, () => showSignIn(ctx, { to, username: '', refusal: null, tokenRefusal: refusal }, 401))
  },
  secondStep: { none: 'An API token has 256 random bits, and the API also accepts it without a second step.' },
  async accept({ ctx }, accepted, { pageSessions }) {
    await replaceSession(ctx, accepted.id, pageSessions)
    return accepted
  },
  audit: (ctx, { username }, { credentials }) => credentials.note(ctx, username, 'ok'),
  redirect: (ctx, { to }) => goTo(ctx, to),
  failed({ ctx, to }, error) {
    const tokenRefusal = throttledText(ctx, error)
    return new Refusal(null, () => showSignIn(ctx, { to, username: '', refusal: null, tokenRefusal }, 429))
  },
}

/** Adds the sign-in pages, the only admin pages that do not require a session. */
export function addSignInRoutes(router: Router, parts: SignInParts): void {
  const { pageSessions, limits } = parts

  router.get('/sign-in', async (ctx) => {
    requireNavigation(ctx)
    showSignIn(ctx, { to: pageToGoTo(String(ctx.query.to ?? '')), username: '', refusal: null })
  })

  router.post('/sign-in', (ctx) => walkSignIn(BY_ADMIN_PAGE, ctx, parts))

  router.post('/sign-in/token', (ctx) => walkSignIn(BY_ADMIN_TOKEN, ctx, parts))

  router.post('/sign-out', async (ctx) => {
    requireOwnForm(ctx)
    const cookie = pageCookieOf(ctx)
    const token = (await readForm(ctx, limits)).get('csrf_token') ?? ''
    if (cookie !== null && pageSessions.isCsrfToken(cookie, token)) {
      await pageSessions.end(cookie)
      setPageCookie(ctx, null)
    }
    goTo(ctx, '/admin/sign-in')
  })
}

/** A new sign-in replaces the previous session. @param token see `PageSessions` */
async function replaceSession(ctx: Context, token: string | null, pageSessions: PageSessions): Promise<void> {
  const before = pageCookieOf(ctx)
  if (before !== null) await pageSessions.end(before)
  setPageCookie(ctx, await pageSessions.start(stateOf(ctx).client.address, token))
}

/** Sets Retry-After, and returns the text for a sign-in that was throttled. Rethrows all other errors. */
function throttledText(ctx: Context, error: unknown): string {
  if (!(error instanceof PlatformError) || error.code !== 'ERR_THROTTLED') throw error
  const { retryAfter } = error.details as { retryAfter: number }
  ctx.set('Retry-After', String(retryAfter))
  return textFor(ctx)('admin.signin.throttled', Math.ceil(retryAfter / 60))
}

function refused({ ctx, username, to }: Attempt, refusal: string, status: 401 | 429): Refusal {
  return new Refusal(null, () => showSignIn(ctx, { to, username, refusal }, status))
}

type SignInModel = {
  readonly to: string
  readonly username: string
  readonly refusal: string | null
  /** Why a sign-in with an API token was rejected. */
  readonly tokenRefusal?: string
}

function showSignIn(ctx: Context, shown: SignInModel, status = 200): void {
  const text = textFor(ctx)
  const name = { label: text('platform.logindialog.label.name'), hint: text('admin.signin.hint') }
  const token = { refusal: shown.tokenRefusal ?? null }
  const model = { ...shown, name, forgot: { text: text('admin.signin.forgot') }, token }
  sendPage(ctx, { template: 'sign-in', heading: text('admin.signin.title'), model, part: null, status })
}

/** Browsers send an Origin header with every POST. A client that doesn't is not a browser, and should use the API. */
export function requireOwnForm(ctx: Context): void {
  requireNavigation(ctx)
  const source = sourceOfPost(ctx, adminOrigin(ctx))
  if (source === 'same-origin') return
  const message =
    source === 'foreign'
      ? 'The form was not sent from an admin page. Open the page and send the form from there.'
      : 'The request has no Origin header, which browsers always send. From other programs, use /admin/api with an Authorization header.'
  throw new PlatformError('ERR_FOREIGN_ORIGIN', message)
}

/** Accepts only paths of admin pages, even if they are written in an unusual way. Anything else becomes `/admin/`. */
export function pageToGoTo(asked: string): string {
  const address = URL.parse(asked, 'http://administration.invalid')
  const isOurs = address?.host === 'administration.invalid' && /^\/admin\/(?!sign-)/.test(address.pathname)
  return isOurs ? `${address.pathname}${address.search}` : '/admin/'
}
