import type Router from '@koa/router'
import type { Context } from 'koa'
import type { Throttle } from '../../base/accounts/throttle.ts'
import { readWith } from '../../base/api/read-with.ts'
import { networkOf } from '../../base/http/network.ts'
import { readJson } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import { type AuthenticateAnswer, AuthenticateRequest, RefreshRequest } from '../../base/protocol/protocol.ts'
import { createNews } from '../../base/work/news.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Activity } from '../access/activity.ts'
import { publicOriginOf } from '../access/browser-sessions.ts'
import type { CenterSettings } from '../config/settings.ts'
import type { Environments } from '../environments/environments.ts'
import { fitsFields } from '../login-pages/check-fields.ts'
import type { LoginPages } from '../login-pages/login-pages.ts'
import { renderForSatellite } from '../login-pages/template.ts'
import type { Mail } from '../mail/mail.ts'
import { environmentOf } from '../satellites/satellite-access.ts'
import type { KnownSolutions } from './known-solutions.ts'
import type { Place } from './roles.ts'
import type { SendLinks } from './send-links.ts'
import type { SignedIn, SolutionUsers } from './solution-users.ts'

export type SolutionUserSatelliteParts = {
  readonly environments: Environments
  readonly activity: Activity
  readonly solutionUsers: SolutionUsers
  readonly loginPages: LoginPages
  readonly sendLinks: SendLinks
  readonly knownSolutions: KnownSolutions
  readonly mail: Mail
  readonly throttle: Throttle
  /** All that one Satellite asks, whatever addresses it tells. */
  readonly satelliteThrottle: Throttle
  readonly settings: Pick<CenterSettings, 'publicUrl'>
  readonly limits: Limits
}

/** PLATFORM_CLOUD, for Satellites: the login page of a solution, and whether somebody may sign in to it. */
export function addSolutionUserSatelliteRoutes(router: Router, parts: SolutionUserSatelliteParts): void {
  const { solutionUsers, loginPages, throttle, satelliteThrottle, limits, mail } = parts
  const isNews = createNews()

  router.get('/solutions/:solution/login-page', async (ctx) => {
    const asked = await askedFor(ctx, parts)
    const { design } = await loginPages.published(asked.place)
    const forgot = mail.isSetUp ? forgotAddress(asked) : null
    const { body, etag } = renderForSatellite(design, forgot)
    ctx.status = 200
    ctx.etag = etag
    ctx.set('Cache-Control', 'private, no-cache')
    if (ctx.fresh) ctx.status = 304
    else {
      ctx.type = 'application/json'
      ctx.body = body
    }
  })

  router.post('/solutions/:solution/authenticate', async (ctx) => {
    const asked = await askedFor(ctx, parts)
    const { environment, place } = asked
    const { username, password, custom = {}, address } = readWith(AuthenticateRequest, await readJson(ctx, limits))
    // By environment: what a Satellite tells of addresses and names locks nobody out elsewhere.
    const from = {
      source: `cloud ${environment.id} ${place.solution}`,
      address: `${environment.id} ${networkOf(address)}`,
    }
    const attempt = { ...from, username }
    await countAll(ctx, asked, () => throttle.count(attempt, false))
    const checked = await solutionUsers.authenticate(place, username, password)
    const signedIn = await withFields(place, checked, custom)
    if (signedIn.outcome === 'accepted' || signedIn.reason === 'verify') {
      await throttle.succeeded(attempt, false)
      await giveBack(environment.id)
    }
    if (signedIn.outcome === 'refused' && signedIn.reason === 'verify' && signedIn.user !== null) {
      const { organisation, origin } = asked
      await parts.sendLinks.fromUser('verification', {
        organisation,
        solution: place.solution,
        user: signedIn.user,
        origin,
      })
    }
    await note(ctx, asked, 'solution-sign-in', signedIn)
    ctx.body = answerOf(signedIn)
  })

  router.post('/solutions/:solution/refresh', async (ctx) => {
    const asked = await askedFor(ctx, parts)
    const { uid, since } = readWith(RefreshRequest, await readJson(ctx, limits))
    await countAll(ctx, asked, async () => null)
    const signedIn = await solutionUsers.recheck(asked.place, uid, since)
    if (signedIn.user !== null) await giveBack(asked.environment.id)
    // Once a minute of each user: nothing throttles who asks about one that there is.
    const isNew = signedIn.outcome === 'refused' && isNews(`${asked.environment.id} ${asked.place.solution} ${uid}`)
    if (isNew) await note(ctx, asked, 'solution-refresh', signedIn)
    ctx.body = answerOf(signedIn)
  })

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
    throw new PlatformError('ERR_THROTTLED', `Too many attempts; try again in ${wait} seconds.`, { retryAfter: wait })
  }

  function giveBack(id: string): Promise<void> {
    return satelliteThrottle.succeeded(ofSatellite(id), true)
  }

  /** Names that nobody has are not written down: people type passwords there. */
  async function note(
    ctx: Context,
    { environment, place }: Asked,
    action: string,
    { outcome, user }: { readonly outcome: string; readonly user: SignedIn['user'] },
  ): Promise<void> {
    const { client, correlationId } = stateOf(ctx)
    await parts.activity.record({
      organisation: place.organisation,
      actor: `satellite:${environment.name}`,
      action,
      subject: user === null ? place.solution : `${place.solution} ${user.username}`,
      outcome: outcome === 'accepted' ? 'ok' : outcome,
      address: client.address,
      correlationId,
    })
  }
}

type Asked = Awaited<ReturnType<typeof askedFor>>

/** @throws ERR_SOLUTION_NOT_FOUND for any but the solutions of the token's own environment */
async function askedFor(ctx: Context, { environments, knownSolutions, settings }: SolutionUserSatelliteParts) {
  const environment = environmentOf(ctx)
  const { solution = '' } = ctx.params as { solution?: string }
  const organisation = await knownSolutions.organisation(environment.organisation)
  if (organisation === null || !(await environments.solutions(environment.id)).includes(solution)) {
    throw new PlatformError(
      'ERR_SOLUTION_NOT_FOUND',
      `The environment "${environment.name}" has no solution "${solution.slice(0, 100)}": roll it out, or add it there.`,
    )
  }
  const place = { organisation: organisation.id, solution }
  return { environment, organisation, place, origin: publicOriginOf(ctx, settings) }
}

function forgotAddress({ origin, organisation, place }: Asked): string {
  return `${origin}/forgot-password/${organisation.name}/${place.solution}`
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
