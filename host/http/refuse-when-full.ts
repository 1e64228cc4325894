import type { Middleware } from 'koa'
import { memoryFull } from '../../runtime/memory-full.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'

/** What ends work, or tells that it ended elsewhere, gives memory back: it is never refused. */
const ENDS_WORK = /\/(logout|backchannel-logout)$/

/**
 * Refuses new work with 503 while the memory is used up by work that runs, for longer than a moment: forms that are sent, before their body is read.
 * Pages are shown still; what scripts, clients and uploads need is refused where it is asked for. The admin port is left
 * alone, since there the operator sees why.
 * @throws ERR_MEMORY_FULL
 */
export function refuseWhenFull({ whenRoom }: Pick<Supervisor, 'whenRoom'>): Middleware {
  return async (ctx, next) => {
    const isNewWork = ctx.method === 'POST' && ctx.path.startsWith('/solution/') && !ENDS_WORK.test(ctx.path)
    if (isNewWork && !(await whenRoom())) throw memoryFull()
    await next()
  }
}
