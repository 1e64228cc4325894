import Router from '@koa/router'
import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import { type PlainPageParts, showPlainPage } from '../clients/plain-page.ts'
import { allowPage } from '../http/content-security.ts'
import { readCookie } from '../http/cookies.ts'
import { requireDataRequest, requireNavigation, sourceOfPost } from '../http/fetch-metadata.ts'
import { chooseLocale } from '../http/languages.ts'
import { readForm, readQuery } from '../http/read-body.ts'
import { cookieScope, createNonce, sendHtml, stateOf } from '../http/request.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import { isHostLabel } from '../http/sites.ts'
import { readArrival } from '../login/arrival.ts'
import type { LoginPageSender } from '../login/login-page.ts'
import { type SignInParts, showLoginPage, showRecheckFailure, signIn } from '../login/sign-in.ts'
import { isProviderMode, signInModeOf } from '../login/sign-in-mode.ts'
import { signInRemembered } from '../login/sign-in-remembered.ts'
import { signOut } from '../login/sign-out.ts'
import type { FoundSession } from '../login/start-session.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import type { AfterLogoutState } from '../oauth/after-logout.ts'
import { addOAuthRoutes, type OAuthParts, signInAtProvider } from '../oauth/routes.ts'
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
    readonly oauth: OAuthParts
    readonly afterLogout: AfterLogoutState
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
    const arrival = readArrival(ctx, solution, locale, sites)
    if (isProviderMode(mode)) {
      const signedIn = await signInAtProvider(arrival, parts.oauth)
      return signedIn === null ? undefined : showPlainPage(ctx, solution, signedIn, signedIn.session.locale, parts)
    }
    const remembered = await signInRemembered(arrival, parts.accountSources.ofMode(mode), parts)
    if (remembered === null) return showLoginPage(ctx, solution, locale, parts.sendLoginPage)
    if ('failure' in remembered) return showRecheckFailure(ctx, solution, locale, remembered.failure, parts)
    return showPlainPage(ctx, solution, remembered.found, remembered.found.session.locale, parts)
  })

  router.post('/index.html', async (ctx) => {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    const mode = signInModeOf(solution)
    if (mode === 'NONE' || isProviderMode(mode)) {
      throw new PlatformError('ERR_METHOD_NOT_ALLOWED', 'Nobody signs in by a form here.', { allow: 'HEAD, GET' })
    }
    await maintenance.refuseNewWork()
    await signIn(ctx, solution, localeOf(ctx, solution), mode, parts)
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
    const address = await signOut(ctx, solution.name, null, parts)
    if (address.startsWith('/')) {
      ctx.status = 303
      ctx.set('Location', address)
      return
    }
    sendToAddress(ctx, address, sites.originOf(solution.name, stateOf(ctx).client), localeOf(ctx, solution))
  })

  addOAuthRoutes(router, needSolution, localeOf, parts.oauth)

  router.get('/media/*path', async (ctx) => {
    await sendMedia(ctx, await needSolution(ctx), (ctx.params as { path: string }).path, parts.store)
  })

  /** A script may have wanted another page; a browser that went to the provider first comes to it from here. */
  function showSignedOut(ctx: Context, solution: ActiveSolution, locale: string): void {
    const after = parts.afterLogout.read(solution.name, readQuery(ctx).get('state') ?? '')
    const origin = sites.originOf(solution.name, stateOf(ctx).client)
    if (after !== null && after.target !== null) {
      sendToAddress(ctx, after.target, origin, locale)
      return
    }
    const nonce = createNonce()
    allowPage(ctx, nonce)
    const signInHref = after?.page ?? `/solution/${solution.name}/index.html`
    const model = { solution: { title: solution.title }, signInHref, provider: after?.provider ?? null }
    sendHtml(ctx, 200, signedOutPage({ locale, nonce }, model))
  }

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
