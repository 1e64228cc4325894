import { randomUUID } from 'node:crypto'
import type { DirectoryPerson, DirectoryPort, DirectoryRefusal } from '../../base/accounts/directory-users.ts'
import { LONGEST_NAME } from '../../base/accounts/user-rules.ts'
import { createNews } from '../../base/work/news.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { UNFIT } from '../../runtime/visible-name.ts'
import type { Audit } from '../access/audit.ts'
import type { Connection, Connections } from './connection.ts'
import type { Directories, Directory } from './directories.ts'
import { isDn } from './directory-settings.ts'
import { type FoundEntry, findById, findByName } from './entries.ts'
import { groupsOf, permissionsOf } from './groups.ts'

/** Why a directory user can't sign in, for the audit log. */
type Reason = DirectoryRefusal | 'several entries' | 'no id' | 'no username' | 'disabled' | 'no mapped group'

/** Looks up people in the directories, and checks their passwords. */
export interface AskDirectories extends DirectoryPort {
  /**
   * Like `lookUp`, but looks up many entries over one connection.
   * @param found called for each person; `person` is null if they may no longer sign in
   */
  lookUpAll(
    directory: string,
    ids: readonly string[],
    found: (id: string, person: DirectoryPerson | null) => Promise<void>,
  ): Promise<void>
}

export type AskDirectoriesParts = {
  readonly directories: Directories
  readonly connections: Connections
  readonly audit: Pick<Audit, 'noteOnce'>
  readonly log: { warn(about: object, message: string): void }
}

/** Maximum characters of a password. Longer ones are rejected without a request to a directory. */
const LONGEST_PASSWORD = 1000

export function createAskDirectories(parts: AskDirectoriesParts): AskDirectories {
  const { directories, connections, audit, log } = parts
  const isNews = createNews()

  /** Opens a connection and runs `work`. Logs an unreachable directory at most once a minute. */
  async function use<T>(
    directory: Directory,
    work: (connection: Connection) => Promise<T>,
    isBatch: boolean = false,
  ): Promise<T> {
    try {
      return await connections.use(directory, work, { isBatch })
    } catch (error) {
      if (error instanceof PlatformError && isNews(`${directory.name} ${error.code}`)) {
        log.warn({ directory: directory.name, code: error.code }, error.message)
      }
      throw error
    }
  }

  function note({ name }: { readonly name: string }, username: string, reason: Reason): null {
    const target = `${directoryTarget(name)} (${reason})`
    const entry = { actor: `user:${username}`, action: 'directory', target, outcome: 'refused', address: '' } as const
    // If several entries have the name, no password was checked. Anyone could have typed the name, so the actor is
    // unverified.
    audit.noteOnce(entry, reason !== 'several entries')
    return null
  }

  /** @returns null if the entry may not sign in */
  async function personOf(connection: Connection, directory: Directory, entry: FoundEntry) {
    const { id, username, displayName, email } = entry
    if (id === null) return note(directory, username ?? '', 'no id')
    if (username === null) return note(directory, '', 'no username')
    if (entry.isDisabled) return note(directory, username, 'disabled')
    const groups = await groupsOf(connection, directory, entry)
    if (groups.length === 0) return note(directory, username, 'no mapped group')
    return { directory: directory.name, id, username, displayName, email, permissions: permissionsOf(groups) }
  }

  /** @returns `unknown` if the name isn't in the directory */
  async function check(
    connection: Connection,
    directory: Directory,
    { username, password, isLast }: { readonly username: string; readonly password: string; readonly isLast: boolean },
  ): Promise<DirectoryPerson | null | 'unknown'> {
    const entries = await findByName(connection, directory, username)
    const [entry] = entries
    if (entry !== undefined && entries.length === 1 && isDn(entry.dn)) {
      return (await connection.accepts(entry.dn, password)) ? personOf(connection, directory, entry) : null
    }
    // Sign in with a random name that doesn't exist, so that an unknown name takes as long as a wrong password.
    if (entry !== undefined || isLast) await connection.accepts(`cn=${randomUUID()},${directory.base}`, password)
    return entries.length > 1 ? note(directory, username, 'several entries') : 'unknown'
  }

  return {
    async hasAny() {
      return (await directories.all()).length > 0
    },
    async authenticate(username, password, only) {
      if (!isUsable(username, password)) return null
      const asked = (await directories.all()).filter(({ name }) => only === null || name === only)
      for (const [at, directory] of asked.entries()) {
        const attempt = { username, password, isLast: at === asked.length - 1 }
        const answer = await use(directory, (connection) => check(connection, directory, attempt))
        if (answer !== 'unknown') return answer
      }
      return null
    },
    async lookUp(name, id) {
      const directory = await find(directories, name)
      if (directory === null) return null
      return use(directory, async (connection) => {
        const entry = await findById(connection, directory, id)
        return entry === null ? null : personOf(connection, directory, entry)
      })
    },
    async lookUpAll(name, ids, found) {
      const directory = await find(directories, name)
      if (directory === null) {
        for (const id of ids) await found(id, null)
        return
      }
      await use(
        directory,
        async (connection) => {
          for (const id of ids) {
            const entry = await findById(connection, directory, id)
            await found(id, entry === null ? null : await personOf(connection, directory, entry))
          }
        },
        true,
      )
    },
    noteRefusal: ({ directory, username }, reason) => void note({ name: directory }, username, reason),
  }
}

export function directoryTarget(name: string): string {
  return `directory:${name}`
}

async function find(directories: Directories, name: string): Promise<Directory | null> {
  return (await directories.all()).find((one) => one.name === name) ?? null
}

/**
 * An empty password must not reach a directory: many accept it as an anonymous sign-in for any name
 * (RFC 4513, section 5.1.2).
 */
function isUsable(username: string, password: string): boolean {
  const isName = username.trim() !== '' && username.length <= 2 * LONGEST_NAME && !UNFIT.test(username)
  return isName && password !== '' && password.length <= LONGEST_PASSWORD
}
