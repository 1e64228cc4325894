import type Router from '@koa/router'
import type { Context } from 'koa'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import { showAccount, submitAccount } from './account.ts'
import { showConfirm, submitConfirm } from './confirmation.ts'
import { showSecondStep, submitSecondStep } from './second-step.ts'
import { showSetUp, submitSetUp } from './set-up.ts'
import type { SecondStepParts } from './second-step-parts.ts'

export type StepRouteParts = SecondStepParts & { readonly maintenance: Maintenance }

/** What the router of a solution knows of a request. */
export type OfRequest = {
  readonly needSolution: (ctx: Context) => Promise<ActiveSolution>
  readonly localeOf: (ctx: Context, solution: ActiveSolution) => string
  readonly findSession: (ctx: Context, solution: ActiveSolution) => Promise<FoundSession | null>
}

type StepPage = (ctx: Context, solution: ActiveSolution, locale: string, parts: SecondStepParts) => Promise<void>
type OwnPage = (ctx: Context, solution: ActiveSolution, found: FoundSession, parts: SecondStepParts) => Promise<void>

/** The platform's pages for factors, below a solution's path. Authors' pages and scripts never see a factor. */
export function addSecondStepRoutes(
  router: Router,
  { needSolution, localeOf, findSession }: OfRequest,
  parts: StepRouteParts,
): void {
  /** For browsers with an open sign-in. */
  function step(path: string, show: StepPage, submit: StepPage): void {
    router.get(path, async (ctx) => {
      requireNavigation(ctx)
      const solution = await needSolution(ctx)
      await show(ctx, solution, localeOf(ctx, solution), parts)
    })
    router.post(path, async (ctx) => {
      requireNavigation(ctx)
      const solution = await needSolution(ctx)
      await parts.maintenance.refuseNewWork()
      await submit(ctx, solution, localeOf(ctx, solution), parts)
    })
  }

  /** For users who are signed in. */
  function own(path: string, show: OwnPage, submit: OwnPage): void {
    const by = (page: OwnPage) => async (ctx: Context) => {
      requireNavigation(ctx)
      const solution = await needSolution(ctx)
      const found = await findSession(ctx, solution)
      // The issuer of a login token vouches for the user, so that there is no account to manage here.
      if (found === null || found.session.methods.includes('token')) {
        throw new PlatformError('ERR_NOT_FOUND', 'Sign in to see your account.')
      }
      await page(ctx, solution, found, parts)
    }
    router.get(path, by(show))
    router.post(path, by(submit))
  }

  step('/second-step', showSecondStep, submitSecondStep)
  step('/set-up', showSetUp, submitSetUp)
  own('/confirm', showConfirm, submitConfirm)
  own('/account', showAccount, submitAccount)
}
