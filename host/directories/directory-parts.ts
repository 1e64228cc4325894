import type { Logger } from 'pino'
import { readRowOfName } from '../../base/accounts/user-rows.ts'
import type { Users } from '../../base/accounts/users.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import type { HostDatabase } from '../database/tables.ts'
import { type AskDirectories, createAskDirectories } from './ask-directories.ts'
import { keepCheckingSessions } from './check-sessions.ts'
import { createConnections } from './connection.ts'
import { createDirectories, type Directories } from './directories.ts'
import { createDirectoryTest, type DirectoryTest } from './test-directory.ts'

export type DirectoryParts = {
  readonly directories: Directories
  readonly askDirectories: AskDirectories
  readonly testDirectory: DirectoryTest
  /** Signs out all users of a directory. */
  readonly endAccessOfDirectory: (name: string) => Promise<void>
  /**
   * Starts looking up signed-in users periodically.
   * @returns a function that stops it
   */
  readonly keepCheckingSessions: (users: Users) => () => Promise<void>
}

export type DirectoryNeeds = {
  readonly db: HostDatabase
  readonly key: PlatformKey
  readonly limits: Limits
  readonly audit: Audit
  readonly log: Logger
  readonly endAccess: (uid: string) => Promise<void>
  readonly now: () => number
}

export function createDirectoryParts({ db, key, limits, audit, log, endAccess, now }: DirectoryNeeds): DirectoryParts {
  const directories = createDirectories(db, key)
  const connections = createConnections()
  const askDirectories = createAskDirectories({ directories, connections, audit, log })
  return {
    directories,
    askDirectories,
    testDirectory: createDirectoryTest(connections, (username) => readRowOfName(db, username)),
    async endAccessOfDirectory(name) {
      const rows = await db.selectFrom('users').select('uid').where('directory', '=', name).execute()
      for (const { uid } of rows) await endAccess(uid)
    },
    keepCheckingSessions: (users) => keepCheckingSessions({ db, users, directories: askDirectories, limits, log, now }),
  }
}
