import type Router from '@koa/router'
import type { Context } from 'koa'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import { LONGEST_WAIT, REPORT_EVERY, Report } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import type { Packages } from '../packages/packages.ts'
import type { Reports } from '../satellites/reports.ts'
import { environmentOf, requireStillAllowed, type SatelliteAccessParts } from '../satellites/satellite-access.ts'
import type { Signing } from '../signing/signing.ts'
import type { DesiredStates } from './desired.ts'
import type { Waiting } from './waiting.ts'

export type DesiredSatelliteParts = SatelliteAccessParts & {
  readonly signing: Pick<Signing, 'publicKey'>
  readonly desiredStates: DesiredStates
  readonly waiting: Waiting
  readonly packages: Pick<Packages, 'bundle'>
  readonly reports: Reports
  readonly limits: Limits
}

const DesiredQuery = z.strictObject({
  after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  wait: z.coerce.number().int().min(0).max(LONGEST_WAIT).default(0),
})

/** Bytes of reports per environment in `REPORT_EVERY`. Chosen here: enough for 50 nodes with long reports; most have a few kB. */
const MOST_REPORTED = 8 * 1024 * 1024

/** What a managed Satellite asks: the key, its desired state, bundles of that state; and what it tells of itself. */
export function addDesiredSatelliteRoutes(router: Router, parts: DesiredSatelliteParts): void {
  const { signing, desiredStates, waiting, packages, reports, limits } = parts
  const reported = new RateLimiterMemory({ points: MOST_REPORTED, duration: REPORT_EVERY / 1000 })

  router.get('/key', (ctx) => {
    ctx.body = { publicKey: signing.publicKey }
  })

  router.get('/desired', async (ctx) => {
    const { id } = environmentOf(ctx)
    const { after, wait } = readWith(DesiredQuery, { ...ctx.query })
    const found = (await newer(id, after)) ?? (await waitForNewer(ctx, id, after, wait))
    if (found === null) ctx.status = 204
    else ctx.body = { statement: found.statement }
  })

  router.get('/bundles/:sha256', async (ctx) => {
    const { id, organisation } = environmentOf(ctx)
    const { sha256 } = ctx.params as { sha256: string }
    const { solutions } = await desiredStates.get(id)
    // Only what this environment's own state names: a token is no key to all packages of the organisation.
    const name = Object.keys(solutions).find((one) => solutions[one]?.sha256 === sha256)
    const bundle = name === undefined ? null : await packages.bundle(organisation, name, sha256)
    if (bundle === null) {
      throw new PlatformError('ERR_NOT_FOUND', 'The desired state of this environment names no such bundle.')
    }
    ctx.type = 'application/zip'
    ctx.body = Buffer.from(bundle)
  })

  router.post('/report', async (ctx) => {
    await countReport(ctx)
    const report = readWith(Report, await readJson(ctx, limits))
    await reports.take(environmentOf(ctx).id, report)
    ctx.status = 204
  })

  /** By the environment and its bytes, before they are read. @throws ERR_THROTTLED */
  async function countReport(ctx: Context): Promise<void> {
    const bytes = Math.min(ctx.request.length ?? limits.JSON_BODY, limits.JSON_BODY)
    try {
      await reported.consume(environmentOf(ctx).id, bytes)
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      ctx.set('Retry-After', String(Math.max(1, Math.ceil(refused.msBeforeNext / 1000))))
      throw new PlatformError(
        'ERR_THROTTLED',
        'The reports of this environment are too large. Wait a moment, then retry.',
      )
    }
  }

  async function newer(environment: string, after: number) {
    const found = await desiredStates.statement(environment)
    return found !== null && found.number > after ? found : null
  }

  async function waitForNewer(ctx: Context, environment: string, after: number, wait: number) {
    if (wait === 0) return null
    const gone = new AbortController()
    const end = () => gone.abort()
    ctx.res.once('close', end)
    await waiting.wait(environment, after, wait * 1000, gone.signal)
    ctx.res.off('close', end)
    if (gone.signal.aborted) return null
    // The token can have been revoked meanwhile: it is worth nothing from then on.
    await requireStillAllowed(ctx, parts)
    return newer(environment, after)
  }
}
