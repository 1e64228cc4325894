import type Router from '@koa/router'
import type { Context } from 'koa'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import { walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { requireFrameOfOurs, requireNavigation } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { type Arrival, readArrival } from '../login/arrival.ts'
import { readPlatformForm } from '../login/own-page.ts'
import { signInModeOf } from '../login/sign-in-mode.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import { showAccount, submitAccount } from './account.ts'
import { findOpen, type StepWay } from './complete.ts'
import { showConfirmPress, submitConfirmPress } from './confirm-press.ts'
import { confirmationOf, goToConfirm, showConfirm, submitConfirm } from './confirmation.ts'
import type { FoundSignIn } from './open-sign-ins.ts'
import type { Presses } from './presses.ts'
import { BY_SECOND_STEP, showSecondStep } from './second-step.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { sendStepOver } from './send-pages.ts'
import { BY_SET_UP, showSetUp } from './set-up.ts'

export type StepRouteParts = SecondStepParts & { readonly maintenance: Maintenance; readonly presses: Presses }

/** Functions that find the solution, language and session of a request. */
export type OfRequest = {
  readonly needSolution: (ctx: Context) => Promise<ActiveSolution>
  readonly localeOf: (ctx: Context, solution: ActiveSolution) => string
  readonly findSession: (ctx: Context, solution: ActiveSolution) => Promise<FoundSession | null>
}

type StepPage = (arrival: Arrival, found: FoundSignIn, parts: SecondStepParts) => Promise<void>
type OwnPage = (arrival: Arrival, found: FoundSession, parts: StepRouteParts) => Promise<void>
type OwnForm = (
  arrival: Arrival,
  found: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: StepRouteParts,
) => Promise<void>

/** The platform's pages for factors, below a solution's path. A solution's own pages and scripts never see a factor. */
export function addSecondStepRoutes(
  router: Router,
  { needSolution, localeOf, findSession }: OfRequest,
  parts: StepRouteParts,
): void {
  /** Pages for browsers with an open sign-in. */
  function step(path: string, show: StepPage, way: StepWay): void {
    const arrive = async (ctx: Context) => {
      requireNavigation(ctx)
      const solution = await needSolution(ctx)
      return readArrival(ctx, solution, localeOf(ctx, solution), parts.sites)
    }
    router.get(path, async (ctx) => {
      const arrival = await arrive(ctx)
      const found = await findOpen(arrival, parts)
      if (found === null) sendStepOver(arrival)
      else await show(arrival, found, parts)
    })
    router.post(path, async (ctx) => {
      const arrival = await arrive(ctx)
      await parts.maintenance.refuseNewWork()
      await walkSignIn(way, { ...arrival, fields: await readForm(ctx, parts.limits) }, parts)
    })
  }

  /** Pages for users who are signed in. Other users are sent to the login page. */
  function own(path: string, show: OwnPage, submit: OwnForm): void {
    signedIn(path, show, submit, async (ctx, solution) => {
      requireNavigation(ctx)
      const found = await findSession(ctx, solution)
      // The issuer of a login token vouches for the user, so there is no account to manage here.
      const hasNone = signInModeOf(solution) === 'NONE' || found?.session.methods.includes('token')
      if (hasNone) throw new PlatformError('ERR_NOT_FOUND', 'You have no account in this solution.')
      if (found === null) goTo(ctx, `/solution/${solution.name}/index.html`)
      return found
    })
  }

  /** The page for users who are signed in, in an iframe of the client's page. No other page can be shown in a frame. */
  function framed(path: string, show: OwnPage, submit: OwnForm): void {
    signedIn(path, show, submit, async (ctx, solution) => {
      requireFrameOfOurs(ctx)
      const found = await findSession(ctx, solution)
      if (found === null) throw new PlatformError('ERR_NOT_FOUND', 'You are signed out. Open the solution again.')
      return found
    })
  }

  /** @param admit returns null if it has already sent a response */
  function signedIn(
    path: string,
    show: OwnPage,
    submit: OwnForm,
    admit: (ctx: Context, solution: ActiveSolution) => Promise<FoundSession | null>,
  ): void {
    const arrive = async (ctx: Context) => {
      const solution = await needSolution(ctx)
      const found = await admit(ctx, solution)
      if (found === null) return null
      return { arrival: readArrival(ctx, solution, found.session.locale, parts.sites), found }
    }
    router.get(path, async (ctx) => {
      const arrived = await arrive(ctx)
      if (arrived !== null) await show(arrived.arrival, arrived.found, parts)
    })
    router.post(path, async (ctx) => {
      const arrived = await arrive(ctx)
      if (arrived === null) return
      const { arrival, found } = arrived
      await submit(arrival, found, await readPlatformForm(arrival, parts), parts)
    })
  }

  /** The form asks for the current password. Users who have a factor need the factor too. */
  async function needsFactor(ctx: Context, solution: ActiveSolution, found: FoundSession | null): Promise<boolean> {
    if (found === null) return false
    const { serverUrl } = readArrival(ctx, solution, found.session.locale, parts.sites)
    const { hasFactor, isNeeded } = await confirmationOf(found, serverUrl, parts)
    return hasFactor && isNeeded
  }

  router.get('/password', async (ctx) => {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    const found = await findSession(ctx, solution)
    if (await needsFactor(ctx, solution, found)) return goToConfirm(ctx, solution.name, 'password')
    await parts.changePassword.show(ctx, solution, found?.session ?? null)
  })

  router.post('/password', async (ctx) => {
    requireNavigation(ctx)
    const solution = await needSolution(ctx)
    const found = await findSession(ctx, solution)
    if (await needsFactor(ctx, solution, found)) return goToConfirm(ctx, solution.name, 'password')
    const session = found?.session ?? null
    await parts.changePassword.submit(ctx, solution, session?.locale ?? localeOf(ctx, solution), session)
  })

  step('/second-step', showSecondStep, BY_SECOND_STEP)
  step('/set-up', showSetUp, BY_SET_UP)
  own('/confirm', showConfirm, submitConfirm)
  framed('/confirm/press', showConfirmPress, submitConfirmPress)
  own('/account', showAccount, submitAccount)
}
