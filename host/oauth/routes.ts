import type Router from '@koa/router'
import type { Context } from 'koa'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { allowPage } from '../../base/http/content-security.ts'
import { requireNavigation, sourceOfPost } from '../../base/http/fetch-metadata.ts'
import { readFormPairs } from '../../base/http/read-body.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { AccountSource } from '../login/account-sources.ts'
import { type Arrival, readArrival } from '../login/arrival.ts'
import { requestedPage } from '../login/requested-page.ts'
import { isProviderMode, signInModeOf } from '../login/sign-in-mode.ts'
import { signInRemembered } from '../login/sign-in-remembered.ts'
import { auditSignIn } from '../login/start-session.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import { fragmentPage, repostPage } from '../web/pages.ts'
import { type AuthorizeParts, authorize } from './authorize.ts'
import { type BackchannelLogoutParts, backchannelLogout } from './backchannel-logout.ts'
import type { OAuthConfiguration } from './configuration.ts'
import { OAuthProblem, problemOfFailure } from './problems.ts'
import { type ReturnParts, returnFromProvider } from './return.ts'
import { endedBy, showProblem } from './show-problem.ts'

export type OAuthParts = AuthorizeParts &
  ReturnParts &
  BackchannelLogoutParts & {
    readonly sites: Sites
    readonly maintenance: Maintenance
    readonly providerSource: AccountSource
  }

/** Finds the requested solution, after checking the host name of the request. */
export type NeedSolution = (ctx: Context) => Promise<ActiveSolution>

/**
 * Handles a page request without a session if users sign in at a provider: signs in a remembered user, or redirects to
 * the provider.
 * @returns the session of a remembered user; null if a response has already been set
 */
export async function signInAtProvider(arrival: Arrival, parts: OAuthParts): Promise<FoundSession | null> {
  let configuration: OAuthConfiguration | null = null
  try {
    const remembered = await signInRemembered(arrival, parts.providerSource, parts)
    if (remembered !== null && 'found' in remembered) return remembered.found
    if (remembered !== null) throw problemOfFailure(remembered.failure, 'onSolutionOpen')
    configuration = await parts.chooser.choose(arrival)
    await authorize(arrival, configuration, parts)
  } catch (error) {
    if (!(error instanceof OAuthProblem)) throw error
    const context = { configuration, provider: null, claims: null, returnTo: requestedPage(arrival.ctx) }
    auditSignIn(arrival, endedBy(error, null), parts)
    await showProblem(arrival, error, context, parts)
  }
  return null
}

/** @returns null if the form is too large: the transaction is then unknown, and the user has to start again */
async function readAnswer(ctx: Context, { limits }: OAuthParts): Promise<[name: string, value: string][] | null> {
  try {
    return await readFormPairs(ctx, limits)
  } catch (error) {
    const isTooMuch =
      error instanceof PlatformError && (error.code === 'ERR_BODY_TOO_LARGE' || error.code === 'ERR_TOO_MANY_FIELDS')
    if (isTooMuch) return null
    throw error
  }
}

/** The redirect URI, and the endpoint that providers send back-channel logout tokens to. */
export function addOAuthRoutes(
  router: Router,
  needSolution: NeedSolution,
  localeOf: (ctx: Context, solution: ActiveSolution) => string,
  parts: OAuthParts,
): void {
  const path = '/app_oauth/index.html'

  async function needProviderMode(ctx: Context): Promise<Arrival> {
    const solution = await needSolution(ctx)
    if (!isProviderMode(signInModeOf(solution))) {
      throw new PlatformError('ERR_NOT_FOUND', 'This solution’s users do not sign in with an OAuth provider.')
    }
    return readArrival(ctx, solution, localeOf(ctx, solution), parts.sites)
  }

  router.get(path, async (ctx) => {
    requireNavigation(ctx)
    const arrival = await needProviderMode(ctx)
    if (ctx.querystring !== '') {
      // HEAD must not use up the transaction.
      if (ctx.method === 'HEAD') {
        ctx.status = 200
        return
      }
      await parts.maintenance.refuseNewWork()
      return returnFromProvider(arrival, new URLSearchParams(ctx.querystring), 'query', parts)
    }
    const nonce = createNonce()
    allowPage(ctx, nonce)
    ctx.vary('Accept-Language')
    const { solution, locale } = arrival
    sendHtml(ctx, 200, fragmentPage({ locale, nonce }, { solution: { title: solution.title }, action: ctx.path }))
  })

  router.post(path, async (ctx) => {
    requireNavigation(ctx)
    const arrival = await needProviderMode(ctx)
    const pairs = await readAnswer(ctx, parts)
    if (pairs === null) return returnFromProvider(arrival, null, 'form_post', parts)
    const parameters = new URLSearchParams(pairs)
    const marks = parameters.getAll('from')
    const source = sourceOfPost(ctx, arrival.serverUrl)
    // Only forms from our own pages are accepted, because browsers send our cookies with these forms. If the browser
    // does not send the form's origin, the field `from` marks our own forms. A forged mark is harmless without the
    // transaction's cookie.
    const isOwn = source === 'same-origin' || (source === 'unknown' && marks.length > 0)
    if (!isOwn) {
      const nonce = createNonce()
      allowPage(ctx, nonce)
      ctx.vary('Accept-Language')
      return sendHtml(
        ctx,
        200,
        repostPage({ locale: arrival.locale, nonce }, { action: ctx.path, fields: [...parameters] }),
      )
    }
    await parts.maintenance.refuseNewWork()
    parameters.delete('from')
    // Our pages add exactly one `from`. If there are several, the form already contained one when another site sent it,
    // so don't trust any of them.
    const mode = marks.length === 1 && marks[0] === 'fragment' ? 'fragment' : 'form_post'
    return returnFromProvider(arrival, parameters, mode, parts)
  })

  router.post('/backchannel-logout', async (ctx) => {
    const arrival = await needProviderMode(ctx)
    const tokens = (await readFormPairs(ctx, parts.limits)).filter(([name]) => name === 'logout_token')
    const [, token] = tokens[0] ?? []
    const refusal =
      token === undefined || tokens.length > 1
        ? 'the request must have exactly one logout_token'
        : await backchannelLogout(arrival, token, parts)
    ctx.status = refusal === null ? 200 : 400
    ctx.body = refusal === null ? '' : { error: 'invalid_request', error_description: 'The logout token was rejected.' }
  })
}
