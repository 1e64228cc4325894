import Router from '@koa/router'
import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import { endSession, type PlainPageParts, pageAfterLogout, showPlainPage } from '../clients/plain-page.ts'
import { allowPage } from '../http/content-security.ts'
import { readCookie } from '../http/cookies.ts'
import { requireDataRequest, requireNavigation, sourceOfPost } from '../http/fetch-metadata.ts'
import { chooseLocale } from '../http/languages.ts'
import { readForm } from '../http/read-body.ts'
import { cookieScope, createNonce, sendHtml, stateOf } from '../http/request.ts'
import { isHostLabel } from '../http/sites.ts'
import type { LoginPageSender } from '../login/login-page.ts'
import { type FoundSession, type SignInParts, showLoginPage, signIn, signInRemembered } from '../login/sign-in.ts'
import { signInModeOf } from '../login/sign-in-mode.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import { signedOutPage } from '../web/pages.ts'
import type { ActiveSolution, Catalog } from './catalog.ts'
import { sendMedia } from './media.ts'
import { availableLocales } from './messages.ts'
import type { SolutionStore } from './solution-store.ts'

export type SolutionRouteParts = SignInParts &
  PlainPageParts & {
    readonly catalog: Catalog
    readonly store: SolutionStore
    readonly sendLoginPage: LoginPageSender
    readonly maintenance: Maintenance
  }

/** Everything under `/solution/{name}/` (design section 7). */
export function solutionRoutes(parts: SolutionRouteParts): Router {
  const { catalog, sites, sessions, maintenance } = parts
  const router = new Router({ prefix: '/solution/:solution', sensitive: true })

  /** The last gate: a solution is answered for only where the host name was found to serve it. */
  function needSolution(ctx: Context): Promise<ActiveSolution> {
    const name = nameOf(ctx)
    const { site } = stateOf(ctx)
    const isServed = site?.kind === 'solution' ? site.solution === name : site !== null && sites.shared
    if (!isServed) throw new PlatformError('ERR_NOT_FOUND', 'This host name does not serve that solution.')
    return catalog.need(name)
  }

  function localeOf(ctx: Context, solution: ActiveSolution): string {
    return chooseLocale(ctx.get('Accept-Language'), availableLocales(solution.texts))
  }

  async function findSession(ctx: Context, solution: ActiveSolution): Promise<FoundSession | null> {
    if (solution.manifest.authenticator === 'NONE') return null
    const cookie = readCookie(ctx, 'session', cookieScope(ctx, sites, solution.name))
    const session = cookie === undefined ? null : await sessions.find(solution.name, cookie)
    return session === null || cookie === undefined ? null : { session, cookie }
  }

  router.get('/', (ctx) => {
    ctx.status = 308
    ctx.set('Location', `/solution/${nameOf(ctx)}/index.html${ctx.search}`)
  })

  router.get('/index.html', async (ctx) => {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    const mode = signInModeOf(solution)
    const found = await findSession(ctx, solution)
    if (found !== null) return showPlainPage(ctx, solution, found, found.session.locale, parts)
    const locale = localeOf(ctx, solution)
    if (Object.hasOwn(ctx.query, 'signed-out')) return showSignedOut(ctx, solution, locale)
    await maintenance.refuseNewWork()
    if (mode === 'NONE') return showPlainPage(ctx, solution, null, locale, parts)
    const remembered = await signInRemembered(ctx, solution, locale, parts)
    if (remembered === 'answered') return
    if (remembered !== null) return showPlainPage(ctx, solution, remembered, remembered.session.locale, parts)
    showLoginPage(ctx, solution, locale, parts.sendLoginPage)
  })

  router.post('/index.html', async (ctx) => {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    if (signInModeOf(solution) === 'NONE') {
      throw new PlatformError('ERR_METHOD_NOT_ALLOWED', 'Nobody has to sign in here.', { allow: 'HEAD, GET' })
    }
    await maintenance.refuseNewWork()
    await signIn(ctx, solution, localeOf(ctx, solution), parts)
  })

  router.get('/password', async (ctx) => {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    await parts.changePassword.show(ctx, solution, (await findSession(ctx, solution))?.session ?? null)
  })

  router.post('/password', async (ctx) => {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    const session = (await findSession(ctx, solution))?.session ?? null
    await parts.changePassword.submit(ctx, solution, session?.locale ?? localeOf(ctx, solution), session)
  })

  router.get('/session', async (ctx) => {
    requireDataRequest(ctx)
    const found = await findSession(ctx, await needSolution(ctx))
    if (found === null) throw new PlatformError('ERR_UNAUTHENTICATED', 'Nobody is signed in.')
    const { username, uid, permissions, tenant, locale, loggedInAt } = found.session
    ctx.body = { username, uid, permissions, tenant, locale, loggedInAt }
  })

  router.post('/logout', async (ctx) => {
    const solution = await needSolution(ctx)
    const scope = cookieScope(ctx, sites, solution.name)
    const source = sourceOfPost(ctx, sites.originOf(solution.name, stateOf(ctx).client))
    const isOwn =
      source === 'unknown' ? parts.formTokens.check(ctx, scope, await readToken(ctx)) : source === 'same-origin'
    if (!isOwn) throw new PlatformError('ERR_FOREIGN_ORIGIN', 'Signing out works from the page of the solution only.')
    const cookie = readCookie(ctx, 'session', scope)
    if (cookie !== undefined) await endSession(ctx, solution.name, cookie, parts)
    ctx.status = 303
    ctx.set('Location', pageAfterLogout(solution.name))
  })

  router.get('/media/*path', async (ctx) => {
    await sendMedia(ctx, await needSolution(ctx), (ctx.params as { path: string }).path, parts.store)
  })

  async function readToken(ctx: Context): Promise<string | undefined> {
    if (ctx.get('Content-Type') === '') return undefined
    return (await readForm(ctx, parts.limits)).get('csrf_token')
  }

  return router
}

/** @throws ERR_SOLUTION_NOT_FOUND for what cannot be the name of a solution */
function nameOf(ctx: Context): string {
  const { solution } = ctx.params as { solution: string }
  if (isHostLabel(solution)) return solution
  throw new PlatformError('ERR_SOLUTION_NOT_FOUND', 'There is no such solution.')
}

function showSignedOut(ctx: Context, solution: ActiveSolution, locale: string): void {
  const nonce = createNonce()
  allowPage(ctx, nonce)
  const signInHref = `/solution/${solution.name}/index.html`
  sendHtml(ctx, 200, signedOutPage({ locale, nonce }, { solution: { title: solution.title }, signInHref }))
}
