import type Router from '@koa/router'
import { PlatformError } from '../../runtime/errors.ts'
import type { Audit } from '../audit/audit.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { SessionQuery } from './access-openapi.ts'
import { needScope } from './actor.ts'
import { audited } from './audited.ts'
import { readWith } from './read-with.ts'

export type SessionApiParts = { readonly sessions: Sessions; readonly audit: Audit }

/** Signed-in browsers: who they are, and signing them out. */
export function addSessionRoutes(router: Router, { sessions, audit }: SessionApiParts): void {
  router.get('/sessions', async (ctx) => {
    needScope(ctx, 'sessions', 'read')
    const { limit, after, solution, uid } = readWith(SessionQuery, { ...ctx.query })
    ctx.body = await sessions.list({
      limit,
      ...(after === undefined ? {} : { after }),
      ...(solution === undefined ? {} : { solution }),
      ...(uid === undefined ? {} : { uid }),
    })
  })

  router.delete('/sessions/:id', async (ctx) => {
    await audited(ctx, audit, 'session-end', undefined, async () => {
      needScope(ctx, 'sessions', 'write')
      const { id } = ctx.params as { id: string }
      if (await sessions.endByPublicId(id)) return
      throw new PlatformError('ERR_NOT_FOUND', 'There is no such session, or it has ended.')
    })
    ctx.status = 204
  })
}
