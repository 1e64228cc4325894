import type Router from '@koa/router'
import type { Context } from 'koa'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { type Arrival, readArrival } from '../login/arrival.ts'
import { signInModeOf } from '../login/sign-in-mode.ts'
import type { OfRequest } from '../second-step/routes.ts'
import { showForgotten, submitForgotten } from './forgotten-password.ts'
import { LINK_PAGES, type LinkPage, showLinkPage, submitLinkPage } from './link-pages.ts'
import type { SelfServiceParts } from './self-service-parts.ts'

/** The platform's pages for users in the users table who can't sign in, or who opened a link. */
export function addSelfServiceRoutes(
  router: Router,
  { needSolution, localeOf }: Pick<OfRequest, 'needSolution' | 'localeOf'>,
  parts: SelfServiceParts,
): void {
  async function arrive(ctx: Context): Promise<Arrival> {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    // In other sign-in modes, the users table doesn't check passwords.
    if (signInModeOf(solution) !== 'DEFAULT') {
      throw new PlatformError(
        'ERR_NOT_FOUND',
        'This solution’s users do not have their passwords on this server, so this page cannot change them. Ask your administrator where to change your password.',
      )
    }
    return readArrival(ctx, solution, localeOf(ctx, solution), parts.sites)
  }

  router.get('/forgotten-password', async (ctx) => showForgotten(await arrive(ctx), parts))
  router.post('/forgotten-password', async (ctx) => {
    const arrival = await arrive(ctx)
    await parts.maintenance.refuseNewWork()
    await submitForgotten(arrival, parts)
  })
  for (const page of Object.keys(LINK_PAGES) as LinkPage[]) {
    router.get(`/${page}`, async (ctx) => showLinkPage(await arrive(ctx), page, parts))
    router.post(`/${page}`, async (ctx) => submitLinkPage(await arrive(ctx), page, parts))
  }
}
