import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from 'koa'
import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import { pageOf } from '../../base/api/open-api.ts'
import { type Bytes, DONE, SENT } from '../../base/api/route.ts'
import { solutionTarget, versionTarget } from '../../base/api/targets.ts'
import { explainUpload } from '../../base/bundles/explain-findings.ts'
import { answerEvents, wantsEvents } from '../../base/http/event-stream.ts'
import { createFollowers, type Followers } from '../../base/http/followers.ts'
import { WARNING_CODES } from '../../runtime/bundle/faults.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import { z } from '../../runtime/zod.ts'
import type { Named } from '../access/actor.ts'
import { actorOf } from '../access/actor.ts'
import type { Audit, AuditAction } from '../access/audit.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { retryAtOf } from './catalog.ts'
import { findSolution } from './find-solution.ts'
import { LOG_LEVELS, LogLineSchema } from './log-line-schema.ts'
import { type LogLine as Line, lineFilter, type SolutionLog } from './solution-log.ts'
import type { ExpectedActive, SolutionStore, SolutionSummary } from './solution-store.ts'
import type { Uploaded as Done, Uploads } from './upload.ts'
import { Sha256 } from './versions-api.ts'

export type SolutionApiParts = {
  readonly store: SolutionStore
  readonly uploads: Uploads
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly log: SolutionLog
  readonly supervisor: Supervisor
  readonly audit: Pick<Audit, 'read'>
  readonly limits: Limits
}

const Activation = z.strictObject({ sha256: Sha256 }).meta({ id: 'Activation' })

const LogQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  before: z.coerce.number().int().min(1).optional().describe('the value of `next` in the previous response'),
  level: z.enum(LOG_LEVELS).optional(),
  text: z.string().max(200).optional().describe('text that the message contains (case-insensitive)'),
  code: z.string().max(100).optional(),
  correlationId: z.string().max(100).optional(),
})

const Place = { file: z.string(), line: z.int().optional(), column: z.int().optional(), message: z.string() }
const Explained = {
  source: z.string().nullish().describe('the source line that the message refers to'),
  advice: z.string().nullish().describe('how to fix the error'),
}
const Warning = z.object({ ...Place, code: z.enum(Object.keys(WARNING_CODES)), ...Explained })

const Solution = z
  .object({
    name: z.string(),
    title: z.string(),
    type: z.string(),
    authenticator: z.string(),
    active: Sha256.nullable(),
    state: z.enum(['active', 'quarantined', 'inactive']),
    retryAt: z.int().optional(),
  })
  .meta({ id: 'Solution' })
const Version = z
  .object({ sha256: Sha256, version: z.string(), uploadedAt: z.int(), bytes: z.int() })
  .meta({ id: 'Version' })
export const Uploaded = z
  .object({
    name: z.string(),
    version: z.string(),
    sha256: Sha256,
    active: z.boolean(),
    warnings: z.array(Warning),
  })
  .meta({ id: 'Uploaded' })

const BUNDLE = { types: ['application/zip'], most: 'BUNDLE_SIZE' } as const satisfies Bytes
const UPLOADED = { 201: Uploaded, 200: Uploaded } as const

type OfSolution = { readonly params: { readonly name: string } }

/** API routes for solutions, their versions and logs. */
export function solutionRoutes(parts: SolutionApiParts): AdminRoute[] {
  const { store, uploads, sessions, remembered, log, supervisor, audit, limits } = parts
  const followers = createFollowers(MOST_STREAMS)
  const names = ({ params: { name } }: OfSolution) => ({ solution: name, target: solutionTarget(name) })

  function withState(solution: SolutionSummary) {
    const retryAt = retryAtOf(supervisor, solution)
    return retryAt === null ? solution : { ...solution, state: 'quarantined' as const, retryAt }
  }

  /**
   * Check this before reading the body: under memory pressure, uploads are refused rather than logins.
   * @throws ERR_MEMORY_FULL
   */
  function needRoom({ ctx }: { readonly ctx: Context }): void {
    supervisor.needRoom(Math.min(ctx.request.length ?? limits.BUNDLE_SIZE, limits.BUNDLE_SIZE))
  }

  async function answerUpload(ctx: Context, packed: Uint8Array, names: Named, upload: () => Promise<Done>) {
    const done = await explainUpload(packed, limits, upload)
    names.target = versionTarget(done.sha256)
    ctx.status = done.isNew ? 201 : 200
    ctx.set('Location', `/admin/api/solutions/${done.name}`)
    return done
  }

  return [
    route(
      'GET /solutions',
      {
        summary: 'List the solutions',
        right: 'solutions:*:read',
        answers: { 200: z.object({ items: z.array(Solution) }) },
      },
      async () => ({ items: (await store.list()).map(withState) }),
    ),
    route(
      'GET /solutions/:name',
      {
        summary: 'Get a solution with its versions',
        right: 'solutions:{name}:read',
        answers: { 200: Solution.extend({ versions: z.array(Version) }) },
      },
      async ({ params: { name } }) => ({
        ...withState(await findSolution(store, name)),
        versions: await store.versions(name),
      }),
    ),
    route(
      'PUT /solutions/:name',
      {
        summary: 'Upload a bundle; it becomes active if it has no errors',
        right: 'solutions:{name}:write',
        act: 'solution-upload',
        names,
        before: needRoom,
        headers: {
          'If-Match':
            'the SHA-256 of the version to replace, in double quotes; if another version is active, the response is 409',
          'If-None-Match': '`*`: upload only if the solution does not exist yet',
        },
        body: BUNDLE,
        answers: UPLOADED,
      },
      ({ params: { name }, body, names, ctx }) =>
        answerUpload(ctx, body, names, () =>
          uploads.upload(body, name, expectedActive(ctx)).catch((error: unknown) => sayWho(audit, error)),
        ),
    ),
    route(
      'POST /solutions',
      {
        summary: 'Upload a bundle under the name in its manifest',
        // Chosen here: this requires the scope for all solutions, because the name is known only after the bundle has
        // been read.
        right: 'solutions:*:write',
        act: 'solution-upload',
        before: needRoom,
        body: BUNDLE,
        answers: UPLOADED,
      },
      ({ body, names, ctx }) =>
        answerUpload(ctx, body, names, () =>
          uploads.uploadByManifest(body, (read) => {
            names.solution = read
            names.target = solutionTarget(read)
          }),
        ),
    ),
    route(
      'DELETE /solutions/:name',
      {
        summary: 'Delete a solution. DELETED_KEPT sets how long its data is kept',
        right: 'solutions:{name}:write',
        act: 'solution-delete',
        names,
        answers: DONE,
      },
      async ({ params: { name } }) => {
        await uploads.remove(name)
        await Promise.all([sessions.endAll(name), remembered.endAll(name)])
      },
    ),
    route(
      'POST /solutions/:name/activate',
      {
        summary: 'Activate a version, for example an earlier one to roll back',
        right: 'solutions:{name}:write',
        act: 'solution-activate',
        names,
        body: Activation,
        answers: { 200: Solution },
      },
      async ({ params: { name }, body: { sha256 }, names }) => {
        names.target = versionTarget(sha256)
        await uploads.activate(name, sha256)
        return withState(await findSolution(store, name))
      },
    ),
    route(
      'GET /solutions/:name/log',
      {
        summary:
          'Get the log, newest line last. With `Accept: text/event-stream`, the response streams new lines. The admin account and each token can have 30 streams, and each solution 50; further requests return 429. With a filter, a page can have fewer than `limit` lines even if `next` is set',
        right: 'solutions:{name}:read',
        before: ({ params }) => findSolution(store, params.name),
        query: LogQuery,
        answers: { 200: pageOf(LogLineSchema) },
      },
      async ({ params: { name }, query, ctx }) => {
        if (!wantsEvents(ctx)) return log.read(name, query)
        await followLog(ctx, name, { log, followers }, lineFilter(query) ?? (() => true))
        return SENT
      },
    ),
  ]
}

