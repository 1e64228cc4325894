import { hashPassword } from '../base/accounts/passwords.ts'
import { insertPermissions, newRow, permissionRows } from '../base/accounts/user-rows.ts'
import type { Tables } from '../base/database/tables.ts'
import { openHostDatabase } from '../host/database/open.ts'

export const PASSWORD = 'seven green tractors'
/** Rows per INSERT. */
const AT_ONCE = 100

/** Returns a username; users of kind `strange` do not exist. All names have the same length. */
export function nameOf(kind: 'member' | 'strange', number: number): string {
  return `${kind === 'member' ? 'member  ' : 'stranger'} ${String(number).padStart(6, '0')}`.replaceAll(' ', '-')
}

/**
 * Fills the users table of the database in a folder. All users share one hash, since creating a hash for each would
 * take an hour.
 */
export async function addUsers(home: string, count: number): Promise<void> {
  const db = await openHostDatabase(home)
  const hash = await hashPassword(PASSWORD)
  await db.transaction().execute(async (transaction) => {
    for (let from = 0; from < count; from += AT_ONCE) {
      const numbers = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => from + at)
      const rows = numbers.map((n) => newRow(`uid-${n}`, userOf(nameOf('member', n)), hash, Date.now()))
      await transaction.insertInto('users').values(rows).execute()
      await insertPermissions(
        transaction.$pickTables<keyof Tables>(),
        numbers.flatMap((n) => permissionRows(`uid-${n}`, ['Users'])),
      )
    }
  })
  await db.destroy()
}

function userOf(username: string) {
  return { username, email: `${username}@example.org`, password: PASSWORD, mustChangePassword: false }
}
