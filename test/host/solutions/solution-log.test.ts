import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createSolutionLog } from '../../../host/solutions/solution-log.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { withRowCounts } from '../../support/rows-per-statement.ts'
import { waitUntil } from '../../support/wait-until.ts'

let home: string
let db: HostDatabase
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-log-'))
  db = await openHostDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const messages = async (log: ReturnType<typeof createSolutionLog>, solution: string) =>
  (await log.read(solution, { limit: 100 })).items.map(({ message }) => message)

test('solution log: a solution named error is treated like any other', async () => {
  const log = createSolutionLog(db, createLimits())
  log.write('error', { level: 'info', message: 'fine' })
  expect(await messages(log, 'error')).toEqual(['fine'])
})

test('solution log: lines that could not be written are written with the next batch', async () => {
  const log = createSolutionLog(db, createLimits())
  await db.schema.alterTable('solution_log').renameTo('solution_log_away').execute()
  log.write('crm', { level: 'info', message: 'one' })
  await log.flush()
  await db.schema.alterTable('solution_log_away').renameTo('solution_log').execute()
  log.write('crm', { level: 'info', message: 'two' })
  expect(await messages(log, 'crm')).toEqual(['one', 'two'])
})

test('solution log: each solution’s lines are removed when they are too old, and its oldest lines if its log is too large', async () => {
  let time = 1_000_000
  const log = createSolutionLog(db, createLimits({ LOG_KEPT: 1000, LOG_KEPT_SIZE: 500 }), () => time)
  log.write('old', { level: 'info', message: 'old' })
  await log.flush()
  time += 1001
  for (let line = 0; line < 10; line++) log.write('long', { level: 'info', message: `line ${line}` })
  log.write('short', { level: 'info', message: 'stays' })
  await log.flush()
  await log.sweep()
  expect(await messages(log, 'old')).toEqual([])
  expect(await messages(log, 'long')).toEqual(['line 6', 'line 7', 'line 8', 'line 9'])
  expect(await messages(log, 'short')).toEqual(['stays'])
})

test('solution log: a solution’s errors are counted from a given time', async () => {
  let time = 1000
  const log = createSolutionLog(db, createLimits(), () => time)
  expect(await log.countErrors('counted', 0)).toEqual({ count: 0, isLeast: false })
  log.write('counted', { level: 'error', message: 'old' })
  time = 2000
  log.write('counted', { level: 'error', message: 'new' })
  log.write('counted', { level: 'warn', message: 'no error' })
  log.write('other', { level: 'error', message: 'of another' })
  expect(await log.countErrors('counted', 2000)).toEqual({ count: 1, isLeast: false })
  expect(await log.countErrors('counted', 1000)).toEqual({ count: 2, isLeast: false })
})

test('solution log: if there are more than 5,000 lines, only the newest are counted, and the count says so', async () => {
  const log = createSolutionLog(db, createLimits(), () => 5000)
  for (let i = 0; i < 5001; i++) log.write('busy', { level: i < 10 ? 'error' : 'info', message: 'x' })
  expect(await log.countErrors('busy', 5000)).toEqual({ count: 9, isLeast: true })
  expect(await log.countErrors('busy', 5001)).toEqual({ count: 0, isLeast: false })
})

test('solution log: sweep and erase read and delete at most 1,000 lines per statement', async () => {
  let time = 1_000_000
  const counted = withRowCounts(db)
  const limits = createLimits({ LOG_KEPT: 1000, LOG_KEPT_SIZE: 2200 * 101 })
  const log = createSolutionLog(counted.db, limits, () => time)
  const writeLines = (solution: string, count: number) => {
    for (let line = 0; line < count; line++) log.write(solution, { level: 'info', message: 'x' })
  }
  writeLines('aged', 2500)
  await log.flush()
  time += 1001
  writeLines('aged', 1)
  writeLines('grown', 3500)
  writeLines('erased', 2500)
  await log.flush()
  await log.sweep()
  await log.erase('erased')
  const kept = await counted.db
    .selectFrom('solution_log')
    .select(({ fn }) => ['solution', fn.countAll().as('count')])
    .where('solution', 'in', ['aged', 'grown', 'erased'])
    .groupBy('solution')
    .orderBy('solution')
    .execute()
  expect(kept).toEqual([
    { solution: 'aged', count: 1 },
    { solution: 'grown', count: 2200 },
  ])
  expect(Math.max(...counted.rows)).toBe(1000)
})

