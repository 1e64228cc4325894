import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '../database/open.ts'
import { firstRows } from '../database/portable.ts'
import { chunksOf, type UserRow } from './user-rows.ts'
import { usernameKey } from './username.ts'

/** Rows per statement. SQLite runs on the main thread, and reading 1,000 rows takes about 3 ms. */
const AT_ONCE = 1000
/**
 * Maximum number of rows that one search reads. In larger tables, a page can contain fewer users than requested and
 * still have a `next`.
 */
const MOST_SCANNED = 100_000

export type UserSearch = {
  readonly limit: number
  /** `next` of the previous page. */
  readonly after?: string | undefined
  readonly search: string
}

/**
 * Finds users whose username, full name, email address or uid contains the text (case-insensitive), ordered by
 * username. An index can't find a substring, so this function reads the table in the order of the username index. It
 * compares in JavaScript, because in SQLite, and in PostgreSQL with the collation "C", `lower` changes only the letters
 * A to Z.
 * @param mostScanned default 100,000 rows
 */
export async function searchUsers(
  db: Database,
  { limit, after, search }: UserSearch,
  mostScanned: number = MOST_SCANNED,
): Promise<{ readonly rows: readonly UserRow[]; readonly next?: string }> {
  const wanted = usernameKey(search)
  const found: { readonly uid: string; readonly username_key: string }[] = []
  let last = after
  for (let scanned = 0; scanned < mostScanned; scanned += AT_ONCE) {
    let query = db.selectFrom('users').select(['uid', 'username_key', 'display_name', 'email']).orderBy('username_key')
    if (last !== undefined) query = query.where('username_key', '>', last)
    const read = await firstRows(db, query, AT_ONCE + 1).execute()
    const rows = read.slice(0, AT_ONCE)
    found.push(...rows.filter((row) => contains(row, wanted)))
    if (found.length > limit) {
      const page = found.slice(0, limit)
      return { rows: await readRows(db, page), next: page.at(-1)?.username_key ?? '' }
    }
    if (read.length <= AT_ONCE) return { rows: await readRows(db, found) }
    last = rows.at(-1)?.username_key
    await nextTurn()
  }
  return { rows: await readRows(db, found), ...(last === undefined ? {} : { next: last }) }
}

type Searched = Pick<UserRow, 'uid' | 'username_key' | 'display_name' | 'email'>

function contains({ uid, username_key, display_name, email }: Searched, wanted: string): boolean {
  return (
    username_key.includes(wanted) ||
    usernameKey(display_name ?? '').includes(wanted) ||
    usernameKey(email ?? '').includes(wanted) ||
    uid.includes(wanted)
  )
}

async function readRows(db: Database, found: readonly { readonly uid: string }[]): Promise<UserRow[]> {
  const rows: UserRow[] = []
  for (const some of chunksOf(found)) {
    const uids = some.map(({ uid }) => uid)
    rows.push(...(await db.selectFrom('users').selectAll().where('uid', 'in', uids).orderBy('username_key').execute()))
  }
  return rows
}
