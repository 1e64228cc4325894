import { Readable } from 'node:stream'
import { pageOf } from '../../base/api/open-api.ts'
import { z } from '../../runtime/zod.ts'
import { auditOf } from '../access/actor.ts'
import type { Audit, AuditQuery as AuditQueryOptions, WrittenEntry } from '../access/audit.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { writeCell } from '../http/csv-cells.ts'

/** Entries per database query of an export. */
const EXPORT_PAGE = 500

const Time = z.coerce.number().int().min(0).optional().describe('epoch ms, inclusive')

const AuditQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  before: z.coerce.number().int().min(1).optional().describe('the value of `next` in the previous response'),
  solution: z.string().max(200).optional(),
  actor: z.string().max(250).optional().describe('the actor, such as admin, token:{id} or user:{name}'),
  action: z.string().max(100).optional(),
  target: z
    .string()
    .max(250)
    .optional()
    .describe('the complete target, such as user:{name}, version:{first 12 digits of its SHA-256} or secret:{name}'),
  outcome: z.string().max(200).optional().describe('the outcome: ok, refused, throttled or an error code'),
  correlationId: z.string().max(100).optional(),
  from: Time,
  to: Time,
})

/**
 * Streaming an export of the maximum length takes about 30 s. To get older entries, clients repeat the request with
 * `to`.
 */
const AuditExportQuery = AuditQuery.extend({ limit: z.coerce.number().int().min(1).max(100_000).default(10_000) })

const AuditEntry = z
  .object({
    time: z.int().min(0),
    actor: z.string(),
    action: z.string(),
    target: z.string().optional().describe('what the action changed, such as user:{name} or token:{id} ({name})'),
    solution: z.string().optional(),
    outcome: z.string(),
    address: z.string(),
    correlationId: z.string().optional(),
  })
  .meta({ id: 'AuditEntry' })

export function auditRoutes({ audit }: { readonly audit: Audit }): AdminRoute[] {
  return [
    route(
      'GET /audit',
      {
        summary:
          'List the audit entries, newest first. If you filter only by action or outcome, a page can have fewer entries than `limit`, or none. Continue while the response has a `next`',
        right: 'audit:read',
        query: AuditQuery,
        answers: { 200: pageOf(AuditEntry) },
      },
      ({ query }) => audit.read(query),
    ),
    route(
      'GET /audit.csv',
      {
        summary: 'Export the audit entries as CSV',
        right: 'audit:read',
        query: AuditExportQuery,
        answers: { 200: { description: 'RFC 4180', type: 'text/csv' } },
      },
      async ({ query: { limit, ...filter }, ctx }) => {
        // The export contains personal data, so it is audited before the first byte is sent.
        await audit.record(auditOf(ctx, 'audit-export', 'ok', { target: 'audit' }))
        ctx.type = 'text/csv; charset=utf-8; header=present'
        ctx.set('Content-Disposition', 'attachment; filename="audit.csv"')
        return Readable.from(auditCsv(audit, filter, limit))
      },
    ),
  ]
}

const COLUMNS = ['time', 'actor', 'action', 'target', 'solution', 'outcome', 'address', 'correlationId'] as const

/** The newest entries as CSV, newest first. Only one page at a time is in memory. */
export async function* auditCsv(
  audit: Pick<Audit, 'read'>,
  filter: Omit<AuditQueryOptions, 'limit'>,
  limit: number,
): AsyncGenerator<string> {
  const { stringify } = await import('csv-stringify/sync')
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
