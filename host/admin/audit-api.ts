import type Router from '@koa/router'
import type { Audit } from '../audit/audit.ts'
import { AuditQuery } from './access-openapi.ts'
import { needScope } from './actor.ts'
import { readWith } from './read-with.ts'

/** Who did what; nothing of it can be changed here. */
export function addAuditRoutes(router: Router, { audit }: { readonly audit: Audit }): void {
  router.get('/audit', async (ctx) => {
    needScope(ctx, 'audit', 'read')
    const { limit, before, solution, actor, action } = readWith(AuditQuery, { ...ctx.query })
    ctx.body = await audit.read({
      limit,
      ...(before === undefined ? {} : { before }),
      ...(solution === undefined ? {} : { solution }),
      ...(actor === undefined ? {} : { actor }),
      ...(action === undefined ? {} : { action }),
    })
  })
}
