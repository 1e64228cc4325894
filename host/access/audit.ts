import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { usernameKey } from '../../base/accounts/username.ts'
import { createJournal, type JournalEntry, type JournalQuery, oneLine } from '../../base/api/journal.ts'
import { firstRows } from '../../base/database/portable.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'

/** Audited actions. An outcome is `ok`, `refused`, `throttled` or an error code. */
export const AUDIT_ACTIONS = [
  'sign-in',
  'remembered-sign-in',
  'remembered-theft',
  'sign-out',
  'password-change',
  'password-forgotten',
  'address-change',
  'link',
  'second-step',
  'confirm',
  'factor-add',
  'factor-remove',
  'factor-reset',
  'passkey-clone',
  'factor-unlock',
  'sign-in-policy',
  'directory',
  'admin-sign-in',
  'solution-upload',
  'solution-activate',
  'solution-delete',
  'solution-version-delete',
  'draft-create',
  'draft-discard',
  'draft-try',
  'draft-publish',
  'solution-grants',
  'solution-secret',
  'solution-oauth',
  'solution-login-token',
  'user-create',
  'user-change',
  'user-delete',
  'user-erase',
  'user-import',
  'user-export',
  'session-end',
  'token-create',
  'token-delete',
  'script-request',
  'client',
  'jobs-pause',
  'job-run',
  'job-cancel',
  'maintenance',
  'audit-export',
  'testing',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** Must not contain a password, token, code or `custom_*` value. */
export type AuditEntry = Omit<JournalEntry, 'action' | 'place'> & {
  /** The actor: `admin`, `token:{id}`, `user:{name}`, or `solution:{name}` for requests from a solution's scripts. */
  readonly actor: string
  readonly action: AuditAction
  /**
   * What was changed: `user:{name}`, `token:{id} ({name})`, `version:{first 12 digits of its SHA-256}`,
   * `secret:{name}`, or the grants that were added, changed or removed. Absent if the actor is the target, for example
   * when they sign in.
   */
  readonly target?: string | undefined
  readonly solution?: string | undefined
  /**
   * For sign-ins: the solution's sign-in mode (`SignInMode`). It is counted in metrics, not stored in the audit log.
   */
  readonly mode?: string
}

export interface Audit {
  /** Queues an entry for the next batch. Use it for frequent events, such as sign-ins. */
  note(entry: AuditEntry): void
  /**
   * Like `note`, but for rejected attempts, which anyone can repeat without limit. For identical entries from one
   * network, it records one per minute. The actor is not compared, because an attacker can choose any name.
   * @param isActorProven whether the actor has proven their identity; if so, the actor is compared too
   * @returns whether the entry was recorded
   */
  noteOnce(entry: AuditEntry, isActorProven?: boolean): boolean
  /** Resolves once the entry is in the database. Use it for operators' actions. */
  record(entry: AuditEntry): Promise<void>
  /**
   * Returns entries, newest first. To get older ones, pass `next` as `before`. If no index covers the filter, a call
   * scans only the newest `LOOKED_AT` entries, to limit database load. A page can then be short and still have a
   * `next`.
   */
  read(options: AuditQuery): Promise<{ readonly items: readonly WrittenEntry[]; readonly next?: string }>
  /** The outcomes and solutions that occur in the newest 10,000 entries, for the filters on the audit log page. */
  recentValues(): Promise<{ readonly outcomes: readonly string[]; readonly solutions: readonly string[] }>
  /**
   * Counts the outcomes of the requested actions per time step. `at` is the start of a step in epoch ms. Steps without
   * entries are left out.
   */
  countOutcomes(asked: OutcomesAsked): Promise<readonly OutcomeCount[]>
  flush(): Promise<void>
  /**
   * Replaces the user's name in all entries, as actor and as target, with `user:erased`. Users may have typed their name
   * in other spellings, such as `ANNA`; these are replaced too.
   */
  eraseUser(username: string): Promise<void>
  /** Removes entries older than `AUDIT_KEPT`. */
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
  /** The length of a time step, in ms. */
  readonly step: number
}

export type OutcomeCount = { readonly at: number; readonly outcome: string; readonly count: number }

/** Names of users in the log start with this. */
const USER = 'user:'
/** Comes directly after all names of users. */
const AFTER_USERS = 'user;'
/** Replaces the name of an erased user, as actor and as target. */
export const ERASED_USER = 'user:erased'
/** Maximum entries that one call scans if no index covers the filter. This limits the database load. */
const LOOKED_AT = 100_000
/** Maximum time range in ms of a query that is fast with only the time index. */
const INDEXED_TIME = 86_400_000
/** Maximum number of counts in one result. Each is for one time step and outcome. */
const MOST_COUNTS = 20_000

const TABLE = { name: 'audit', columns: { target: 'target', place: 'solution' }, absent: null } as const

export function createAudit(db: HostDatabase, limits: Limits, now: () => number = Date.now): Audit {
  const journal = createJournal(db, TABLE, limits.AUDIT_KEPT, now)

  return {
    note: (entry) => journal.note(placed(entry)),
    noteOnce(entry, isActorProven) {
      const isKept = journal.isNews(placed(entry), isActorProven)
      if (isKept) journal.note(placed(entry))
      return isKept
    },
    record: (entry) => journal.record(placed(entry)),
    async read({ solution, ...query }) {
      const mostLookedAt = isSlow({ solution, ...query }, now()) ? LOOKED_AT : undefined
      const { items, ...more } = await journal.read({ ...query, place: solution, mostLookedAt })
      return { items: items.map(({ id: _, place, ...entry }) => ({ ...entry, solution: place })), ...more }
    },
    async recentValues() {
      return { outcomes: await journal.valuesOf('outcome'), solutions: await journal.valuesOf('place') }
    },
    async countOutcomes({ actions, from, to, step }) {
      await journal.flush()
      // The step must be a literal. In GROUP BY, database servers would treat a second parameter as a different
      // expression.
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
      const key = usernameKey(oneLine(`${USER}${username}`).slice(USER.length))
      for (const column of ['actor', 'target'] as const) {
        for await (const name of usersIn(db, column)) {
          if (usernameKey(name.slice(USER.length)) !== key) continue
          await db
            .updateTable('audit')
            .set({ [column]: ERASED_USER })
            .where(column, '=', name)
            .execute()
        }
      }
    },
    sweep: journal.sweep,
  }
}

/**
 * Returns the column's users, without duplicates. Finds each with a fast query, because the log may have millions of
 * entries and a long query on the embedded database would block the process.
 */
async function* usersIn(db: HostDatabase, column: 'actor' | 'target'): AsyncGenerator<string> {
  for (let last = USER; ; ) {
    const { next } = await db
      .selectFrom('audit')
      .select((row) => row.fn.min<string | null>(column).as('next'))
      .where(column, '>', last)
      .where(column, '<', AFTER_USERS)
      .executeTakeFirstOrThrow()
    if (next === null) return
    yield next
    last = next
    await setImmediate()
  }
}

/** Whether no index covers the filter. */
function isSlow(
  { solution, actor, action, target, outcome, correlationId, from = 0, to }: AuditFilter,
  now: number,
): boolean {
  const isWideQuery = (action !== undefined || outcome !== undefined) && (to ?? now) - from > INDEXED_TIME
  return isWideQuery && [solution, actor, target, correlationId].every((one) => one === undefined)
}

/** Converts an entry to the journal's format, which has no `mode` and stores the solution as the place. */
function placed({ solution, mode: _, ...entry }: AuditEntry): JournalEntry {
  return { ...entry, place: solution }
}
