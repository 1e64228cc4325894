import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  MssqlAdapter,
  MssqlIntrospector,
  MssqlQueryCompiler,
  type QueryResult,
} from 'kysely'
import { afterEach, expect, test } from 'vitest'
import { beta } from '../../../base/database/beta.ts'
import { migrationsFor } from '../../../base/database/migrations.ts'
import { firstRows, insertOnce, isUniqueViolation, put } from '../../../base/database/portable.ts'
import { serverDialect } from '../../../base/database/server-dialect.ts'
import type { Tables } from '../../../base/database/tables.ts'
import { createAudit } from '../../../host/access/audit.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createDatabaseRuns } from '../../../host/jobs/database-runs.ts'
import type { ClaimedRun } from '../../../host/jobs/job-runs.ts'
import { createPauses } from '../../../host/jobs/pauses.ts'
import { createSolutionLog } from '../../../host/solutions/solution-log.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { startTdsServer, type TdsAnswer, type TdsServer } from '../../support/tds-server.ts'

/*
 * No Microsoft SQL Server is available for tests. These tests check the text of the statements, and that the driver
 * signs in, sends queries and handles errors. They do not show that a real server accepts the statements.
 */

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

/**
 * Creates a database that records statements instead of running them.
 * @param rowsOf the rows that a statement returns
 */
function noting(rowsOf: (statement: string) => unknown[] = () => []): { db: HostDatabase; statements: string[] } {
  const statements: string[] = []
  class NotingDriver extends DummyDriver {
    override async acquireConnection() {
      return {
        async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
          statements.push(query.sql)
          return { rows: rowsOf(query.sql) as R[], numAffectedRows: 1n }
        },
        async *streamQuery() {},
      }
    }
  }
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new MssqlAdapter(),
      createDriver: () => new NotingDriver(),
      createIntrospector: (one) => new MssqlIntrospector(one),
      createQueryCompiler: () => new MssqlQueryCompiler(),
    },
  })
  return { db, statements }
}

test('beta: key columns can be indexed, and texts are compared by code point', async () => {
  const { db, statements } = noting()
  for (const migration of Object.values(migrationsFor(beta))) await migration.up(db)
  const tableOf = (name: string) => statements.find((text) => text.startsWith(`create table "${name}"`))
  const key = 'nvarchar(255) collate Latin1_General_100_BIN2'
  const text = 'nvarchar(max) collate Latin1_General_100_BIN2'
  expect(tableOf('platform')).toBe(`create table "platform" ("key" ${key} primary key, "value" ${text} not null)`)
  expect(tableOf('solution_versions')).toContain('"bundle" varbinary(max) not null')
  expect(tableOf('solution_versions')).toContain(
    'constraint "solution_versions_solution" foreign key ("solution") references "solutions" ("name") on delete cascade',
  )
  expect(tableOf('solution_log')).toContain('("id" bigint identity primary key')
  expect(statements).toContain(`alter table "sessions" add "source" ${key} default '' not null`)
  expect(statements.join('\n')).not.toMatch(/\btext\b(?! collate)|\bblob\b|auto_?increment|if not exists/i)
})

test('beta: the first rows are selected with TOP', async () => {
  const { db, statements } = noting()
  await firstRows(db, db.selectFrom('audit').select('id').where('id', '<', 9).orderBy('id', 'desc'), 3).execute()
  expect(statements).toEqual(['select top(3) "id" from "audit" where "id" < @1 order by "id" desc'])
})

test('beta: put is an update, followed by an insert if no row was found', async () => {
  const { db, statements } = noting()
  await put(db, 'secrets', ['solution', 'name'], { solution: 's', name: 'n', value: 'v', hosts: '[]', updated_at: 1 })
  expect(statements).toEqual([
    'update "secrets" set "value" = @1, "hosts" = @2, "updated_at" = @3 where "solution" = @4 and "name" = @5',
  ])
})

