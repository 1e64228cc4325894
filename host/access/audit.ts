import { sql } from 'kysely'
import type { Database } from '../../base/database/open.ts'
import { firstRows } from '../../base/database/portable.ts'
import { networkOf } from '../../base/http/network.ts'
import { createNews } from '../../base/work/news.ts'
import type { Limits } from '../../runtime/limits.ts'

/** What is written down, by its subject. Outcomes are `ok`, `refused`, `throttled` or a code. */
export type AuditAction =
  | 'sign-in'
  | 'remembered-sign-in'
  | 'remembered-theft'
  | 'sign-out'
  | 'password-change'
  | 'script-request'
  | 'client'
  | `solution-${'upload' | 'activate' | 'delete' | 'version-delete' | 'grants' | 'secret' | 'login-token' | 'oauth'}`
  | `user-${'create' | 'change' | 'delete' | 'import' | 'export' | 'erase'}`
  | `token-${'create' | 'delete'}`
  | 'session-end'
  | 'audit-export'
  | 'maintenance'
  | 'testing'
  | 'admin-sign-in'

/** Who did what, from where, and how it ended. Never a password, token, code or `custom_*` value. */
export type AuditEntry = {
  /** `admin`, `token:{id}`, `user:{name}`, or `solution:{name}` for what its scripts ask for. */
  readonly actor: string
  readonly action: AuditAction
  /**
   * What the action changed: `user:{name}`, `token:{id} ({name})`, `version:{first 12 digits of its SHA-256}`, `secret:{name}`,
   * the grants that were added, changed or removed. Absent where the actor is the target, as in a sign-in.
   */
  readonly target?: string
  readonly solution?: string
  readonly outcome: string
  readonly address: string
  readonly correlationId?: string
  /** Of a sign-in: how the solution signs its users in (`SignInMode`). It is counted, and not written down. */
  readonly mode?: string
}

export interface Audit {
  /** Keeps an entry, which is written with the next batch: for what happens with each sign-in. */
  note(entry: AuditEntry): void
  /**
   * The same for what is refused to one who may go on trying: what is alike but for the actor, who can write any name, is
   * kept once a minute.
   * @returns whether it was kept
   */
  noteOnce(entry: AuditEntry): boolean
  /** Resolves when the entry is in the database: for what an operator does. */
  record(entry: AuditEntry): Promise<void>
  /**
   * The newest entries, newest first; `next` is the id to ask for older ones with. Where only `action` or `outcome` is asked
   * for, of more than `INDEXED_TIME`, one answer looks at no more than the newest `LOOKED_AT` entries: it can be short and
   * have a `next` all the same.
   */
  read(options: AuditQuery): Promise<{ readonly items: readonly WrittenEntry[]; readonly next?: string }>
  /** How often these actions ended in which way, by steps of time in epoch ms; steps without any are left out. */
  countOutcomes(asked: OutcomesAsked): Promise<readonly OutcomeCount[]>
  flush(): Promise<void>
  /** Replaces the user's name in all entries, as actor and as target, with `user:erased`. */
  eraseUser(username: string): Promise<void>
  /** Removes what is older than `AUDIT_KEPT`. */
  sweep(): Promise<void>
}

export type WrittenEntry = AuditEntry & { readonly time: number }

export type AuditQuery = AuditFilter & { readonly limit: number; readonly before?: number | undefined }

export type AuditFilter = {
  readonly solution?: string | undefined
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly outcome?: string | undefined
  readonly correlationId?: string | undefined
  /** Epoch ms, both included. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

export type OutcomesAsked = {
  readonly actions: readonly AuditAction[]
  /** Epoch ms; `from` is included, `to` is not. */
  readonly from: number
  readonly to: number
  /** In ms. */
  readonly step: number
}

export type OutcomeCount = { readonly at: number; readonly outcome: string; readonly count: number }

/** An erased user, as actor and as target. */
export const ERASED_USER = 'user:erased'
/** Entries wait this long for others, in ms. */
const BATCH_TIME = 50
/** While the database is away, so many are kept. */
const MAX_WAITING = 20_000
/** Names come from browsers: longer ones are cut. */
const LONGEST = 200

/** Entries that one answer looks at for a filter that no index helps, so that the database is not held up. */
const LOOKED_AT = 100_000
/** A stretch of time that its index finds fast enough, in ms. */
const INDEXED_TIME = 86_400_000
/** Counts that one answer has. */
const MOST_COUNTS = 20_000

type Row = ReturnType<typeof rowOf>

