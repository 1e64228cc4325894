import type Router from '@koa/router'
import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import { readWith } from '../../base/api/read-with.ts'
import { userTarget } from '../../base/api/targets.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Audit } from '../audit/audit.ts'
import { SessionQuery } from './access-openapi.ts'
import { needScope } from './actor.ts'
import { audited } from './audited.ts'

export type SessionApiParts = {
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly audit: Audit
}

/** Signed-in browsers: who they are, and signing them out. */
export function addSessionRoutes(router: Router, { sessions, remembered, audit }: SessionApiParts): void {
  router.get('/sessions', async (ctx) => {
    needScope(ctx, 'sessions', 'read')
    ctx.body = await sessions.list(readWith(SessionQuery, { ...ctx.query }))
  })

  router.delete('/sessions/:id', async (ctx) => {
    const { id } = ctx.params as { id: string }
    await audited(ctx, audit, 'session-end', { target: `session:${id}` }, async (named) => {
      needScope(ctx, 'sessions', 'write')
      const ended = await sessions.endByPublicId(id)
      if (ended === null) throw new PlatformError('ERR_NOT_FOUND', 'There is no such session, or it has ended.')
      named.solution = ended.solution
      named.target = userTarget(ended)
      // Else the browser would sign itself in again.
      if (ended.selector !== null) await remembered.endSeries(ended.selector)
    })
    ctx.status = 204
  })
}
