import type { Limits } from '../../runtime/limits.ts'
import type { Database } from '../database/open.ts'
import { firstRows } from '../database/portable.ts'
import { networkOf } from '../http/network.ts'

/** What is written down, by its subject. Outcomes are `ok`, `refused`, `throttled` or a code. */
export type AuditAction =
  | 'sign-in'
  | 'remembered-sign-in'
  | 'remembered-theft'
  | 'sign-out'
  | 'password-change'
  | 'script-request'
  | `solution-${'upload' | 'activate' | 'delete' | 'grants' | 'secret' | 'login-token' | 'oauth'}`
  | `user-${'create' | 'change' | 'delete' | 'import' | 'export' | 'erase'}`
  | `token-${'create' | 'delete'}`
  | 'session-end'
  | 'maintenance'
  | 'admin-sign-in'

/** Who did what, from where, and how it ended. Never a password, token, code or `custom_*` value. */
export type AuditEntry = {
  /** `admin`, `token:{id}`, `user:{name}`, or `solution:{name}` for what its scripts ask for. */
  readonly actor: string
  readonly action: AuditAction
  readonly solution?: string
  readonly outcome: string
  readonly address: string
  readonly correlationId?: string
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
  /** The newest entries, newest first; `next` is the id to ask for older ones with. */
  read(
    options: AuditQuery,
  ): Promise<{ readonly items: readonly (AuditEntry & { readonly time: number })[]; readonly next?: string }>
  flush(): Promise<void>
  /** Entries of the user of this name keep no name: their actor becomes `user:erased`. */
  eraseUser(username: string): Promise<void>
  /** Removes what is older than `AUDIT_KEPT`. */
  sweep(): Promise<void>
}

export type AuditQuery = {
  readonly limit: number
  readonly before?: number
  readonly solution?: string
  readonly actor?: string
  readonly action?: string
}

/** Entries wait this long for others, in ms. */
const BATCH_TIME = 50
/** While the database is away, so many are kept. */
const MAX_WAITING = 20_000
/** Names come from browsers: longer ones are cut. */
const LONGEST = 200
/** `noteOnce` keeps entries that are alike once in this time, in ms. */
const ONCE_IN = 60_000
/** Kinds of entries that it remembers. */
const MOST_KINDS = 10_000

type Row = ReturnType<typeof rowOf>

export function createAudit(db: Database, limits: Limits, now: () => number = Date.now): Audit {
  let waiting: Row[] = []
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  const toldUntil = new Map<string, number>()

  function isNews({ action, solution, outcome, address }: AuditEntry): boolean {
    const kind = JSON.stringify([action, solution, outcome, networkOf(address)])
    if ((toldUntil.get(kind) ?? 0) > now()) return false
    if (toldUntil.size >= MOST_KINDS) toldUntil.clear()
    toldUntil.set(kind, now() + ONCE_IN)
    return true
  }

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

  return {
    note,
    noteOnce(entry) {
      const isKept = isNews(entry)
      if (isKept) note(entry)
      return isKept
    },
    async record(entry) {
      await insert([rowOf(entry, now())])
    },
    async read({ limit, before, solution, actor, action }) {
      await flush()
      let query = db.selectFrom('audit').selectAll().orderBy('id', 'desc')
      if (before !== undefined) query = query.where('id', '<', before)
      if (solution !== undefined) query = query.where('solution', '=', solution)
      if (actor !== undefined) query = query.where('actor', '=', actor)
      if (action !== undefined) query = query.where('action', '=', action)
      const rows = await firstRows(db, query, limit + 1).execute()
      const last = rows.length > limit ? rows[limit - 1] : undefined
      const items = rows.slice(0, limit).map((row) => ({
        time: row.time,
        actor: row.actor,
        action: row.action as AuditAction,
        ...(row.solution === null ? {} : { solution: row.solution }),
        outcome: row.outcome,
        address: row.address,
        ...(row.correlation_id === null ? {} : { correlationId: row.correlation_id }),
      }))
      return last === undefined ? { items } : { items, next: String(last.id) }
    },
    flush,
    async eraseUser(username) {
      await flush()
      const actor = oneLine(`user:${username}`)
      await db.updateTable('audit').set({ actor: 'user:erased' }).where('actor', '=', actor).execute()
    },
    async sweep() {
      await db
        .deleteFrom('audit')
        .where('time', '<', now() - limits.AUDIT_KEPT)
        .execute()
    },
  }
}

function rowOf({ actor, action, solution, outcome, address, correlationId }: AuditEntry, time: number) {
  return {
    time,
    actor: oneLine(actor),
    action,
    solution: solution === undefined ? null : oneLine(solution),
    outcome: oneLine(outcome),
    address: oneLine(address),
    correlation_id: correlationId ?? null,
  }
}

/** A name can have any character; in the audit none of them makes a new line or turns the text around. */
function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\u{fffd}')
    .slice(0, LONGEST)
}
