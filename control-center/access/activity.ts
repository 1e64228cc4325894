import type { Context } from 'koa'
import { networkOf } from '../../base/http/network.ts'
import { stateOf } from '../../base/http/request.ts'
import { createNews } from '../../base/work/news.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { firstRows } from '../database/portable.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** What somebody did, and how it ended: `ok`, `refused`, `throttled` or a code. Never a password, token or key. */
export type Act = {
  /** The organisation's id; '' where it is of none. */
  readonly organisation: string
  /** `user:{name}`, `token:{id}`, `satellite:{environment}` or `center` for what it does by itself. */
  readonly actor: string
  /** Such as `environment-create`: a subject, then what happened to it. */
  readonly action: string
  /** The name of what the action changed; '' if the actor is the target, such as a change of their own password. */
  readonly subject: string
  readonly outcome: string
  readonly address: string
  readonly correlationId: string
}

export type WrittenAct = Omit<Act, 'organisation'> & { readonly id: number; readonly time: number }

/** What was done in organisations: their audit. */
export interface Activity {
  /**
   * Resolves when the entry is in the database. Throttled attempts are recorded once a minute per network: anyone can send
   * thousands, each with another name.
   */
  record(act: Act): Promise<void>
  /** The newest first; `next` is the id to ask for older ones with. */
  read(asked: {
    readonly organisation: string
    readonly limit: number
    readonly before?: number | undefined
    /** As in `Act`. */
    readonly actor?: string | undefined
    readonly action?: string | undefined
  }): Promise<{ readonly items: readonly WrittenAct[]; readonly next?: string }>
  /** Removes what is older than `AUDIT_KEPT`. */
  sweep(): Promise<void>
}

const LONGEST = 200
const THROTTLED: readonly string[] = ['throttled', 'ERR_THROTTLED']

/** @param kept in ms @param now the clock, in epoch milliseconds */
export function createActivity(db: CenterDatabase, kept: number, now: () => number = Date.now): Activity {
  const isNews = createNews(now)

  return {
    async record({ correlationId, ...act }) {
      const { organisation, action, subject, outcome, address } = act
      const thing = JSON.stringify([organisation, action, subject, networkOf(address)])
      if (THROTTLED.includes(outcome) && !isNews(thing)) return
      const row = { ...act, correlation: correlationId }
      const texts = Object.fromEntries(Object.entries(row).map(([key, text]) => [key, oneLine(text)])) as typeof row
      await db
        .insertInto('activity')
        .values({ ...texts, time: now() })
        .execute()
    },
    async read({ organisation, limit, before, actor, action }) {
      let query = db.selectFrom('activity').selectAll().where('organisation', '=', organisation).orderBy('id', 'desc')
      if (before !== undefined) query = query.where('id', '<', before)
      if (actor !== undefined) query = query.where('actor', '=', actor)
      if (action !== undefined) query = query.where('action', '=', action)
      const rows = await firstRows(db, query, limit + 1).execute()
      const items = rows.slice(0, limit).map(({ organisation: _, correlation, ...act }) => {
        return { ...act, correlationId: correlation }
      })
      return rows.length > limit ? { items, next: String(items.at(-1)?.id) } : { items }
    },
    async sweep() {
      await db
        .deleteFrom('activity')
        .where('time', '<', now() - kept)
        .execute()
    },
  }
}

/** Who did it, and what with: `actor` of access.ts. */
export type Actor = { readonly name: string; readonly organisation: { readonly id: string } }

/** Runs `work` and records the action, even if it is refused. `work` may set `named.subject` once it knows it. */
export async function recorded<T>(
  ctx: Context,
  activity: Activity,
  { name, organisation }: Actor,
  named: Pick<Act, 'action'> & { subject: string },
  work: () => Promise<T>,
): Promise<T> {
  const { client, correlationId } = stateOf(ctx)
  const record = (outcome: string) =>
    activity.record({
      ...named,
      organisation: organisation.id,
      actor: name,
      address: client.address,
      correlationId,
      outcome,
    })
  try {
    const done = await work()
    await record('ok')
    return done
  } catch (error) {
    if (error instanceof PlatformError) await record(error.code)
    throw error
  }
}

/** A name can have any character; here none of them makes a new line or turns the text around. */
function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\u{fffd}')
    .slice(0, LONGEST)
}
