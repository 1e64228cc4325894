import { PassThrough } from 'node:stream'
import Router, { type RouterMiddleware } from '@koa/router'
import type { Context } from 'koa'
import * as z from 'zod'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import { readBytes, readJson } from '../http/read-body.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { versionKey } from '../solutions/catalog.ts'
import type { LogLine, SolutionLog } from '../solutions/solution-log.ts'
import type { SolutionStore, SolutionSummary } from '../solutions/solution-store.ts'
import type { Uploads } from '../solutions/upload.ts'
import { Activation, LogQuery, openApi } from './openapi.ts'

export type AdminApiParts = {
  readonly store: SolutionStore
  readonly uploads: Uploads
  readonly sessions: Sessions
  readonly log: SolutionLog
  readonly supervisor: Supervisor
  /** Decides who may use it; one for both ports, so that failures on either count. */
  readonly requireAdmin: RouterMiddleware
  readonly limits: Limits
  readonly version: string
}

/** Bytes that wait for a slow reader of the log. */
const MOST_UNREAD = 1024 ** 2
/** A comment line this often, in ms, keeps proxies from ending a quiet stream. */
const KEEP_ALIVE = 15_000

/** The API under `/admin/api` (design section 7). */
export function adminApi(parts: AdminApiParts): Router {
  const { store, uploads, sessions, log, supervisor, limits } = parts
  const router = new Router({ prefix: '/admin/api', sensitive: true })
  // Inside the router, so that what is found as a route cannot be spelled past the check.
  router.use(parts.requireAdmin)
  const document = openApi(parts.version)

  const nameOf = (ctx: Context) => (ctx.params as { name: string }).name

  function shown({ name, title, type, authenticator, active, state }: SolutionSummary) {
    const retryAt = active === null ? null : supervisor.retryAt(versionKey(name, active))
    const plain = { name, title, type, authenticator, active, state }
    return retryAt === null ? plain : { ...plain, state: 'quarantined', retryAt }
  }

  async function needSolution(ctx: Context): Promise<SolutionSummary> {
    const solution = await store.get(nameOf(ctx))
    if (solution !== null) return solution
    throw new PlatformError('ERR_SOLUTION_NOT_FOUND', `There is no solution "${nameOf(ctx)}".`, { name: nameOf(ctx) })
  }

  router.get('/openapi.json', (ctx) => {
    ctx.body = document
  })

  router.get('/solutions', async (ctx) => {
    ctx.body = { items: (await store.list()).map(shown) }
  })

  router.get('/solutions/:name', async (ctx) => {
    const solution = await needSolution(ctx)
    ctx.body = { ...shown(solution), versions: await store.versions(solution.name) }
  })

  router.put('/solutions/:name', async (ctx) => {
    const packed = await readBytes(ctx, ['application/zip'], limits.BUNDLE_SIZE)
    const { isNew, ...uploaded } = await uploads.upload(packed, nameOf(ctx))
    ctx.status = isNew ? 201 : 200
    ctx.set('Location', `/admin/api/solutions/${uploaded.name}`)
    ctx.body = uploaded
  })

  router.delete('/solutions/:name', async (ctx) => {
    await uploads.remove(nameOf(ctx))
    await sessions.endAll(nameOf(ctx))
    ctx.status = 204
  })

  router.post('/solutions/:name/activate', async (ctx) => {
    const { sha256 } = readWith(Activation, await readJson(ctx, limits))
    await uploads.activate(nameOf(ctx), sha256)
    ctx.body = shown(await needSolution(ctx))
  })

  router.get('/solutions/:name/log', async (ctx) => {
    const { name } = await needSolution(ctx)
    if (ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream') return followLog(ctx, name, log)
    const { limit, before } = readWith(LogQuery, { ...ctx.query })
    ctx.body = await log.read(name, { limit, ...(before === undefined ? {} : { before }) })
  })

  return router
}

/** @throws ERR_REQUEST_INVALID that says which property is wrong and what it must be */
function readWith<T>(schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  throw new PlatformError('ERR_REQUEST_INVALID', z.prettifyError(checked.error).slice(0, 2000))
}

/** Server-sent events: one `data` line of JSON for each new line of the log, until the reader goes away. */
function followLog(ctx: Context, name: string, log: SolutionLog): void {
  const stream = new PassThrough()
  const send = (line: LogLine) => {
    // A reader that does not read is cut off; it can come back.
    if (stream.writableLength > MOST_UNREAD) stream.destroy()
    else stream.write(`data: ${JSON.stringify(line)}\n\n`)
  }
  const stop = log.follow(name, send)
  const keepAlive = setInterval(() => stream.write(': still here\n\n'), KEEP_ALIVE)
  ctx.req.on('close', () => {
    stop()
    clearInterval(keepAlive)
    stream.end()
  })
  ctx.req.socket.setTimeout(0)
  ctx.status = 200
  ctx.type = 'text/event-stream'
  ctx.body = stream
  stream.write(': the log from now on\n\n')
}