test('solution log: lines with a time in the future do not keep older lines from being removed', async () => {
  let time = 2_000_000
  const log = createSolutionLog(db, createLimits({ LOG_KEPT: 1000 }), () => time)
  log.write('clock', { level: 'info', message: 'the clock was wrong' })
  time = 1_000_000
  log.write('clock', { level: 'info', message: 'old' })
  time += 1001
  log.write('clock', { level: 'info', message: 'new' })
  await log.flush()
  await log.sweep()
  expect(await messages(log, 'clock')).toEqual(['new'])
})

test('solution log: without a sweep, a log that keeps growing exceeds LOG_KEPT_SIZE by at most a quarter', async () => {
  const log = createSolutionLog(db, createLimits({ LOG_KEPT_SIZE: 100 * 101 }))
  for (let batch = 0; batch < 40; batch++) {
    for (let line = 0; line < 10; line++) log.write('flood', { level: 'info', message: 'x' })
    await log.flush()
    const lines = () => db.selectFrom('solution_log').select('id').where('solution', '=', 'flood').execute()
    await waitUntil(async () => expect((await lines()).length).toBeLessThan(125))
  }
  expect(await messages(log, 'flood')).toHaveLength(100)
})

test('solution log: the size of a line is its number of bytes', async () => {
  const log = createSolutionLog(db, createLimits())
  log.write('bytes', { level: 'info', message: 'é漢😀' })
  await log.flush()
  const line = db.selectFrom('solution_log').select('size').where('solution', '=', 'bytes')
  expect(await line.executeTakeFirst()).toEqual({ size: 9 })
})

test('solution log: while the database hangs, at most one batch is in progress, and the queue is limited', async () => {
  const log = createSolutionLog(db, createLimits())
  const { promise: hung, resolve: end } = Promise.withResolvers<void>()
  const held = db.transaction().execute(() => hung)
  for (let burst = 0; burst < 5; burst++) {
    for (let line = 0; line < 15_000; line++) log.write('hung', { level: 'info', message: '' })
    void log.flush()
    await setImmediate()
  }
  log.write('other', { level: 'info', message: 'kept' })
  end()
  await held
  await log.flush()
  const lines = db.selectFrom('solution_log').select('id').where('solution', '=', 'hung').where('level', '=', 'info')
  const stored = (await lines.execute()).length
  // The first burst was in progress.
  expect(stored - 15_000).toBeLessThanOrEqual(20_000)
  expect(stored - 15_000).toBeGreaterThan(19_900)
  const message = `Log lines could not be stored fast enough, because there were too many or the database was slow. Lines dropped: ${75_000 - stored}`
  expect((await log.read('hung', { limit: 1 })).items).toMatchObject([{ level: 'warn', message }])
  expect(await messages(log, 'other')).toEqual(['kept'])
})

test('solution log: after an outage, lines are stored without another write', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const log = createSolutionLog(db, createLimits())
  await db.schema.alterTable('solution_log').renameTo('solution_log_away').execute()
  log.write('outage', { level: 'info', message: 'kept' })
  await log.flush()
  await db.schema.alterTable('solution_log_away').renameTo('solution_log').execute()
  vi.advanceTimersByTime(1000)
  vi.useRealTimers()
  const lines = db.selectFrom('solution_log').select('message').where('solution', '=', 'outage')
  await waitUntil(async () => expect(await lines.execute()).toEqual([{ message: 'kept' }]))
})

test('solution log: a page of lines is read with at most 200 lines per statement, because lines can be long', async () => {
  const counted = withRowCounts(db)
  const log = createSolutionLog(counted.db, createLimits())
  for (let line = 0; line < 700; line++) log.write('paged', { level: 'info', message: `line ${line}` })
  await log.flush()
  counted.rows.length = 0
  const newest = await log.read('paged', { limit: 500 })
  expect(newest.items.map(({ message }) => message)).toEqual(Array.from({ length: 500 }, (_, n) => `line ${n + 200}`))
  const rest = await log.read('paged', { limit: 500, before: Number(newest.next) })
  expect([rest.items.length, rest.items[0]?.message, rest.next]).toEqual([200, 'line 0', undefined])
  const filtered = await log.read('paged', { limit: 500, text: 'line 1' })
  expect(filtered.items).toHaveLength(111)
  expect(Math.max(...counted.rows)).toBe(200)
})