export function createAudit(db: Database, limits: Limits, now: () => number = Date.now): Audit {
  let waiting: Row[] = []
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  const isNews = createNews(now)

  function note(entry: AuditEntry): void {
    if (waiting.length < MAX_WAITING) waiting.push(rowOf(entry, now()))
    startTimer(BATCH_TIME)
  }

  function flush(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    const rows = waiting
    waiting = []
    if (rows.length > 0) writing = writing.then(() => insert(rows)).catch(() => keepForLater(rows))
    return writing
  }

  function keepForLater(rows: Row[]): void {
    waiting = [...rows, ...waiting].slice(-MAX_WAITING)
    startTimer(1000)
  }

  function startTimer(after: number): void {
    timer ??= setTimeout(() => void flush(), after)
    timer.unref()
  }

  async function insert(rows: readonly Row[]): Promise<void> {
    await db.transaction().execute(async (transaction) => {
      for (let from = 0; from < rows.length; from += 200) {
        await transaction
          .insertInto('audit')
          .values(rows.slice(from, from + 200))
          .execute()
      }
    })
  }

  function matching({ solution, actor, action, target, outcome, correlationId, from, to }: AuditFilter) {
    let query = db.selectFrom('audit')
    if (solution !== undefined) query = query.where('solution', '=', solution)
    if (actor !== undefined) query = query.where('actor', '=', actor)
    if (action !== undefined) query = query.where('action', '=', action)
    if (target !== undefined) query = query.where('target', '=', target)
    if (outcome !== undefined) query = query.where('outcome', '=', outcome)
    if (correlationId !== undefined) query = query.where('correlation', '=', correlationId)
    if (from !== undefined) query = query.where('time', '>=', from)
    if (to !== undefined) query = query.where('time', '<=', to)
    return query
  }

  /** @returns an id, or 0 where an answer may look at all there is */
  async function oldestLookedAt(before: number | undefined): Promise<number> {
    const { newest } = await db
      .selectFrom('audit')
      .select(({ fn }) => fn.max('id').as('newest'))
      .executeTakeFirstOrThrow()
    const last = Math.min(before ?? Number.POSITIVE_INFINITY, Number(newest ?? 0) + 1)
    return Math.max(0, last - LOOKED_AT)
  }

  return {
    note,
    noteOnce(entry) {
      const { action, solution, outcome, address } = entry
      const isKept = isNews(JSON.stringify([action, solution, outcome, networkOf(address)]))
      if (isKept) note(entry)
      return isKept
    },
    async record(entry) {
      await insert([rowOf(entry, now())])
    },
    async read({ limit, before, ...filter }) {
      await flush()
      const oldest = isSlow(filter, now()) ? await oldestLookedAt(before) : 0
      const query = matching(filter)
        .selectAll()
        .orderBy('id', 'desc')
        .$if(before !== undefined, (some) => some.where('id', '<', before as number))
        .$if(oldest > 0, (some) => some.where('id', '>=', oldest))
      const rows = await firstRows(db, query, limit + 1).execute()
      const items = rows.slice(0, limit).map(entryOf)
      if (rows.length > limit) return { items, next: String(rows[limit - 1]?.id) }
      return oldest > 0 ? { items, next: String(oldest) } : { items }
    },
    async countOutcomes({ actions, from, to, step }) {
      await flush()
      // A literal: as a parameter it would be another one in GROUP BY, which servers take for another expression.
      const at = sql<number>`${sql.ref('time')} - ${sql.ref('time')} % ${sql.lit(Math.round(step))}`
      const query = db
        .selectFrom('audit')
        .select(({ fn }) => [at.as('at'), 'outcome', fn.countAll().as('count')])
        .where('time', '>=', from)
        .where('time', '<', to)
        .where('action', 'in', [...actions])
        .groupBy([at, 'outcome'])
        .orderBy(at)
      const rows = await firstRows(db, query, MOST_COUNTS).execute()
      return rows.map(({ at: time, outcome, count }) => ({ at: Number(time), outcome, count: Number(count) }))
    },
    flush,
    async eraseUser(username) {
      await flush()
      const name = oneLine(`user:${username}`)
      await db.updateTable('audit').set({ actor: ERASED_USER }).where('actor', '=', name).execute()
      await db.updateTable('audit').set({ target: ERASED_USER }).where('target', '=', name).execute()
    },
    async sweep() {
      await db
        .deleteFrom('audit')
        .where('time', '<', now() - limits.AUDIT_KEPT)
        .execute()
    },
  }
}

/** Whether no index finds what is asked for. */
function isSlow(
  { solution, actor, action, target, outcome, correlationId, from = 0, to }: AuditFilter,
  now: number,
): boolean {
  const isAskedForMuch = (action !== undefined || outcome !== undefined) && (to ?? now) - from > INDEXED_TIME
  return isAskedForMuch && [solution, actor, target, correlationId].every((one) => one === undefined)
}

function entryOf(row: Row & { correlation_id: string | null }): WrittenEntry {
  const correlationId = row.correlation ?? row.correlation_id
  return {
    time: row.time,
    actor: row.actor,
    action: row.action as AuditAction,
    ...(row.target === null ? {} : { target: row.target }),
    ...(row.solution === null ? {} : { solution: row.solution }),
    outcome: row.outcome,
    address: row.address,
    ...(correlationId === null ? {} : { correlationId }),
  }
}

function rowOf({ actor, action, target, solution, outcome, address, correlationId }: AuditEntry, time: number) {
  return {
    time,
    actor: oneLine(actor),
    action: action as string,
    target: target === undefined ? null : oneLine(target),
    solution: solution === undefined ? null : oneLine(solution),
    outcome: oneLine(outcome),
    address: oneLine(address),
    correlation: correlationId ?? null,
  }
}

/** A name can have any character; in the audit none of them makes a new line or turns the text around. */
function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\u{fffd}')
    .slice(0, LONGEST)
}
