import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Users } from '../../base/accounts/users.ts'
import { PlatformError } from '../../runtime/errors.ts'

/** A user of the example `orders`. */
export type ExampleUser = {
  readonly username: string
  readonly password: string
  readonly permissions: readonly string[]
}

/**
 * The users that the host creates for the example `orders` on its first startup. They are in the platform's users
 * table, which has no other users at that time. Chosen here: each installation generates their passwords and stores
 * them in a file, so that the host can print them at each startup. If the docs contained the passwords, anyone could
 * sign in once the host is opened to the network.
 */
export interface ExampleUsers {
  /** Creates the users, except those whose names are taken. If it fails, call it again to create the rest. */
  create(): Promise<void>
  /** The users who can still sign in with the password from the file. Deleted or changed users are left out. */
  list(): Promise<readonly ExampleUser[]>
  /** Where the users' passwords are stored. */
  readonly file: string
}

/** The solution that the users are for, and its variant. Their permissions are valid only in these two. */
const SOLUTIONS = ['orders', 'orders-login-form']

/** Each user's permissions in `orders`, as described in its README. */
const PERMISSIONS: Readonly<Record<string, readonly string[]>> = {
  vera: ['Orders'],
  edith: ['Orders', 'Edit'],
  marco: ['Orders', 'Edit', 'Approve'],
}

export function createExampleUsers(
  users: Pick<Users, 'create' | 'find' | 'checkPassword'>,
  home: string,
  leastLength: number,
): ExampleUsers {
  const file = join(home, 'example-users')

  function readPasswords(): ReadonlyMap<string, string> | null {
    try {
      const lines = readFileSync(file, 'utf8').trim().split('\n')
      return new Map(lines.map((line) => line.split(' ', 2) as [string, string]))
    } catch {
      return null
    }
  }

  function makePasswords(): ReadonlyMap<string, string> {
    const made = new Map(Object.keys(PERMISSIONS).map((username) => [username, easyPassword(leastLength)]))
    // Write the file first. If the host then fails to start, its next start creates the missing users with the same
    // passwords.
    writeFileSync(file, [...made].map(([username, password]) => `${username} ${password}\n`).join(''), { mode: 0o600 })
    return made
  }

  async function canSignIn({ username, password }: ExampleUser): Promise<boolean> {
    const user = await users.find(username)
    if (user === null || !user.enabled || user.mustChangePassword) return false
    return users.checkPassword(user.uid, password)
  }

  return {
    file,
    async create() {
      const passwords = readPasswords() ?? makePasswords()
      for (const [username, names] of Object.entries(PERMISSIONS)) {
        const password = passwords.get(username)
        if (password === undefined) continue
        const permissions = SOLUTIONS.flatMap((solution) => names.map((name) => ({ name, solution })))
        try {
          await users.create({ username, password, mustChangePassword: false, permissions })
        } catch (error) {
          // The operator already has a user with this name, or another node created the user at the same time.
          if (!(error instanceof PlatformError) || error.code !== 'ERR_NAME_EXISTS') throw error
        }
      }
    },
    async list() {
      const passwords = readPasswords() ?? new Map<string, string>()
      const all = Object.entries(PERMISSIONS).map(([username, permissions]) => ({
        username,
        password: passwords.get(username) ?? '',
        permissions,
      }))
      const can = await Promise.all(all.map(canSignIn))
      return all.filter((_user, at) => can[at])
    },
  }
}

/** Without vowels, so that passwords contain no words, and without characters that are easily confused. */
const LETTERS = 'bcdfghjkmnpqrstvwxz23456789'

/** At least 76 random bits, in groups of four that are easy to type: `k7qm-x2d9-…`. */
function easyPassword(leastLength: number): string {
  const groups = Math.max(4, Math.ceil((leastLength + 1) / 5))
  const group = () => Array.from({ length: 4 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  return Array.from({ length: groups }, group).join('-')
}
