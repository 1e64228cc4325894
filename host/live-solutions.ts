import type { Users } from '../base/accounts/users.ts'
import { permissionsOf } from '../base/bundles/prepared-solution.ts'
import type { Clients } from './clients/clients.ts'
import { type SignInMode, signInModeOf } from './login/sign-in-mode.ts'
import type { Catalog } from './solutions/catalog.ts'
import type { FirstRefusal } from './solutions/first-refusal.ts'
import type { LogLine, SolutionLog } from './solutions/solution-log.ts'
import type { SolutionStore } from './solutions/solution-store.ts'
import type { Uploaded, Uploads } from './solutions/upload.ts'
import type { DevReport } from './web/frames.ts'

/** The operations that `solhost dev` needs. Each save creates a version, and open clients switch to it. */
export interface LiveSolutions {
  /**
   * Does the same as `Uploads.upload`, and removes older versions.
   * @returns once open clients have switched to the new version
   */
  update(packed: Uint8Array, name: string): Promise<LiveUpdate>
  /**
   * Removes a solution whose name has changed.
   * @throws ERR_SOLUTION_NOT_FOUND
   */
  remove(name: string): Promise<void>
  /** Calls `listener` for each new line of the solution's log. @returns a function that unsubscribes */
  follow(name: string, listener: (line: LogLine) => void): () => void
  /** Replaces the report above the forms on the solution's pages, both open ones and those opened later. */
  report(name: string, report: DevReport): void
  /**
   * Reports that the first version of this run was rejected. If there is a version from an earlier run, its pages show
   * the report. Otherwise, the report is shown instead of the solution. Activating a version removes the report.
   */
  reportFirst(report: DevReport): Promise<void>
  /**
   * Creates a user in the users table with all of the solution's permissions. If the user exists, adds missing
   * permissions.
   */
  keepUser(username: string, password: string, solution: string): Promise<void>
  /** Checks a user's current password. */
  isPassword(username: string, password: string): Promise<boolean>
}

export type LiveUpdate = Uploaded & {
  /** Number of open clients that have switched to the new version. */
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
  readonly firstRefusal: FirstRefusal
}

/**
 * Chosen here: enough to go back a few versions with the admin API. More would use a lot of space, because each version
 * includes its whole bundle.
 */
const KEPT_VERSIONS = 5
/**
 * Chosen here: this permission is granted if the solution lists none, since users without any permission can't sign in.
 */
const ANY_PERMISSION = 'Users'

export function createLiveSolutions(parts: LiveSolutionsParts): LiveSolutions {
  const { uploads, catalog, store, clients, solutionLog, users, firstRefusal } = parts

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
      firstRefusal.set(null)
      const renewed = await clients.renew(name)
      await removeOldVersions(name)
      return { ...uploaded, clients: renewed, mode: await modeOf(name) }
    },
    remove: (name) => uploads.remove(name),
    report: (name, report) => clients.report(name, report),
    async reportFirst(report) {
      firstRefusal.set(report)
      for (const { name } of await store.list()) clients.report(name, report)
    },
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
