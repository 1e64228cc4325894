import { expect, test } from 'vitest'
import type { AuditQuery, WrittenEntry } from '../../../host/access/audit.ts'
import { auditCsv } from '../../../host/audit/api.ts'

const ENTRY: WrittenEntry = {
  time: 0,
  actor: 'admin',
  action: 'maintenance',
  target: 'on',
  outcome: 'ok',
  address: '::1',
}

/** An audit log with `count` entries, returned in pages of the requested size. */
function auditOf(count: number) {
  const asked: AuditQuery[] = []
  return {
    asked,
    async read(query: AuditQuery) {
      asked.push(query)
      const newest = query.before ?? count + 1
      const items = Array.from({ length: Math.min(query.limit, newest - 1) }, () => ENTRY)
      const oldest = newest - items.length
      return oldest > 1 ? { items, next: String(oldest) } : { items }
    },
  }
}

async function linesOf(csv: AsyncIterable<string>): Promise<string[]> {
  return (await Array.fromAsync(csv)).join('').trimEnd().split('\r\n')
}

test('audit.csv: a value that a spreadsheet would treat as a formula is written as text', async () => {
  const entry = {
    ...ENTRY,
    actor: '=cmd()',
    target: '=1',
    outcome: '@x',
    solution: '+1',
    address: '-1',
    correlationId: '\ta',
  }
  const csv = auditCsv({ read: async () => ({ items: [entry] }) }, {}, 10)
  expect((await linesOf(csv))[1]).toBe("1970-01-01T00:00:00.000Z,'=cmd(),maintenance,'=1,'+1,'@x,'-1,'\ta")
})

test('audit.csv: the entries are read in pages, with the filter, up to the maximum number of entries', async () => {
  const audit = auditOf(2000)
  expect(await linesOf(auditCsv(audit, { action: 'maintenance' }, 1200))).toHaveLength(1201)
  expect(audit.asked.map(({ limit, before, action }) => [limit, before, action])).toEqual([
    [500, undefined, 'maintenance'],
    [500, 1501, 'maintenance'],
    [200, 1001, 'maintenance'],
  ])
})

test('audit.csv: a short page that is not the last one does not end the file', async () => {
  const pages = [{ items: [], next: '7' }, { items: [ENTRY] }]
  const csv = auditCsv({ read: async () => pages.shift() ?? { items: [] } }, {}, 10)
  expect(await linesOf(csv)).toHaveLength(2)
})
