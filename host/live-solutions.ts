import type { Users } from '../base/accounts/users.ts'
import { permissionsOf } from '../base/bundles/prepared-solution.ts'
import type { Clients } from './clients/clients.ts'
import { type SignInMode, signInModeOf } from './login/sign-in-mode.ts'
import type { Catalog } from './solutions/catalog.ts'
import type { LogLine, SolutionLog } from './solutions/solution-log.ts'
import type { SolutionStore } from './solutions/solution-store.ts'
import type { Uploaded, Uploads } from './solutions/upload.ts'

/** What somebody who works on a solution asks of the host: each save is a version, in which open clients go on. */
export interface LiveSolutions {
  /** As `Uploads.upload`; older versions are removed. @returns once open clients have gone on */
  update(packed: Uint8Array, name: string): Promise<LiveUpdate>
  /** The solution has another name now. @throws ERR_SOLUTION_NOT_FOUND */
  remove(name: string): Promise<void>
  /** Calls `listener` for each new line of its log. @returns the function that ends it */
  follow(name: string, listener: (line: LogLine) => void): () => void
  /** Makes a user of the default users table who may do everything in the solution, or gives him what he lacks. */
  keepUser(username: string, password: string, solution: string): Promise<void>
  /** Whether this is still the user's password. */
  isPassword(username: string, password: string): Promise<boolean>
}

export type LiveUpdate = Uploaded & {
  /** How many open clients went on. */
  readonly clients: number
  readonly mode: SignInMode
}

export type LiveSolutionsParts = {
  readonly uploads: Uploads
  readonly catalog: Catalog
  readonly store: SolutionStore
  readonly clients: Clients
  readonly solutionLog: SolutionLog
  readonly users: Users
}

/** Chosen here: enough to go back a few steps with the admin API; each holds its whole bundle. */
const KEPT_VERSIONS = 5
/** Chosen here: what a user holds where the solution lists no permissions, since without any nobody signs in. */
const ANY_PERMISSION = 'Users'

export function createLiveSolutions(parts: LiveSolutionsParts): LiveSolutions {
  const { uploads, catalog, store, clients, solutionLog, users } = parts

  async function permissionsIn(solution: string): Promise<readonly string[]> {
    return permissionsOf(await catalog.need(solution)) ?? [ANY_PERMISSION]
  }

  async function removeOldVersions(name: string): Promise<void> {
    const versions = await store.versions(name)
    for (const { sha256 } of versions.slice(0, -KEPT_VERSIONS)) await store.removeVersion(name, sha256)
  }

  async function modeOf(name: string): Promise<SignInMode> {
    return signInModeOf(await catalog.need(name))
  }

  return {
    async update(packed, name) {
      const uploaded = await uploads.upload(packed, name)
      const renewed = await clients.renew(name)
      await removeOldVersions(name)
      return { ...uploaded, clients: renewed, mode: await modeOf(name) }
    },
    remove: (name) => uploads.remove(name),
    follow: (name, listener) => solutionLog.follow(name, listener),
    async keepUser(username, password, solution) {
      const permissions = (await permissionsIn(solution)).map((name) => ({ name, solution }))
      const found = await users.find(username)
      if (found === null) {
        await users.create({ username, password, permissions, mustChangePassword: false })
        return
      }
      const held = new Set(await users.permissionsFor(found.uid, solution))
      for (const one of permissions) if (!held.has(one.name)) await users.addPermission(found.uid, one)
    },
    async isPassword(username, password) {
      const found = await users.find(username)
      return found !== null && (await users.checkPassword(found.uid, password))
    },
  }
}
