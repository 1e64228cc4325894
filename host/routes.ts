import Router from '@koa/router'
import type { Context } from 'koa'
import { type FoundSession, findSession as findSessionOf } from '../base/accounts/find-session.ts'
import type { ActiveSolution } from '../base/bundles/active-solution.ts'
import { availableLocales } from '../base/bundles/messages.ts'
import { isHostLabel } from '../base/config/host-names.ts'
import { allowPage } from '../base/http/content-security.ts'
import { requireDataRequest, requireNavigation, sourceOfPost } from '../base/http/fetch-metadata.ts'
import { chooseLocale } from '../base/http/languages.ts'
import { readForm, readQuery } from '../base/http/read-body.ts'
import { cookieScope, createNonce, sendHtml, stateOf } from '../base/http/request.ts'
import { PlatformError } from '../runtime/errors.ts'
import { type ClientPageParts, showClientPage } from './clients/client-page.ts'
import { type ClientRouteParts, connectClient } from './clients/client-route.ts'
import { sendClientScript, sendDevScript } from './clients/client-script-route.ts'
import type { AnswerEndpoint } from './endpoints/endpoints.ts'
import { sendToAddress } from './http/send-to-address.ts'
import { readArrival } from './login/arrival.ts'
import type { LoginPageSender } from './login/login-page.ts'
import { type SignInParts, showLoginPage, showRecheckError, showRecheckFailure, signIn } from './login/sign-in.ts'
import { type LoginFormParts, signInByLoginForm } from './login/sign-in-by-login-form.ts'
import { type FormMode, isProviderMode, type ProviderMode, signInModeOf } from './login/sign-in-mode.ts'
import { signInRemembered } from './login/sign-in-remembered.ts'
import { type SignOutParts, signOut } from './login/sign-out.ts'
import { addressOfTarget, type SignOutTargets } from './login/sign-out-target.ts'
import type { Maintenance } from './maintenance/maintenance.ts'
import type { AfterLogoutState } from './oauth/after-logout.ts'
import { addOAuthRoutes, type OAuthParts, signInAtProvider } from './oauth/routes.ts'
import { addSecondStepRoutes, type StepRouteParts } from './second-step/routes.ts'
import { addSelfServiceRoutes } from './self-service/routes.ts'
import type { SelfServiceParts } from './self-service/self-service-parts.ts'
import type { Catalog } from './solutions/catalog.ts'
import { sendMedia } from './solutions/media.ts'
import type { SolutionStore } from './solutions/solution-store.ts'
import { signedOutPage } from './web/pages.ts'

export type SolutionRouteParts = SignInParts &
  LoginFormParts &
  ClientPageParts &
  ClientRouteParts &
  SignOutParts &
  StepRouteParts &
  SelfServiceParts & {
    readonly signOutTargets: SignOutTargets
    readonly catalog: Catalog
    readonly store: SolutionStore
    readonly sendLoginPage: LoginPageSender
    readonly maintenance: Maintenance
    readonly oauth: OAuthParts
    readonly afterLogout: AfterLogoutState
    readonly answerEndpoint: AnswerEndpoint
  }