test('beta: the log and the audit log use at most 2,100 values per statement, and no syntax of other databases', async () => {
  const answers: Record<string, unknown[][]> = {
    'select min("solution") as "next" from "solution_log" where "solution" > @1': [[{ next: 'crm' }], [{ next: null }]],
    'select top(1000) "id", "time" from "solution_log" where "solution" = @1 order by "id"': [[{ id: 5, time: 0 }]],
    'select top(1000) "id", "time" from "audit" where "time" < @1 order by "time", "id"': [[{ id: 5, time: 0 }]],
  }
  const { db, statements } = noting((text) => answers[text]?.shift() ?? [])
  const log = createSolutionLog(db, createLimits())
  for (let line = 0; line < 1000; line++) log.write('crm', { level: 'info', message: 'x' })
  await log.read('crm', { limit: 10, before: 5 })
  await log.sweep()
  const audit = createAudit(db, createLimits())
  for (let n = 0; n < 1000; n++) audit.note({ actor: 'a', action: 'sign-in', outcome: 'ok', address: '' })
  await audit.read({ limit: 10 })
  await audit.sweep()
  const most = Math.max(...statements.map((text) => text.match(/@\d+/g)?.length ?? 0))
  expect(most).toBeLessThanOrEqual(2100)
  expect(statements).toContain('delete from "solution_log" where "solution" = @1 and "id" <= @2')
  expect(statements).toContain(
    'select top(1000) "id", "size" from "solution_log" where "solution" = @1 and "id" < @2 order by "id" desc',
  )
  expect(statements).toContain('delete from "audit" where "time" <= @1 and "id" <= @2')
  expect(statements.join('\n')).not.toMatch(/\blimit\b|\breturning\b|on conflict|on duplicate|length\(/i)
})

test('beta: runs of jobs are added, claimed, ended and listed without syntax of other databases', async () => {
  const keys = { id: 'run', solution: 'crm', job: 'mail', state: 'failed', attempt: 0, slot: 'run', lease: 'lease' }
  const row = { ...keys, tenant: null, failure: null, due_at: 0, created_at: 0 }
  const solutions = ['crm']
  const expired = [row]
  const { db, statements } = noting((text) => {
    if (text.includes('count(*)')) return [{ count: 0 }]
    if (text.includes('min("solution")')) return [{ next: solutions.shift() ?? null }]
    if (text.startsWith('select top(100) "id"') && text.includes('"ended_at" <')) return expired.splice(0)
    return text.startsWith('select') && !text.includes('"state" in') ? [row] : []
  })
  const runs = createDatabaseRuns(db, createLimits(), () => 1000)
  const added = { id: 'run', solution: 'crm', job: 'mail', data: '{}', key: 'key', tenant: null, dueAt: 0 }
  await runs.add([added])
  await runs.addDue({ ...added, scheduledFor: 0, missed: 3 })
  await runs.due(1000)
  const run = await runs.claim('crm', 'mail', 2)
  expect(run).toMatchObject({ id: 'run', job: 'mail', lease: expect.any(String) })
  await runs.renew(run as ClaimedRun)
  await runs.end(run as ClaimedRun, { kind: 'succeeded', result: '1', queued: [added] })
  await runs.loseExpired(async () => 3)
  await runs.cancel('crm', 'run')
  await runs.cancelAll('crm')
  await runs.again('crm', 'run')
  await runs.list('crm', { job: 'mail', state: 'failed', before: 'run' }, 10)
  await runs.last('crm', ['mail'])
  await runs.sweep()
  await runs.eraseEnded('crm')
  const pauses = createPauses(db)
  await pauses.set('crm', true)
  await pauses.set('crm', false)
  expect(statements).toContain(
    'select top(5) "id" from "job_runs" where "solution" = @1 and "job" = @2 and "state" = @3 and "due_at" <= @4' +
      ' order by "due_at", "created_at", "id"',
  )
  expect(statements).toContain(
    'update "job_runs" set "state" = @1, "slot" = @2, "lease" = @3, "lease_until" = @4, "started_at" = @5,' +
      ' "attempt" = "attempt" + @6 where "id" = @7 and "state" = @8',
  )
  expect(statements).toContain(
    'select "solution", "job", min("due_at") as "due_at" from "job_runs" where "state" = @1 and "due_at" <= @2' +
      ' group by "solution", "job"',
  )
  expect(statements).toContain(
    'select min("ended_at") as "oldest", count(*) as "count" from (select top(20000) "ended_at" from "job_runs"' +
      ' where "solution" = @1 and "ended_at" is not null order by "ended_at" desc) as "newest"',
  )
  expect(statements).toContain('delete from "job_runs" where "id" in (@1) and "ended_at" < @2')
  expect(statements.filter((text) => /^select top\((?!100\))/.test(text))).toHaveLength(3)
  expect(statements.join('\n')).not.toMatch(/\blimit\b|\breturning\b|on conflict|on duplicate|for update/i)
})

async function open(answer: (statement: string) => TdsAnswer, login: TdsAnswer['error'] | null = null) {
  const server = await startTdsServer(answer, login)
  stops.push(server.stop)
  return { server, db: await connect(server) }
}

async function connect(server: TdsServer): Promise<HostDatabase> {
  const { address } = server
  const db = new Kysely<Tables>({
    dialect: serverDialect(await beta.createDialect(address, 'platform'), beta, address),
  })
  stops.push(() => db.destroy())
  return db
}

const STORED = { id: 4_102_444_800_123n, message: 'ünïcode 😀', code: null }

test('beta: the driver signs in and returns rows: bigint as a number, text, null', async () => {
  const { server, db } = await open(() => ({ rows: [STORED] }))
  const rows = await db.selectFrom('solution_log').select(['id', 'message', 'code']).where('id', '>', 1).execute()
  expect(rows).toEqual([{ id: 4_102_444_800_123, message: 'ünïcode 😀', code: null }])
  expect(server.statements).toContain('select "id", "message", "code" from "solution_log" where "id" > @1')
})

test('beta: bytes are plain Uint8Arrays', async () => {
  const { db } = await open(() => ({ rows: [{ content: Uint8Array.of(0, 1, 255) }] }))
  const row = await db.selectFrom('media').select('content').where('content', '=', Uint8Array.of(7)).executeTakeFirst()
  expect(row?.content).toEqual(Uint8Array.of(0, 1, 255))
  expect(Buffer.isBuffer(row?.content)).toBe(false)
})

test('beta: a duplicate key is reported as a unique violation, and insertOnce returns false', async () => {
  const error = { number: 2627, message: "Violation of PRIMARY KEY constraint 'x'." }
  const { db } = await open((text) => (text.startsWith('insert') ? { error } : {}))
  const insert = db.insertInto('platform').values({ key: 'k', value: 'v' }).execute()
  expect(isUniqueViolation(await insert.catch((reason: unknown) => reason))).toBe(true)
  expect(await insertOnce(db, 'platform', { key: 'k', value: 'v' })).toBe(false)
})

test('beta: a transaction commits and rolls back', async () => {
  const { db } = await open(() => ({}))
  await db.transaction().execute((one) => one.deleteFrom('platform').execute())
  const undone = db.transaction().execute(() => Promise.reject(new Error('undo')))
  await expect(undone).rejects.toThrow('undo')
})

test('beta: login errors distinguish a wrong account from a missing database', async () => {
  const account = await open(() => ({}), { number: 18456, message: "Login failed for user 'sa'." })
  const database = await open(() => ({}), { number: 4060, message: 'Cannot open database "platform".' })
  const failure = (db: HostDatabase) =>
    db
      .selectFrom('platform')
      .selectAll()
      .execute()
      .then(
        () => null,
        (error: unknown) => beta.failureOf(error),
      )
  expect(await failure(account.db)).toBe('account')
  expect(await failure(database.db)).toBe('no-database')
})

test('beta: a broken connection is replaced, and a server that is down is reported as unreachable', async () => {
  const { server, db } = await open(() => ({ rows: [{ key: 'k' }] }))
  const read = () => db.selectFrom('platform').select('key').execute()
  await read()
  server.breakConnections()
  expect(await read()).toEqual([{ key: 'k' }])
  await server.stop()
  await expect(read()).rejects.toMatchObject({ code: 'ERR_DATABASE_UNREACHABLE', details: { retryAfter: 5 } })
})
