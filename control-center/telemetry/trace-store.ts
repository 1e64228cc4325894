import { sql } from 'kysely'
import { insertMany, isOneOf } from './database/many-rows.ts'
import type { TelemetryDatabase, TelemetryTables } from './database/tables.ts'
import { addUsage } from './log-store.ts'
import type { Span } from './otlp/read-traces.ts'
import type { Attributes } from './otlp/values.ts'

/**
 * A traced request. `start` is in epoch ms, `duration` in ms. `isFailed` is true if the request or any of its parts
 * failed.
 */
export type TracedRequest = {
  readonly trace: string
  readonly environment: string
  readonly name: string
  readonly start: number
  readonly duration: number
  readonly isFailed: boolean
}

/** A span with its children; `start` is the time in ms since the request began. */
export type SpanNode = {
  readonly name: string
  readonly start: number
  readonly duration: number
  readonly isFailed: boolean
  readonly attributes: Attributes
  readonly parts: readonly SpanNode[]
}

export type TraceFilter = {
  readonly environments: readonly string[]
  readonly solution?: string | undefined
  /** Only requests that started at this time or later, in epoch ms. */
  readonly from: number
  /** `slow`: requests that took at least `SLOW`, longest first. `failed`: failed requests, newest first. */
  readonly only?: 'slow' | 'failed' | undefined
  readonly limit: number
}

export interface TraceStore {
  /** Stores spans. Must be called within a transaction. Storing a span that is already stored is a no-op. */
  store(db: TelemetryDatabase, environment: string, spans: readonly Span[]): Promise<void>
  /** @returns the requests that match, newest first unless `only` is 'slow' */
  list(filter: TraceFilter): Promise<readonly TracedRequest[]>
  /** @returns null if none of these environments has the trace */
  find(
    environments: readonly string[],
    trace: string,
  ): Promise<{ readonly environment: string; readonly start: number; readonly spans: readonly SpanNode[] } | null>
}

/** Requests that take at least this long, in ms, are considered slow. */
export const SLOW = 500
/** Maximum spans shown per request. */
const MOST_SHOWN = 2000

export function createTraceStore(reading: TelemetryDatabase): TraceStore {
  return {
    async store(db, environment, spans) {
      if (spans.length === 0) return
      const columns = {
        environment: 'text',
        trace: 'text',
        span: 'text',
        parent: 'text',
        name: 'text',
        root: 'whole',
        start: 'whole',
        duration: 'whole',
        failed: 'whole',
        solution: 'text',
        attributes: 'text',
      } as const
      const rows = spans.map((one) => {
        const { trace, span, parent, name, isRoot, start, duration, isFailed, solution } = one
        const attributes = JSON.stringify(one.attributes)
        return [
          environment,
          trace,
          span,
          parent,
          name,
          Number(isRoot),
          start,
          duration,
          Number(isFailed),
          solution,
          attributes,
        ]
      })
      const stored = await insertMany(db, 'spans', columns, rows, sql`do nothing`)
      await addUsage(db, environment, { lines: 0, line_bytes: 0, spans: stored })
    },
    async list({ environments, solution, from, only, limit }) {
      if (environments.length === 0) return []
      const failed = sql`exists (select 1 from spans as parts where parts.environment = spans.environment
        and parts.trace = spans.trace and parts.failed = 1)`
      const ofSolution = sql`exists (select 1 from spans as parts where parts.environment = spans.environment
        and parts.trace = spans.trace and parts.solution = ${solution ?? ''})`
      const { rows } = await sql<Row>`select trace, environment, name, start, duration,
          case when ${failed} then 1 else 0 end as failed
        from spans where ${isOneOf(reading, 'spans.environment', environments)} and root = 1 and start >= ${from * 1000}
          ${only === 'slow' ? sql`and duration >= ${SLOW * 1000}` : sql``}
          ${only === 'failed' ? sql`and ${failed}` : sql``} ${solution === undefined ? sql`` : sql`and ${ofSolution}`}
        order by ${only === 'slow' ? sql`duration` : sql`start`} desc limit ${limit}`.execute(reading)
      return rows.map(({ trace, environment, name, start, duration, failed: isFailed }) => {
        return { trace, environment, name, start: start / 1000, duration: duration / 1000, isFailed: isFailed === 1 }
      })
    },
    async find(environments, trace) {
      if (environments.length === 0) return null
      const rows = await reading
        .selectFrom('spans')
        .selectAll()
        .where(isOneOf(reading, 'environment', environments))
        .where('trace', '=', trace)
        .orderBy('start')
        .limit(MOST_SHOWN)
        .execute()
      const [first] = rows
      if (first === undefined) return null
      const own = rows.filter(({ environment }) => environment === first.environment)
      return { environment: first.environment, start: first.start / 1000, spans: treeOf(own, first.start) }
    },
  }
}

type Stored = TelemetryTables['spans']
type Row = Pick<Stored, 'trace' | 'environment' | 'name' | 'start' | 'duration' | 'failed'>
type OpenNode = SpanNode & { readonly parts: SpanNode[] }

/** Spans whose parent is missing are shown at the top level. */
function treeOf(rows: readonly Stored[], began: number): readonly SpanNode[] {
  const nodes = new Map<string, OpenNode>(
    rows.map(({ span, name, start, duration, failed, attributes }) => [
      span,
      {
        name,
        start: (start - began) / 1000,
        duration: duration / 1000,
        isFailed: failed === 1,
        attributes: JSON.parse(attributes) as Attributes,
        parts: [],
      },
    ]),
  )
  const isBelow = new Map(rows.map(({ span, parent }) => [span, parent]))
  const top: SpanNode[] = []
  for (const { span, parent } of rows) {
    const node = nodes.get(span)
    const above = isAncestor(isBelow, parent, span) ? undefined : nodes.get(parent)
    if (node !== undefined) (above?.parts ?? top).push(node)
  }
  return top
}

/**
 * Whether `to` is `from` or one of its ancestors. This detects cycles, which occur if a sender sets a wrong parent.
 * Also returns true after 100 steps.
 */
function isAncestor(isBelow: ReadonlyMap<string, string>, from: string, to: string): boolean {
  let at: string | undefined = from
  for (let steps = 0; at !== undefined && at !== ''; steps++) {
    if (at === to || steps > 100) return true
    at = isBelow.get(at)
  }
  return false
}
