import { sql } from 'kysely'
import { createJournal, type JournalEntry, type JournalQuery, oneLine } from '../../base/api/journal.ts'
import type { Database } from '../../base/database/open.ts'
import { firstRows } from '../../base/database/portable.ts'
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

/** Never with a password, token, code or `custom_*` value. */
export type AuditEntry = Omit<JournalEntry, 'action' | 'place'> & {
  /** `admin`, `token:{id}`, `user:{name}`, or `solution:{name}` for what its scripts ask for. */
  readonly actor: string
  readonly action: AuditAction
  /**
   * What the action changed: `user:{name}`, `token:{id} ({name})`, `version:{first 12 digits of its SHA-256}`, `secret:{name}`,
   * the grants that were added, changed or removed. Absent where the actor is the target, as in a sign-in.
   */
  readonly target?: string | undefined
  readonly solution?: string | undefined
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

export type WrittenEntry = Omit<AuditEntry, 'action' | 'mode'> & { readonly action: string; readonly time: number }

export type AuditFilter = Omit<JournalQuery, 'place' | 'limit' | 'before' | 'mostLookedAt'> & {
  readonly solution?: string | undefined
}

export type AuditQuery = AuditFilter & Pick<JournalQuery, 'limit' | 'before'>

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
/** Entries that one answer looks at for a filter that no index helps, so that the database is not held up. */
const LOOKED_AT = 100_000
/** A stretch of time that its index finds fast enough, in ms. */
const INDEXED_TIME = 86_400_000
/** Counts that one answer has. */
const MOST_COUNTS = 20_000

const TABLE = { name: 'audit', columns: { target: 'target', place: 'solution' }, absent: null } as const

export function createAudit(db: Database, limits: Limits, now: () => number = Date.now): Audit {
  const journal = createJournal(db, TABLE, limits.AUDIT_KEPT, now)

  return {
    note: (entry) => journal.note(placed(entry)),
    noteOnce(entry) {
      const isKept = journal.isNews(placed(entry))
      if (isKept) journal.note(placed(entry))
      return isKept
    },
    record: (entry) => journal.record(placed(entry)),
    async read({ solution, ...query }) {
      const mostLookedAt = isSlow({ solution, ...query }, now()) ? LOOKED_AT : undefined
      const { items, ...more } = await journal.read({ ...query, place: solution, mostLookedAt })
      return { items: items.map(({ id: _, place, ...entry }) => ({ ...entry, solution: place })), ...more }
    },
    async countOutcomes({ actions, from, to, step }) {
      await journal.flush()
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
    flush: journal.flush,
    async eraseUser(username) {
      await journal.flush()
      const name = oneLine(`user:${username}`)
      await db.updateTable('audit').set({ actor: ERASED_USER }).where('actor', '=', name).execute()
      await db.updateTable('audit').set({ target: ERASED_USER }).where('target', '=', name).execute()
    },
    sweep: journal.sweep,
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

/** The entry as the journal takes it. */
function placed({ solution, mode: _, ...entry }: AuditEntry): JournalEntry {
  return { ...entry, place: solution }
}
