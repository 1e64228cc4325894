import type { Logger } from 'pino'
import type { Users } from '../../base/accounts/users.ts'
import { firstRows } from '../../base/database/portable.ts'
import { repeat } from '../../base/work/repeat.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { AskDirectories } from './ask-directories.ts'

export type CheckSessionsParts = {
  readonly db: HostDatabase
  readonly users: Pick<Users, 'applyDirectory'>
  readonly directories: Pick<AskDirectories, 'lookUpAll'>
  readonly limits: Pick<Limits, 'DIRECTORY_CHECK' | 'SESSION_IDLE' | 'SESSION_LIFETIME'>
  readonly log: Pick<Logger, 'error'>
  /** In epoch milliseconds. */
  readonly now: () => number
}

/** Maximum users that are looked up per run and directory. */
const AT_ONCE = 100
/** The number of runs per `DIRECTORY_CHECK`. With more runs, each lookup is closer to its due time. */
const RUNS = 15

/**
 * Looks up each signed-in directory user every `DIRECTORY_CHECK`. Signs out users who are disabled, no longer exist, or
 * have lost permissions. While a directory is unreachable, its users stay signed in.
 * @returns a function that stops it
 */
export function keepCheckingSessions(parts: CheckSessionsParts): () => Promise<void> {
  const { limits, log } = parts
  return repeat(
    Math.max(Math.ceil(limits.DIRECTORY_CHECK / RUNS), 100),
    () => checkSessions(parts),
    (error) => log.error({ stack: error.stack }, 'signed-in users could not be looked up in their directories'),
  )
}

type Due = { readonly uid: string; readonly id: string; readonly checkedAt: number | null }

/** Looks up the users whose last lookup was at least `DIRECTORY_CHECK` ago. */
export async function checkSessions(parts: CheckSessionsParts): Promise<void> {
  const { db, users, directories } = parts
  const rows = await db.selectFrom('users').select('directory').distinct().where('directory', 'is not', null).execute()
  for (const name of rows.map(({ directory }) => directory ?? '')) {
    const claimed = new Map<string, Due>()
    for (const one of await readDue(name, parts)) if (await claim(one, parts)) claimed.set(one.id, one)
    if (claimed.size === 0) continue
    try {
      await directories.lookUpAll(name, [...claimed.keys()], async (id, person) => {
        const { uid } = claimed.get(id) as Due
        claimed.delete(id)
        await users.applyDirectory(uid, person)
      })
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      // The directory is unreachable. The next run looks up the remaining users.
      for (const one of claimed.values()) await giveBack(one, parts)
    }
  }
}

async function readDue(directory: string, { db, limits, now }: CheckSessionsParts): Promise<Due[]> {
  const time = now()
  const query = db
    .selectFrom('users')
    .select(['uid', 'directory_id', 'directory_checked_at'])
    .where('directory', '=', directory)
    .where((row) =>
      row.or([
        row('directory_checked_at', 'is', null),
        row('directory_checked_at', '<=', time - limits.DIRECTORY_CHECK),
      ]),
    )
    .where((row) =>
      row.exists(
        row
          .selectFrom('sessions')
          .select('sessions.uid')
          .whereRef('sessions.uid', '=', 'users.uid')
          .where('sessions.source', '=', 'users')
          .where('sessions.ended_at', 'is', null)
          .where('sessions.last_seen_at', '>', time - limits.SESSION_IDLE)
          .where('sessions.created_at', '>', time - limits.SESSION_LIFETIME),
      ),
    )
    .orderBy('directory_checked_at')
  const rows = await firstRows(db, query, AT_ONCE).execute()
  return rows.flatMap(({ uid, directory_id: id, directory_checked_at: checkedAt }) =>
    id === null ? [] : [{ uid, id, checkedAt }],
  )
}

/**
 * Ensures that only one of the hosts that share a database looks up the user.
 * @returns whether this host does
 */
async function claim({ uid, checkedAt }: Due, { db, now }: CheckSessionsParts): Promise<boolean> {
  let update = db.updateTable('users').set({ directory_checked_at: now() }).where('uid', '=', uid)
  update =
    checkedAt === null
      ? update.where('directory_checked_at', 'is', null)
      : update.where('directory_checked_at', '=', checkedAt)
  return (await update.executeTakeFirst()).numUpdatedRows > 0n
}

async function giveBack({ uid, checkedAt }: Due, { db }: CheckSessionsParts): Promise<void> {
  await db.updateTable('users').set({ directory_checked_at: checkedAt }).where('uid', '=', uid).execute()
}