/**
 * Adds two details to ERR_CHANGED_MEANWHILE: when the active version was activated, and by which person or token. Both
 * are null if the audit log does not contain the activation. Rethrows all other errors.
 * @param pause the time between two reads of the audit log, in ms
 */
export async function sayWho(audit: Pick<Audit, 'read'>, error: unknown, pause = 100): Promise<never> {
  if (!(error instanceof PlatformError) || error.code !== 'ERR_CHANGED_MEANWHILE') throw error
  const { name, active } = z.object({ name: z.string(), active: z.string().nullable() }).parse(error.details)
  const target = active === null ? undefined : versionTarget(active)
  const find = async () => {
    const { items } = await audit.read({ solution: name, target, outcome: 'ok', limit: 20 })
    return items.find(({ action }) => ACTIVATIONS.includes(action))
  }
  let act = await find()
  for (let reads = 1; act === undefined && reads < MOST_READS; reads++) {
    await wait(pause)
    act = await find()
  }
  const details = { ...error.details, activatedAt: act?.time ?? null, activatedBy: act?.actor ?? null }
  throw new PlatformError(error.code, error.message, details)
}

/**
 * How often the audit log is read until it contains the activation. If two people publish at the same time, the entry
 * for the first may be written a moment after the second one's request was rejected.
 */
const MOST_READS = 10

const ACTIVATIONS: readonly string[] = [
  'solution-upload',
  'solution-activate',
  'solution-delete',
  'draft-publish',
] satisfies AuditAction[]

/**
 * Reads the version that the upload may replace from If-Match or If-None-Match (RFC 9110, section 13.1).
 * @throws ERR_BAD_REQUEST
 */
function expectedActive(ctx: Context): ExpectedActive {
  const match = ctx.get('If-Match')
  if (match !== '') {
    const sha256 = /^"([0-9a-f]{64})"$/.exec(match)?.[1]
    if (sha256 !== undefined) return sha256
    throw badCondition('If-Match', 'the SHA-256 of a version in double quotes')
  }
  const noneMatch = ctx.get('If-None-Match')
  if (noneMatch === '') return undefined
  if (noneMatch === '*') return null
  throw badCondition('If-None-Match', '*')
}

/**
 * Returns the error for an invalid If-Match or If-None-Match header. If the host ignored the header, the upload could
 * replace a version that the sender wants to keep.
 */
function badCondition(header: string, expected: string): PlatformError {
  return new PlatformError('ERR_BAD_REQUEST', `The header ${header} must be ${expected}.`)
}

/** Chosen here: several operators may share the admin account. */
const MOST_STREAMS = 30

/**
 * Streams new log lines that match. Stops when the reader disconnects or loses the permission, or when the host stops.
 *
 * @throws the errors of `Followers.enter`
 */
function followLog(
  ctx: Context,
  name: string,
  { log, followers }: { readonly log: SolutionLog; readonly followers: Followers },
  fits: (line: Line) => boolean,
): Promise<void> {
  const { name: who, isStillIn } = actorOf(ctx)
  return answerEvents(ctx, {
    greeting: 'new log lines follow',
    isStillIn,
    begin({ send, end }) {
      const leave = followers.enter({ who, logs: [name], nameOf: () => name, end })
      const unfollow = log.follow(
        name,
        (line) => {
          if (fits(line)) send(line)
        },
        end,
      )
      return () => {
        unfollow()
        leave()
      }
    },
  })
}
