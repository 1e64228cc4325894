import type { Audit, WrittenEntry } from '../access/audit.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Maintenance } from './maintenance.ts'

export type MaintenancePageParts = { readonly maintenance: Maintenance; readonly audit: Audit }

export function addMaintenancePages(pages: PageRouter, { maintenance, audit }: MaintenancePageParts): void {
  /** The last change of maintenance mode, from the audit log; null if it is older than the log's retention period. */
  async function lastSet(): Promise<WrittenEntry | null> {
    const { items } = await audit.read({ action: 'maintenance', outcome: 'ok', limit: 1 })
    return items[0] ?? null
  }

  pages.get('/maintenance', async (_ctx, text) => {
    const model = { on: await maintenance.isOn(), last: await lastSet() }
    return { template: 'maintenance', heading: text('admin.part.maintenance'), part: 'maintenance', model }
  })
}
