import type { Context } from 'koa'
import { checkCounted, type Throttle } from '../../base/accounts/throttle.ts'
import { SENT } from '../../base/api/route.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { networkOf } from '../../base/http/network.ts'
import { stateOf } from '../../base/http/request.ts'
import type { Mail } from '../../base/mail/mail.ts'
import {
  AuthenticateAnswer,
  AuthenticateRequest,
  CLOCK_HEADER,
  CLOCKS_AGREE,
  LoginPageAnswer,
  RefreshRequest,
} from '../../base/protocol/protocol.ts'
import { createNews } from '../../base/work/news.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Audit } from '../access/audit.ts'
import type { Place } from '../access/of-solution.ts'
import { publicOriginOf } from '../access/page-sessions.ts'
import type { Environment, Environments } from '../environments/environments.ts'
import { fitsFields } from '../login-pages/check-fields.ts'
import type { LoginPages } from '../login-pages/login-pages.ts'
import { renderForSatellite } from '../login-pages/template.ts'
import { type SatelliteRoute, satelliteRoute } from '../satellites/route.ts'
import type { ForgotAddress } from './forgot-address.ts'
import type { KnownSolutions } from './known-solutions.ts'
import type { SendLinks } from './send-links.ts'
import type { SolutionUsers } from './solution-users.ts'
import type { SignedIn } from './user-sign-ins.ts'

export type SolutionUserSatelliteParts = {
  readonly environments: Environments
  readonly audit: Audit
  readonly solutionUsers: SolutionUsers
  readonly loginPages: LoginPages
  readonly forgotAddress: ForgotAddress
  readonly sendLinks: SendLinks
  readonly knownSolutions: KnownSolutions
  readonly mail: Mail
  readonly throttle: Throttle
  /** Counts all attempts from one Satellite together, whatever client addresses it reports. */
  readonly satelliteThrottle: Throttle
  readonly settings: Pick<ServiceSettings, 'publicUrl'>
}

