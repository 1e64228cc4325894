import type { Middleware } from 'koa'
import { memoryFull } from '../../runtime/memory-full.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'

/** Paths of requests that are never rejected. They end sessions, which frees memory. */
const ENDS_WORK = /\/(logout|backchannel-logout)$/

/**
 * Rejects form submissions with 503, before reading the body, if the memory has been full for some time. Pages are
 * still served. Other code rejects new scripts, clients and uploads. The admin port is exempt, so that the operator can
 * see the cause.
 * @throws ERR_MEMORY_FULL
 */
export function refuseWhenFull({ whenRoom }: Pick<Supervisor, 'whenRoom'>): Middleware {
  return async (ctx, next) => {
    const isNewWork = ctx.method === 'POST' && ctx.path.startsWith('/solution/') && !ENDS_WORK.test(ctx.path)
    if (isNewWork && !(await whenRoom())) throw memoryFull()
    await next()
  }
}
