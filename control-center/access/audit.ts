import type { Context } from 'koa'
import { createJournal, type JournalEntry, type WrittenEntry } from '../../base/api/journal.ts'
import { recordOutcome } from '../../base/api/record-outcome.ts'
import { stateOf } from '../../base/http/request.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** An entry of the audit log: an action of a user, a token, a Satellite or the control center. */
export type AuditEntry = Omit<JournalEntry, 'place'> & {
  /** The organisation's id. Absent if the action doesn't belong to an organisation, such as a refused sign-in. */
  readonly organisation?: string
  /**
   * `user:{name}`, `token:{id}`, `satellite:{environment}`, `center` for automatic actions of the control center, or
   * `machine` for a command of its operator.
   */
  readonly actor: string
  /** For example, `environment-create`: a subject, then the event. */
  readonly action: string
  /**
   * The name of the user or object that the action changed. Absent if the actor is the target, for example when they
   * change their own password.
   */
  readonly target?: string | undefined
  readonly correlationId: string
}

export interface Audit {
  /** Resolves when the entry is in the database. Uses `recordOnce` for throttled attempts. */
  record(entry: AuditEntry): Promise<void>
  /**
   * Records a rejected attempt. If entries differ only in the actor, only one per minute and network is recorded.
   * Otherwise, anyone could fill the log with attempts under different names.
   */
  recordOnce(entry: AuditEntry): Promise<void>
  /**
   * Returns the newest entries first. Pass `next` as `before` to get older ones. With a filter, a page can be short or
   * empty and still have a `next`.
   */
  read(asked: {
    readonly organisation: string
    readonly limit: number
    readonly before?: number | undefined
    /** The filter fields have the same meaning as in `AuditEntry`. */
    readonly actor?: string | undefined
    readonly action?: string | undefined
    readonly outcome?: string | undefined
  }): Promise<{ readonly items: readonly WrittenEntry[]; readonly next?: string }>
  /** Actions and outcomes in the organisation's newest 10,000 entries, for the filters on a page. */
  recentValues(organisation: string): Promise<{
    readonly actions: readonly string[]
    readonly outcomes: readonly string[]
  }>
  sweep(): Promise<void>
}

const TABLE = { name: 'activity', columns: { target: 'subject', place: 'organisation' }, absent: '' } as const
/** Maximum entries of an organisation that a filtered query scans. No index covers the filters, so it has to scan. */
const MOST_SCANNED = 100_000
const THROTTLED: readonly string[] = ['throttled', 'ERR_THROTTLED']

/**
 * @param kept how long entries are kept, in ms
 * @param now returns the current time in epoch milliseconds
 */
export function createAudit(db: CenterDatabase, kept: number, now: () => number = Date.now): Audit {
  const journal = createJournal(db, TABLE, kept, now)

  async function recordOnce(entry: AuditEntry): Promise<void> {
    if (journal.isNews(placed(entry))) await journal.record(placed(entry))
  }

  return {
    record: (entry) => (THROTTLED.includes(entry.outcome) ? recordOnce(entry) : journal.record(placed(entry))),
    recordOnce,
    read({ organisation, ...query }) {
      const isFiltered = [query.actor, query.action, query.outcome].some((one) => one !== undefined)
      return journal.read({ ...query, place: organisation, mostLookedAt: isFiltered ? MOST_SCANNED : undefined })
    },
    async recentValues(organisation) {
      return {
        actions: await journal.valuesOf('action', organisation),
        outcomes: await journal.valuesOf('outcome', organisation),
      }
    },
    sweep: journal.sweep,
  }
}

/** Converts an audit entry to a journal entry. The journal's name for the organisation is "place". */
function placed({ organisation, ...entry }: AuditEntry): JournalEntry {
  return { ...entry, place: organisation }
}

/** The actor of an action, and the organisation, if the action belongs to one. */
export type Actor = { readonly name: string; readonly organisation?: { readonly id: string } }

/**
 * Runs `work` and records the action, even if it is rejected. `work` sets `named.target` as soon as the target is
 * known.
 */
export function recorded<T>(
  ctx: Context,
  audit: Audit,
  { name, organisation }: Actor,
  named: Pick<AuditEntry, 'action' | 'target'>,
  work: () => T | Promise<T>,
): Promise<T> {
  const { client, correlationId } = stateOf(ctx)
  const entry = {
    actor: name,
    ...(organisation && { organisation: organisation.id }),
    address: client.address,
    correlationId,
  }
  return recordOutcome(work, (outcome) => audit.record({ ...named, ...entry, outcome }))
}
