import { Readable } from 'node:stream'
import type Router from '@koa/router'
import { stringify } from 'csv-stringify/sync'
import { readWith } from '../../base/api/read-with.ts'
import type { Audit, AuditQuery as AuditQueryOptions, WrittenEntry } from '../audit/audit.ts'
import { writeCell } from '../users/users-csv-cells.ts'
import { AuditExportQuery, AuditQuery } from './access-openapi.ts'
import { auditOf, needScope } from './actor.ts'

/** Entries that an export reads at a time. */
const EXPORT_PAGE = 500

/** Who did what; nothing of it can be changed here. */
export function addAuditRoutes(router: Router, { audit }: { readonly audit: Audit }): void {
  router.get('/audit', async (ctx) => {
    needScope(ctx, 'audit', 'read')
    ctx.body = await audit.read(readWith(AuditQuery, { ...ctx.query }))
  })

  router.get('/audit.csv', async (ctx) => {
    needScope(ctx, 'audit', 'read')
    const { limit, ...filter } = readWith(AuditExportQuery, { ...ctx.query })
    // Who was here when leaves the house: that is written down before the first of it does.
    await audit.record(auditOf(ctx, 'audit-export', 'ok', { target: 'audit' }))
    ctx.type = 'text/csv; charset=utf-8; header=present'
    ctx.set('Content-Disposition', 'attachment; filename="audit.csv"')
    ctx.body = Readable.from(auditCsv(audit, filter, limit))
  })
}

const COLUMNS = ['time', 'actor', 'action', 'target', 'solution', 'outcome', 'address', 'correlationId'] as const

/** The newest entries as CSV, newest first; a page at a time is in memory. */
export async function* auditCsv(
  audit: Pick<Audit, 'read'>,
  filter: Omit<AuditQueryOptions, 'limit'>,
  limit: number,
): AsyncGenerator<string> {
  yield stringify([[...COLUMNS]], { record_delimiter: 'windows' })
  let { before } = filter
  let left = limit
  while (left > 0) {
    const page = await audit.read({ ...filter, before, limit: Math.min(EXPORT_PAGE, left) })
    if (page.items.length > 0) yield stringify(page.items.map(cellsOf), { record_delimiter: 'windows' })
    left -= page.items.length
    if (page.next === undefined) return
    before = Number(page.next)
  }
}

function cellsOf({ time, actor, action, target, solution, outcome, address, correlationId }: WrittenEntry): string[] {
  const at = new Date(time).toISOString()
  return [at, actor, action, target ?? '', solution ?? '', outcome, address, correlationId ?? ''].map(writeCell)
}
