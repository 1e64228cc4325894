import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import type { Maintenance as MaintenanceSwitch } from './maintenance.ts'

export type MaintenanceApiParts = { readonly maintenance: MaintenanceSwitch }

const Maintenance = z.strictObject({ on: z.boolean() }).meta({ id: 'Maintenance' })

export function maintenanceRoutes({ maintenance }: MaintenanceApiParts): AdminRoute[] {
  return [
    route(
      'GET /maintenance',
      { summary: 'Get whether maintenance mode is on', right: 'maintenance:read', answers: { 200: Maintenance } },
      async () => ({ on: await maintenance.isOn() }),
    ),
    route(
      'PUT /maintenance',
      {
        summary:
          'Turn maintenance mode on or off. While it is on, new sign-ins are blocked, and users who are signed in can finish',
        right: 'maintenance:write',
        act: 'maintenance',
        body: Maintenance,
        answers: { 200: Maintenance },
      },
      async ({ body: { on }, names }) => {
        names.target = on ? 'on' : 'off'
        await maintenance.set(on)
        return { on }
      },
    ),
  ]
}