/** Everything under `/solution/{name}/`. */
export function solutionRoutes(parts: SolutionRouteParts): Router {
  const { catalog, sites, sessions, maintenance } = parts
  const router = new Router({ prefix: '/solution/:solution', sensitive: true })

  /** @throws ERR_NOT_FOUND if the request's host name does not serve this solution */
  function needSolution(ctx: Context): Promise<ActiveSolution> {
    const name = nameOf(ctx)
    const { site } = stateOf(ctx)
    const isServed = site?.kind === 'solution' ? site.solution === name : site !== null && sites.shared
    if (!isServed)
      throw new PlatformError('ERR_NOT_FOUND', `This host name does not serve the solution "${name}". Check the URL.`)
    return catalog.need(name)
  }

  function localeOf(ctx: Context, solution: ActiveSolution): string {
    return chooseLocale(ctx.get('Accept-Language'), availableLocales(solution.texts))
  }

  async function findSession(ctx: Context, solution: ActiveSolution): Promise<FoundSession | null> {
    if (solution.manifest.authenticator === 'NONE') return null
    return findSessionOf(ctx, cookieScope(ctx, sites, solution.name), sessions)
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
    if (found !== null) return showClientPage(ctx, solution, found, found.session.locale, false, parts)
    const locale = localeOf(ctx, solution)
    if (Object.hasOwn(ctx.query, 'signed-out')) return showSignedOut(ctx, solution, locale, parts)
    await maintenance.refuseNewWork()
    // Opens the client without a user. With LOGIN_FORM, the user signs in through the form.
    if (mode === 'NONE' || mode === 'LOGIN_FORM') {
      return showClientPage(ctx, solution, null, locale, mode === 'LOGIN_FORM', parts)
    }
    const signedIn = await signInByItself(ctx, solution, locale, mode, parts)
    if (signedIn !== null) await showClientPage(ctx, solution, signedIn, signedIn.session.locale, false, parts)
  })

  router.get('/client', async (ctx) => {
    const solution = await needSolution(ctx)
    const mode = signInModeOf(solution)
    const found = await findSession(ctx, solution)
    const isLoginForm = mode === 'LOGIN_FORM'
    const locale = found?.session.locale ?? localeOf(ctx, solution)
    connectClient(ctx, solution, found, locale, { isOpenToAll: mode === 'NONE' || isLoginForm, isLoginForm }, parts)
  })

  router.get('/client.js', async (ctx) => {
    await needSolution(ctx)
    sendClientScript(ctx)
  })

  if (parts.isLive === true) {
    router.get('/dev.js', async (ctx) => {
      await needSolution(ctx)
      sendDevScript(ctx)
    })
  }

  router.post('/index.html', async (ctx) => {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    const mode = signInModeOf(solution)
    if (mode === 'NONE' || isProviderMode(mode)) {
      throw new PlatformError(
        'ERR_METHOD_NOT_ALLOWED',
        'This solution has no sign-in form. Open the solution’s page to sign in or continue.',
        { allow: 'HEAD, GET' },
      )
    }
    await maintenance.refuseNewWork()
    const locale = localeOf(ctx, solution)
    if (mode === 'LOGIN_FORM') await signInByLoginForm(ctx, solution, locale, parts)
    else await signIn(ctx, solution, locale, mode, parts)
  })

  router.get('/session', async (ctx) => {
    requireDataRequest(ctx)
    const found = await findSession(ctx, await needSolution(ctx))
    if (found === null)
      throw new PlatformError('ERR_UNAUTHENTICATED', 'You are not signed in. Sign in, then try again.')
    const { username, uid, permissions, tenant, locale, loggedInAt, methods, confirmedAt } = found.session
    ctx.body = { username, uid, permissions, tenant, locale, loggedInAt, methods, confirmedAt }
  })

  router.post('/logout', async (ctx) => {
    const solution = await needSolution(ctx)
    const origin = sites.originOf(solution.name, stateOf(ctx).client)
    const fields = await readOwnForm(ctx, solution, origin, parts)
    const address = await signOut(ctx, solution, await targetOf(ctx, solution, fields), parts)
    if (address.startsWith('/')) {
      ctx.status = 303
      ctx.set('Location', address)
      return
    }
    sendToAddress(ctx, address, origin, localeOf(ctx, solution))
  })

  addOAuthRoutes(router, needSolution, localeOf, parts.oauth)
  addSecondStepRoutes(router, { needSolution, localeOf, findSession }, parts)
  addSelfServiceRoutes(router, { needSolution, localeOf }, parts)

  router.all('/api/*path', (ctx) => parts.answerEndpoint(ctx, () => needSolution(ctx)))

  router.get('/media/*path', async (ctx) => {
    await sendMedia(ctx, await needSolution(ctx), (ctx.params as { path: string }).path, parts.store)
  })

  /** @returns the URL that a client's script set as the redirect target after sign-out, or null */
  async function targetOf(
    ctx: Context,
    solution: ActiveSolution,
    fields: ReadonlyMap<string, string>,
  ): Promise<string | null> {
    const after = fields.get('after')
    const found = after === undefined ? null : await findSession(ctx, solution)
    if (after === undefined || found === null) return null
    const target = parts.signOutTargets.read(solution.name, found.session.publicId, after)
    return target === null ? null : addressOfTarget(target, stateOf(ctx).client, parts)
  }

  return router
}

/**
 * Signs the user in through the provider or a remember-me cookie.
 * @returns null if another response was sent instead
 */
async function signInByItself(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  mode: FormMode | ProviderMode,
  parts: SolutionRouteParts,
): Promise<FoundSession | null> {
  const arrival = readArrival(ctx, solution, locale, parts.sites)
  if (isProviderMode(mode)) return signInAtProvider(arrival, parts.oauth)
  const source = parts.accountSources.ofMode(mode)
  try {
    const remembered = await signInRemembered(arrival, source, parts)
    if (remembered === null) await showLoginPage(ctx, solution, locale, parts.sendLoginPage)
    else if ('failure' in remembered) await showRecheckFailure(ctx, solution, locale, remembered.failure, parts)
    else return remembered.found
  } catch (error) {
    await showRecheckError(ctx, solution, locale, error, parts)
  }
  return null
}

/**
 * Shows that the user is signed out. After the provider's sign-out page, it redirects to the target that a script set,
 * if there is one.
 */
function showSignedOut(
  ctx: Context,
  solution: ActiveSolution,
  locale: string,
  { afterLogout, sites }: SolutionRouteParts,
): void {
  const after = afterLogout.read(solution.name, readQuery(ctx).get('state') ?? '')
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

/**
 * Reads the form that the solution's page sends to sign the user out. If the browser's headers show that the request
 * comes from that page, the form is optional. Otherwise, the form's hidden token must be valid.
 */
async function readOwnForm(
  ctx: Context,
  { name }: ActiveSolution,
  origin: string,
  { formTokens, sites, limits }: SolutionRouteParts,
): Promise<Map<string, string>> {
  const source = sourceOfPost(ctx, origin)
  if (source === 'foreign') throw notFromPage()
  if (source === 'same-origin') return ctx.is('urlencoded') ? readForm(ctx, limits) : new Map()
  const fields = ctx.get('Content-Type') === '' ? new Map<string, string>() : await readForm(ctx, limits)
  if (!formTokens.check(ctx, cookieScope(ctx, sites, name), fields.get('csrf_token'))) throw notFromPage()
  return fields
}

function notFromPage(): PlatformError {
  return new PlatformError(
    'ERR_FOREIGN_ORIGIN',
    'The sign-out request was not sent from the solution’s own page. Open the solution, and sign out there.',
  )
}

/** @throws ERR_SOLUTION_NOT_FOUND if the parameter is not a valid solution name */
function nameOf(ctx: Context): string {
  const { solution } = ctx.params as { solution: string }
  if (isHostLabel(solution)) return solution
  throw new PlatformError(
    'ERR_SOLUTION_NOT_FOUND',
    'The solution name in the URL must be 1 to 63 lowercase letters, digits and hyphens.',
  )
}
