import type Router from '@koa/router'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../audit/audit.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import { MaintenanceForm } from './access-openapi.ts'
import { needScope } from './actor.ts'
import { audited } from './audited.ts'

export type MaintenanceApiParts = {
  readonly maintenance: Maintenance
  readonly audit: Audit
  readonly limits: Limits
}

export function addMaintenanceRoutes(router: Router, { maintenance, audit, limits }: MaintenanceApiParts): void {
  router.get('/maintenance', async (ctx) => {
    needScope(ctx, 'maintenance', 'read')
    ctx.body = { on: await maintenance.isOn() }
  })

  router.put('/maintenance', async (ctx) => {
    ctx.body = await audited(ctx, audit, 'maintenance', {}, async (named) => {
      needScope(ctx, 'maintenance', 'write')
      const { on } = readWith(MaintenanceForm, await readJson(ctx, limits))
      named.target = on ? 'on' : 'off'
      await maintenance.set(on)
      return { on }
    })
  })
}
