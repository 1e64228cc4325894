import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createDatabaseRuns } from '../../../host/jobs/database-runs.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { testJobs } from '../../support/job-contract.ts'
import { withRowCounts } from '../../support/rows-per-statement.ts'

let home: string
let db: HostDatabase
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-jobs-'))
  db = await openHostDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

testJobs('SQLite', () => db)

test('runs are cancelled, deleted after JOB_KEPT, and erased with their solution, at most 100 per statement', async () => {
  let time = 1_000_000
  const counted = withRowCounts(db)
  const runs = createDatabaseRuns(counted.db, createLimits({ JOB_KEPT: 1000 }), () => time)
  const add = () => {
    time += 1
    const run = { solution: 'swept', job: 'mail', data: '{}', key: null, tenant: null, dueAt: time }
    return runs.add(Array.from({ length: 50 }, () => ({ ...run, id: randomUUID() })))
  }
  for (let batch = 0; batch < 25; batch++) await add()
  counted.rows.length = 0
  await runs.cancelAll('swept')
  expect(Math.max(...counted.rows)).toBe(100)
  await add()
  time += 1001
  await runs.sweep()
  expect(Math.max(...counted.rows)).toBe(100)
  const left = async () => {
    const runs = db.selectFrom('job_runs').select('state').where('solution', '=', 'swept')
    return (await runs.execute()).map(({ state }) => state)
  }
  expect(await left()).toEqual(Array.from({ length: 50 }, () => 'waiting'))
  await runs.cancelAll('swept')
  await add()
  await runs.eraseEnded('swept')
  expect(await left()).toEqual(Array.from({ length: 50 }, () => 'waiting'))
  expect(Math.max(...counted.rows)).toBe(100)
})
