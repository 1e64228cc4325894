import type Router from '@koa/router'
import { readWith } from '../../base/api/read-with.ts'
import type { Health } from '../telemetry/health-report.ts'
import { needScope } from './actor.ts'
import { HealthQuery } from './health-openapi.ts'

export type HealthApiParts = { readonly health: Health }

export function addHealthRoutes(router: Router, { health }: HealthApiParts): void {
  router.get('/health', async (ctx) => {
    needScope(ctx, 'health', 'read')
    ctx.body = await health(readWith(HealthQuery, { ...ctx.query }))
  })
}