/** PLATFORM_CLOUD routes for Satellites. They return a solution's login page and check sign-ins to the solution. */
export function solutionUserSatelliteRoutes(parts: SolutionUserSatelliteParts): SatelliteRoute[] {
  const { solutionUsers, loginPages, throttle, satelliteThrottle, mail } = parts
  const isNews = createNews()
  const before = (asking: OfSolution) => askedFor(asking, parts)

  async function withFields(place: Place, signedIn: SignedIn, custom: Record<string, string>): Promise<SignedIn> {
    if (signedIn.outcome === 'refused') return signedIn
    const { user } = signedIn
    const { design } = await loginPages.published(place)
    return fitsFields(design, custom, user.tenant) ? signedIn : { outcome: 'refused', reason: 'credentials', user }
  }

  const ofSatellite = (id: string) => ({ source: '', username: '', address: `satellite ${id}` })

  /** @throws ERR_THROTTLED with Retry-After */
  async function countAll(ctx: Context, asked: Asked, count: () => Promise<number | null>): Promise<void> {
    const { environment } = asked
    const wait = (await satelliteThrottle.count(ofSatellite(environment.id), true)) ?? (await count())
    if (wait === null) return
    if (isNews(`${environment.id} ${asked.place.solution}`)) {
      await note(ctx, asked, 'solution-sign-in', { outcome: 'throttled', user: null })
    }
    ctx.set('Retry-After', String(wait))
    throw new PlatformError('ERR_THROTTLED', `Too many sign-in attempts. Try again in ${wait} s.`, { retryAfter: wait })
  }

  function giveBack(id: string): Promise<void> {
    return satelliteThrottle.succeeded(ofSatellite(id), true)
  }

  /** Don't record unknown usernames, because people type passwords into that field. */
  async function note(
    ctx: Context,
    { environment, place }: Asked,
    action: string,
    { outcome, user }: { readonly outcome: string; readonly user: SignedIn['user'] },
  ): Promise<void> {
    const { client, correlationId } = stateOf(ctx)
    await parts.audit.record({
      organisation: place.organisation,
      actor: `satellite:${environment.name}`,
      action,
      target: user === null ? place.solution : `${place.solution} ${user.username}`,
      outcome: outcome === 'accepted' ? 'ok' : outcome,
      address: client.address,
      correlationId,
    })
  }

  return [
    satelliteRoute(
      'GET /solutions/:solution/login-page',
      {
        summary: 'Get a solution’s designed login page, with an ETag',
        right: null,
        answers: {
          200: LoginPageAnswer,
          304: { description: 'the page has not changed: its ETag matches If-None-Match' },
        },
      },
      async (given) => {
        const asked = await askedFor(given, parts)
        const { ctx } = given
        const { origin, organisation, place } = asked
        const forgot = parts.forgotAddress.of(origin, { organisation: organisation.name, solution: place.solution })
        const { design } = await loginPages.published(asked.place)
        const { body, etag } = renderForSatellite(design, mail.isSetUp ? forgot : null)
        ctx.status = 200
        ctx.etag = etag
        ctx.set('Cache-Control', 'private, no-cache')
        if (ctx.fresh) ctx.status = 304
        else {
          ctx.type = 'application/json'
          // The page is rendered and serialised once, then cached.
          ctx.body = body
        }
        return SENT
      },
    ),
    satelliteRoute(
      'POST /solutions/:solution/authenticate',
      {
        summary: 'Check whether a user may sign in; a denied sign-in also returns 200',
        right: null,
        before,
        body: AuthenticateRequest,
        answers: { 200: AuthenticateAnswer },
      },
      async (given) => {
        const asked = await askedFor(given, parts)
        const { environment, place } = asked
        const { username, password, custom = {}, address } = given.body
        // Attempts are counted per environment, so that a Satellite can't lock anyone out of another environment,
        // whatever addresses and names it reports.
        const from = {
          source: `cloud ${environment.id} ${place.solution}`,
          address: `${environment.id} ${networkOf(address)}`,
        }
        const attempt = { ...from, username }
        await countAll(given.ctx, asked, () => throttle.count(attempt, false))
        const checked = await checkCounted(throttle, attempt, false, () => {
          return solutionUsers.authenticate(place, username, password)
        })
        const signedIn = await withFields(place, checked, custom)
        if (signedIn.outcome === 'accepted' || signedIn.reason === 'verify') {
          await throttle.succeeded(attempt, false)
          await giveBack(environment.id)
        }
        if (signedIn.outcome === 'refused' && signedIn.reason === 'verify' && signedIn.user !== null) {
          const { organisation, origin } = asked
          const to = { organisation, solution: place.solution, user: signedIn.user, origin }
          await parts.sendLinks.fromUser('verification', to)
        }
        await note(given.ctx, asked, 'solution-sign-in', signedIn)
        return answerOf(signedIn)
      },
    ),
    satelliteRoute(
      'POST /solutions/:solution/refresh',
      {
        summary: 'Check whether a remembered user may still sign in',
        right: null,
        before,
        body: RefreshRequest,
        answers: { 200: AuthenticateAnswer },
      },
      async (given) => {
        const asked = await askedFor(given, parts)
        const { uid } = given.body
        const since = onOwnClock(given.body.since, given.ctx.get(CLOCK_HEADER))
        await countAll(given.ctx, asked, async () => null)
        const signedIn = await solutionUsers.recheck(asked.place, uid, since)
        if (signedIn.user !== null) await giveBack(asked.environment.id)
        // This is recorded at most once a minute per user, because the requests are not throttled for existing users.
        const isNew = signedIn.outcome === 'refused' && isNews(`${asked.environment.id} ${asked.place.solution} ${uid}`)
        if (isNew) await note(given.ctx, asked, 'solution-refresh', signedIn)
        return answerOf(signedIn)
      },
    ),
  ]
}

/**
 * Converts a time on a Satellite's clock to this machine's clock.
 * @param clock the Satellite's time when it sent the request; empty if the Satellite doesn't send it
 */
function onOwnClock(time: number, clock: string): number {
  if (!/^\d{1,15}$/.test(clock)) return time
  const ahead = Number(clock) - Date.now()
  return Math.abs(ahead) <= CLOCKS_AGREE ? time : time - ahead
}

type Asked = Awaited<ReturnType<typeof askedFor>>

type OfSolution = {
  readonly who: Environment
  readonly params: { readonly solution: string }
  readonly ctx: Context
}

/** @throws ERR_SOLUTION_NOT_FOUND for any solution that is not in the token's environment */
async function askedFor(
  { who: environment, params: { solution }, ctx }: OfSolution,
  { environments, knownSolutions, settings }: SolutionUserSatelliteParts,
) {
  const organisation = await knownSolutions.organisation(environment.organisation)
  if (organisation === null || !(await environments.solutions(environment.id)).includes(solution)) {
    throw new PlatformError(
      'ERR_SOLUTION_NOT_FOUND',
      `The environment "${environment.name}" has no solution "${solution.slice(0, 100)}". Roll it out, or add it to the environment.`,
    )
  }
  const place = { organisation: organisation.id, solution }
  return { environment, organisation, place, origin: publicOriginOf(ctx, settings) }
}

function answerOf(signedIn: SignedIn): AuthenticateAnswer {
  if (signedIn.outcome === 'refused') return { outcome: 'refused', reason: signedIn.reason }
  const { uid, username, tenant } = signedIn.user
  return {
    outcome: 'accepted',
    uid,
    username,
    permissions: [...signedIn.permissions],
    tenant: tenant === null ? null : [...tenant],
  }
}
