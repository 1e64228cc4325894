import { sql } from 'kysely'
import { isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase } from './database/tables.ts'
import { logSearchOf } from './log-search/search-of.ts'
import { addUsage, removeLines } from './log-store.ts'
import { type KeptSteps, STEPS } from './metric-store.ts'

/** Retention in ms per kind of data, and limits per environment. */
export type Kept = {
  readonly steps: KeptSteps
  readonly logs: number
  readonly traces: number
  /** Maximum log lines per environment, in bytes. */
  readonly logSize: number
  readonly spans: number
}

/** Maximum rows per transaction. Incoming telemetry has to wait for each transaction. */
const AT_ONCE = 1000
/** How long a repeated request is recognised as a duplicate, in ms. A host retries every minute. */
const BATCHES_KEPT = 86_400_000
/** Retention of each process's last values, in ms. */
const STATES_KEPT = 7 * 86_400_000

/**
 * Deletes data that is past its retention or exceeds its environment's limit, oldest first. Also deletes all data of
 * deleted environments.
 * @param environments returns the ids of the existing environments
 */
export async function sweepTelemetry(
  db: TelemetryDatabase,
  kept: Kept,
  environments: () => Promise<readonly string[]>,
  now: number,
): Promise<void> {
  const known = await environmentsIn(db)
  // Read this after `known`. Otherwise, an environment created in between would seem to be deleted.
  const there = new Set(await environments())
  await db
    .deleteFrom('telemetry_batches')
    .where('time', '<', now - BATCHES_KEPT)
    .execute()
  await db
    .deleteFrom('metric_states')
    .where('time', '<', now - STATES_KEPT)
    .execute()
  await sweepPoints(db, kept.steps, now)
  await sweepLines(db, () => oldLines(db, now - kept.logs))
  for (const environment of known) {
    const isGone = !there.has(environment)
    await sweepLines(db, () => linesOver(db, environment, isGone ? -1 : kept.logSize))
    await sweepSpans(db, environment, isGone ? Infinity : now - kept.traces, isGone ? 0 : kept.spans)
    if (isGone) await forget(db, environment)
  }
}

async function environmentsIn(db: TelemetryDatabase): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('telemetry_usage')
    .select('environment')
    .union(db.selectFrom('metric_series').select('environment'))
    .execute()
  return rows.map(({ environment }) => environment)
}

async function sweepPoints(db: TelemetryDatabase, kept: KeptSteps, now: number): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await db
      .selectFrom('metric_series')
      .select(['id', 'last_at'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(AT_ONCE)
      .execute()
    const ids = rows.map(({ id }) => id)
    const last = ids.at(-1)
    if (last === undefined) return
    for (const name of Object.keys(STEPS) as (keyof typeof STEPS)[]) {
      await db
        .deleteFrom('metric_points')
        .where(isOneOf(db, 'series', ids))
        .where('step', '=', STEPS[name])
        .where('time', '<', now - kept[name])
        .execute()
    }
    const unused = rows.filter(({ last_at }) => last_at < now - Math.max(...Object.values(kept))).map(({ id }) => id)
    if (unused.length > 0)
      await db
        .deleteFrom('metric_series')
        .where(isOneOf(db, 'id', unused))
        .execute()
    after = last
  }
}

type Line = { readonly id: number; readonly environment: string; readonly size: number }

async function sweepLines(db: TelemetryDatabase, find: () => Promise<readonly Line[]>): Promise<void> {
  const search = logSearchOf(db)
  for (let lines = await find(); lines.length > 0; lines = await find()) {
    await db.transaction().execute(async (transaction) => {
      const removed = await removeLines(
        transaction,
        search,
        lines.map(({ id }) => id),
      )
      const sums = new Map<string, { lines: number; line_bytes: number; spans: number }>()
      for (const { environment, size } of removed) {
        const sum = sums.get(environment) ?? { lines: 0, line_bytes: 0, spans: 0 }
        sums.set(environment, sum)
        sum.lines--
        sum.line_bytes -= size
      }
      for (const [environment, sum] of sums) await addUsage(transaction, environment, sum)
    })
  }
}

function oldLines(db: TelemetryDatabase, before: number): Promise<readonly Line[]> {
  const columns = ['id', 'environment', 'size'] as const
  return db.selectFrom('log_lines').select(columns).where('time', '<', before).orderBy('time').limit(AT_ONCE).execute()
}

/** Returns the oldest lines that exceed the environment's limit, at most `AT_ONCE`. */
async function linesOver(db: TelemetryDatabase, environment: string, bound: number): Promise<readonly Line[]> {
  const usage = await db
    .selectFrom('telemetry_usage')
    .select('line_bytes')
    .where('environment', '=', environment)
    .executeTakeFirst()
  let over = (usage?.line_bytes ?? 0) - bound
  if (over <= 0) return []
  const rows = await db
    .selectFrom('log_lines')
    .select(['id', 'environment', 'size'])
    .where('environment', '=', environment)
    .orderBy('id')
    .limit(AT_ONCE)
    .execute()
  return rows.filter(({ size }) => {
    const isOver = over > 0
    over -= size
    return isOver
  })
}

async function sweepSpans(db: TelemetryDatabase, environment: string, before: number, most: number): Promise<void> {
  const until = Math.max(
    before === Infinity ? Number.MAX_SAFE_INTEGER : before * 1000,
    await startOver(db, environment, most),
  )
  const { numDeletedRows } = await db
    .deleteFrom('spans')
    .where('environment', '=', environment)
    .where('root', 'in', [0, 1])
    .where('start', '<', until)
    .executeTakeFirst()
  if (numDeletedRows > 0n) await addUsage(db, environment, { lines: 0, line_bytes: 0, spans: -Number(numDeletedRows) })
}

/** In epoch µs. Spans that started earlier are deleted. 0 keeps all spans. */
async function startOver(db: TelemetryDatabase, environment: string, most: number): Promise<number> {
  const row = await db
    .selectFrom('telemetry_usage')
    .select('spans')
    .where('environment', '=', environment)
    .executeTakeFirst()
  if (row === undefined || row.spans <= most) return 0
  const first = await db
    .selectFrom('spans')
    .select('start')
    .where('environment', '=', environment)
    .orderBy('start', 'desc')
    .offset(most)
    .limit(1)
    .executeTakeFirst()
  return first === undefined ? 0 : first.start + 1
}

async function forget(db: TelemetryDatabase, environment: string): Promise<void> {
  const series = sql`series in (select id from metric_series where environment = ${environment})`
  await sql`delete from metric_points where ${series}`.execute(db)
  await sql`delete from metric_states where ${series}`.execute(db)
  for (const table of ['metric_series', 'telemetry_batches', 'telemetry_usage'] as const) {
    await db.deleteFrom(table).where('environment', '=', environment).execute()
  }
}
