import type { Context } from 'koa'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { DesiredAnswer, KeyAnswer, LONGEST_WAIT, REPORT_EVERY, Report } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import type { Packages } from '../packages/packages.ts'
import type { Reports } from '../satellites/reports.ts'
import { type SatelliteRoute, satelliteRoute } from '../satellites/route.ts'
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
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('the highest sequence number that the node has received'),
  wait: z.coerce.number().int().min(0).max(LONGEST_WAIT).default(0).describe('maximum time to wait, in seconds'),
})

/**
 * Maximum bytes of reports that an environment may send per `REPORT_EVERY`. Chosen here: this is enough for 50 nodes
 * with long reports. Most reports are a few kB.
 */
const MOST_REPORTED = 8 * 1024 * 1024

/** Routes for managed Satellites: the public key, the desired state, the bundles in it, and the Satellite's reports. */
export function desiredSatelliteRoutes(parts: DesiredSatelliteParts): SatelliteRoute[] {
  const { signing, desiredStates, waiting, packages, reports, limits } = parts
  const reported = new RateLimiterMemory({ points: MOST_REPORTED, duration: REPORT_EVERY / 1000 })

  /**
   * Counts the report's size towards its environment's limit before the body is read.
   * @throws ERR_THROTTLED
   */
  async function countReport(ctx: Context): Promise<void> {
    const bytes = Math.min(ctx.request.length ?? limits.JSON_BODY, limits.JSON_BODY)
    try {
      await reported.consume(environmentOf(ctx).id, bytes)
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      ctx.set('Retry-After', String(Math.max(1, Math.ceil(refused.msBeforeNext / 1000))))
      throw new PlatformError(
        'ERR_THROTTLED',
        'This environment sends too many reports, or reports that are too large. Wait a moment, then try again.',
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
    // Check again, because the token may have been revoked while the request waited.
    await requireStillAllowed(ctx, parts)
    return newer(environment, after)
  }

  return [
    satelliteRoute(
      'GET /key',
      {
        summary: 'Get the public Ed25519 key that verifies desired states',
        right: null,
        answers: { 200: KeyAnswer },
      },
      () => ({ publicKey: signing.publicKey }),
    ),
    satelliteRoute(
      'GET /desired',
      {
        summary:
          'Wait for a newer desired state (long polling). The response contains it as a compact JWS of a DesiredState',
        right: null,
        query: DesiredQuery,
        answers: { 200: DesiredAnswer, 204: { description: 'no newer state was set within the time in `wait`' } },
      },
      async ({ who: { id }, query: { after, wait }, ctx }) => {
        const found = (await newer(id, after)) ?? (await waitForNewer(ctx, id, after, wait))
        if (found !== null) return { statement: found.statement }
        ctx.status = 204
      },
    ),
    satelliteRoute(
      'GET /bundles/:sha256',
      {
        summary: 'Download a bundle listed in the desired state',
        right: null,
        answers: { 200: { description: 'the bundle', type: 'application/zip' } },
      },
      async ({ who: { id, organisation }, params: { sha256 }, ctx }) => {
        const { solutions } = await desiredStates.get(id)
        // Serve only bundles in this environment's desired state, because a token does not give access to all packages
        // in the organisation.
        const name = Object.keys(solutions).find((one) => solutions[one]?.sha256 === sha256)
        const bundle = name === undefined ? null : await packages.bundle(organisation, name, sha256)
        if (bundle === null) {
          throw new PlatformError(
            'ERR_NOT_FOUND',
            'This environment’s desired state does not contain this bundle. Get the current desired state.',
          )
        }
        ctx.type = 'application/zip'
        return Buffer.from(bundle)
      },
    ),
    satelliteRoute(
      'POST /report',
      {
        summary: 'Report the state of a node and of the solutions that it runs',
        right: null,
        before: ({ ctx }) => countReport(ctx),
        body: Report,
        answers: { 204: { description: 'the report was accepted' } },
      },
      ({ who, body }) => reports.take(who.id, body),
    ),
  ]
}
