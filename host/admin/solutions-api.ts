import type Router from '@koa/router'
import type { Context } from 'koa'
import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import { readWith } from '../../base/api/read-with.ts'
import { solutionTarget, versionTarget } from '../../base/api/targets.ts'
import { explainUpload } from '../../base/bundles/explain-findings.ts'
import { answerEvents } from '../../base/http/event-stream.ts'
import { readBytes, readJson } from '../../base/http/read-body.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Audit } from '../audit/audit.ts'
import { retryAtOf } from '../solutions/catalog.ts'
import { type LogLine, lineFilter, type SolutionLog } from '../solutions/solution-log.ts'
import type { SolutionStore, SolutionSummary } from '../solutions/solution-store.ts'
import type { Uploaded, Uploads } from '../solutions/upload.ts'
import { actorOf, needScope } from './actor.ts'
import { audited, type Named } from './audited.ts'
import { findSolution } from './find-solution.ts'
import { Activation, LogQuery } from './openapi.ts'

export type SolutionApiParts = {
  readonly store: SolutionStore
  readonly uploads: Uploads
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly log: SolutionLog
  readonly audit: Audit
  readonly supervisor: Supervisor
  readonly limits: Limits
}

/** Solutions, their versions and logs. */
export function addSolutionRoutes(router: Router, parts: SolutionApiParts): void {
  const { store, uploads, sessions, remembered, log, audit, supervisor, limits } = parts
  function nameFor(ctx: Context, kind: 'read' | 'write'): string {
    const { name } = ctx.params as { name: string }
    needScope(ctx, `solutions:${name}`, kind)
    return name
  }

  function shown({ name, title, type, authenticator, active, state }: SolutionSummary) {
    const retryAt = retryAtOf(supervisor, { name, active })
    const plain = { name, title, type, authenticator, active, state }
    return retryAt === null ? plain : { ...plain, state: 'quarantined', retryAt }
  }

  router.get('/solutions', async (ctx) => {
    needScope(ctx, 'solutions:*', 'read')
    ctx.body = { items: (await store.list()).map(shown) }
  })

  router.get('/solutions/:name', async (ctx) => {
    const solution = await findSolution(store, nameFor(ctx, 'read'))
    ctx.body = { ...shown(solution), versions: await store.versions(solution.name) }
  })

  router.put('/solutions/:name', async (ctx) => {
    const name = nameFor(ctx, 'write')
    const packed = await readBundleOf(ctx)
    await answerUpload(ctx, packed, { solution: name, target: solutionTarget(name) }, () =>
      uploads.upload(packed, name),
    )
  })

  // Chosen here: with a scope for all solutions, since which one it is comes out only when the bundle was read.
  router.post('/solutions', async (ctx) => {
    needScope(ctx, 'solutions:*', 'write')
    const packed = await readBundleOf(ctx)
    const upload = (named: Named) =>
      uploads.uploadByManifest(packed, (read) => {
        named.solution = read
        named.target = solutionTarget(read)
      })
    await answerUpload(ctx, packed, {}, upload)
  })

  /** Before its body is taken in: an upload is refused rather than a login. @throws ERR_MEMORY_FULL */
  function readBundleOf(ctx: Context): Promise<Buffer> {
    supervisor.needRoom(Math.min(ctx.request.length ?? limits.BUNDLE_SIZE, limits.BUNDLE_SIZE))
    return readBytes(ctx, ['application/zip'], limits.BUNDLE_SIZE)
  }

  async function answerUpload(
    ctx: Context,
    packed: Uint8Array,
    named: Named,
    upload: (named: Named) => Promise<Uploaded>,
  ): Promise<void> {
    const { isNew, ...uploaded } = await explainUpload(packed, limits, () =>
      audited(ctx, audit, 'solution-upload', named, async (named) => {
        const done = await upload(named)
        named.target = versionTarget(done.sha256)
        return done
      }),
    )
    ctx.status = isNew ? 201 : 200
    ctx.set('Location', `/admin/api/solutions/${uploaded.name}`)
    ctx.body = uploaded
  }

  router.delete('/solutions/:name', async (ctx) => {
    const name = nameFor(ctx, 'write')
    await audited(ctx, audit, 'solution-delete', { solution: name, target: solutionTarget(name) }, () =>
      uploads.remove(name),
    )
    await Promise.all([sessions.endAll(name), remembered.endAll(name)])
    ctx.status = 204
  })

  router.post('/solutions/:name/activate', async (ctx) => {
    const name = nameFor(ctx, 'write')
    const { sha256 } = readWith(Activation, await readJson(ctx, limits))
    await audited(ctx, audit, 'solution-activate', { solution: name, target: versionTarget(sha256) }, () =>
      uploads.activate(name, sha256),
    )
    ctx.body = shown(await findSolution(store, name))
  })

  router.get('/solutions/:name/log', async (ctx) => {
    const { name } = await findSolution(store, nameFor(ctx, 'read'))
    const query = readWith(LogQuery, { ...ctx.query })
    const isStream = ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream'
    if (isStream) return followLog(ctx, name, log, lineFilter(query) ?? (() => true))
    ctx.body = await log.read(name, query)
  })
}

/** Each new line of the log that fits, until the reader goes away, may not read it any more, or the host stops. */
function followLog(ctx: Context, name: string, log: SolutionLog, fits: (line: LogLine) => boolean): Promise<void> {
  return answerEvents(ctx, {
    greeting: 'the log from now on',
    isStillIn: actorOf(ctx).isStillIn,
    begin: ({ send, end }) =>
      log.follow(
        name,
        (line) => {
          if (fits(line)) send(line)
        },
        end,
      ),
  })
}
