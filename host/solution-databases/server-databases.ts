import type { DatabaseServer, ServerKindName } from '../../base/database/kind.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { DatabaseGrant } from '../grants/grants.ts'
import { createServerDatabase, type ServerDatabase } from './server-database.ts'

/** The solutions' open databases on database servers. */
export interface ServerDatabases {
  /** Reuses the open database if its grant has not changed. */
  open(solution: string, name: string, grant: DatabaseGrant): Promise<ServerDatabase>
  /** Closes a database after its running queries. */
  close(solution: string, name: string): void
  closeAll(solution: string): void
  /** Closes databases that have not been used since `before`, in epoch ms. */
  closeIdle(before: number): void
  /** Closes all connections immediately; pending queries fail. */
  kill(): Promise<void>
}

export type ServerDatabasesOptions = {
  readonly servers: Readonly<Record<ServerKindName, DatabaseServer>>
  readonly limits: Limits
  /** Reports problems that the operator must fix. */
  readonly onError: (message: string, solution: string) => void
}

type OpenServer = { readonly key: string; readonly database: Promise<ServerDatabase> }

export function createServerDatabases({ servers, limits, onError }: ServerDatabasesOptions): ServerDatabases {
  /** Keyed by solution, then by name. */
  const databases = new Map<string, Map<string, OpenServer>>()

  /** A database is reused only if its key is the same. The key contains everything that affects connections. */
  async function open(solution: string, name: string, grant: DatabaseGrant): Promise<ServerDatabase> {
    const { server: kind, database } = grant
    const account = grant.username === undefined ? {} : { username: grant.username, password: grant.password ?? '' }
    const target = { ...servers[kind], ...account, database }
    const key = JSON.stringify([kind, target])
    const ofSolution = databases.get(solution) ?? new Map<string, OpenServer>()
    databases.set(solution, ofSolution)
    const known = ofSolution.get(name)
    if (known?.key === key) return known.database
    if (known !== undefined) disconnect(known)
    const tell = (message: string) => onError(message, solution)
    const opened: OpenServer = { key, database: createServerDatabase({ name, kind, target, limits, onError: tell }) }
    ofSolution.set(name, opened)
    return opened.database
  }

  function disconnect({ database }: OpenServer): Promise<void> {
    return database.then((one) => one.close()).catch(() => {})
  }

  function close(solution: string, name: string): void {
    const known = databases.get(solution)?.get(name)
    if (known === undefined) return
    databases.get(solution)?.delete(name)
    void disconnect(known)
  }

  async function closeIfIdle(solution: string, name: string, one: OpenServer, before: number): Promise<void> {
    const database = await one.database.catch(() => null)
    if (database !== null && (database.idleSince() ?? Number.POSITIVE_INFINITY) >= before) return
    if (databases.get(solution)?.get(name) === one) close(solution, name)
  }

  return {
    open,
    close,
    closeAll(solution) {
      for (const name of databases.get(solution)?.keys() ?? []) close(solution, name)
      databases.delete(solution)
    },
    closeIdle(before) {
      for (const [solution, ofSolution] of databases) {
        for (const [name, one] of ofSolution) void closeIfIdle(solution, name, one, before)
        if (ofSolution.size === 0) databases.delete(solution)
      }
    },
    async kill() {
      const open = [...databases.values()].flatMap((ofSolution) => [...ofSolution.values()])
      await Promise.all(open.map(async ({ database }) => (await database.catch(() => null))?.kill()))
    },
  }
}
