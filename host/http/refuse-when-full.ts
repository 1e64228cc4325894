import type { Middleware } from 'koa'
import { memoryFull } from '../../runtime/memory-full.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'

/** Never refused: requests that end sessions, here or at the provider, free memory. */
const ENDS_WORK = /\/(logout|backchannel-logout)$/

/**
 * Responds 503 to form submissions if running work has used up the memory for longer than a moment, before reading the
 * body. Pages are still served; scripts, clients and uploads are refused where they start. The admin port is exempt, so
 * that the operator can see why.
 * @throws ERR_MEMORY_FULL
 */
export function refuseWhenFull({ whenRoom }: Pick<Supervisor, 'whenRoom'>): Middleware {
  return async (ctx, next) => {
    const isNewWork = ctx.method === 'POST' && ctx.path.startsWith('/solution/') && !ENDS_WORK.test(ctx.path)
    if (isNewWork && !(await whenRoom())) throw memoryFull()
    await next()
  }
}
