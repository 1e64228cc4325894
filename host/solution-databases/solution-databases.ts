import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { hostCall } from '../../base/bundles/host-call.ts'
import type { DatabaseServer, ServerKindName } from '../../base/database/kind.ts'
import { repeat } from '../../base/work/repeat.ts'
import type { DatabasePorts, Parameter, Row } from '../../plugins/database/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Call, ScriptError, type SolutionFacts } from '../../runtime/plugin.ts'
import { type PlatformPlace, refusalOf, requestsOf } from '../grants/grant-warnings.ts'
import type { DatabaseGrant } from '../grants/grants.ts'
import { createEmbeddedDatabase, type EmbeddedDatabase } from './embedded-database.ts'
import { notGranted, otherServer, tooManyWaiting, unknownName } from './query-errors.ts'
import { createServerDatabases } from './server-databases.ts'
import { checkSql, readSql, writeSql } from './sql-text.ts'

/** The databases that solutions use with `plugins.database`. */
export interface SolutionDatabases extends DatabasePorts {
  /** Closes a solution's databases after the running queries. Called when its version or grants have changed. */
  retire(solution: string): void
  /** Removes the file of a solution's embedded database. */
  erase(solution: string): Promise<void>
  /** The processes of embedded databases, for the health page and tests. */
  processes(): readonly { readonly solution: string; readonly pid: number }[]
  stop(): Promise<void>
}

export type SolutionDatabasesOptions = {
  readonly grants: {
    get(solution: string): Promise<{ readonly databases: Readonly<Record<string, DatabaseGrant>> }>
  }
  readonly servers: Readonly<Record<ServerKindName, DatabaseServer>>
  readonly platform: PlatformPlace
  readonly home: string
  readonly timeZone: string
  readonly limits: Limits
  /** Reports problems that the operator must fix. */
  readonly onError: (message: string, solution: string) => void
  /** Called when a script requests a database without a grant. */
  readonly onRefused: (call: Call, message: string) => void
  /** Current time in ms. */
  readonly now?: () => number
}

/** Time in ms after which an unused database is closed. */
const IDLE_TIME = 60_000
const SWEEP = 5_000
/**
 * Maximum concurrent processes of embedded databases, each about 45 MB. Above this number, the database that has been
 * idle longest is closed.
 */
const MOST_PROCESSES = 50

/**
 * Maximum running and waiting queries per solution, over all its databases. Further queries are rejected before they
 * are parsed.
 */
const MOST_QUERIES = 200

export function createSolutionDatabases(options: SolutionDatabasesOptions): SolutionDatabases {
  const { grants, servers, platform, home, timeZone, limits, onError, onRefused, now = Date.now } = options
  const folder = join(home, 'databases')
  const embedded = new Map<string, EmbeddedDatabase>()
  const onServers = createServerDatabases({ servers, limits, onError })
  const underWay = new Map<string, number>()
  const stopSweeping = repeat(SWEEP, sweep)

  function openEmbedded(solution: string): EmbeddedDatabase {
    const known = embedded.get(solution)
    if (known === undefined || known.pid() === null) makeRoom()
    if (known !== undefined) return known
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const file = fileOf(solution)
    const database = createEmbeddedDatabase({
      file,
      limits,
      timeZone,
      onError: (message) => onError(message, solution),
    })
    embedded.set(solution, database)
    return database
  }

  function fileOf(solution: string): string {
    return join(folder, `${solution}.sqlite`)
  }

  function makeRoom(): void {
    const running = [...embedded.values()].filter((one) => one.pid() !== null)
    if (running.length < MOST_PROCESSES) return
    const idle = running.filter((one) => one.idleSince() !== null)
    const [longest] = idle.sort((a, b) => (a.idleSince() ?? 0) - (b.idleSince() ?? 0))
    if (longest === undefined) throw new ScriptError('too many embedded databases are in use; try again later')
    longest.close()
  }

  async function grantOf(call: Call, name: string, asked: string): Promise<DatabaseGrant> {
    const solution = call.solution.name
    const { databases } = await grants.get(solution)
    const grant = Object.hasOwn(databases, name) ? databases[name] : undefined
    // Check the grant again: an earlier version of the host may have accepted it without this check.
    const danger = grant === undefined ? null : refusalOf(grant, platform)
    if (danger !== null) onError(`the grant for the database "${name}" is rejected. ${danger}`, solution)
    if (grant === undefined || danger !== null) {
      onServers.close(solution, name)
      const refusal = notGranted(name)
      onRefused(call, `plugins.database.query was rejected: ${refusal.message}`)
      throw refusal
    }
    if (grant.server !== asked) throw otherServer(name, asked, grant.server)
    return grant
  }

  function sweep(): void {
    const before = now() - IDLE_TIME
    for (const [solution, one] of embedded) {
      if ((one.idleSince() ?? Number.POSITIVE_INFINITY) >= before) continue
      // Remove the entry only after the process has exited, so that no two processes ever open the same file.
      if (one.pid() === null) embedded.delete(solution)
      else one.close()
    }
    onServers.closeIdle(before)
  }

  async function countedQuery(...args: Parameters<DatabasePorts['query']>): Promise<readonly Row[]> {
    const { name } = args[0].solution
    const count = (underWay.get(name) ?? 0) + 1
    if (count > MOST_QUERIES) throw tooManyWaiting()
    underWay.set(name, count)
    try {
      return await query(...args)
    } finally {
      const left = (underWay.get(name) ?? 1) - 1
      if (left === 0) underWay.delete(name)
      else underWay.set(name, left)
    }
  }

  async function query(call: Call, name: string, sql: string, parameters: readonly Parameter[]) {
    const { solution } = call
    const asked = askedOf(solution)
    const wanted = Object.hasOwn(asked, name) ? asked[name] : undefined
    if (wanted === undefined) throw unknownName(name, Object.keys(asked))
    const text = readSql(wanted.server, sql)
    checkSql(wanted.server, text, parameters.length)
    const written = writeSql(wanted.server, text)
    if (wanted.server === 'embedded') return openEmbedded(solution.name).query(written, parameters)
    const grant = await grantOf(call, name, wanted.server)
    const database = await onServers.open(solution.name, name, grant)
    return database.query({ sql: written, parameters, tenant: tenantOf(call) })
  }

  return {
    query: countedQuery,
    retire(solution) {
      embedded.get(solution)?.close()
      onServers.closeAll(solution)
    },
    async erase(solution) {
      await embedded.get(solution)?.kill()
      embedded.delete(solution)
      for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${fileOf(solution)}${end}`, { force: true })
    },
    processes: () =>
      [...embedded].flatMap(([solution, one]) => {
        const pid = one.pid()
        return pid === null ? [] : [{ solution, pid }]
      }),
    async stop() {
      await stopSweeping()
      await Promise.all([...[...embedded.values()].map((one) => one.kill()), onServers.kill()])
    },
  }
}

/** The databases that the solution and its modules request. For duplicate names, the solution's request wins. */
function askedOf({ manifest, modules }: SolutionFacts) {
  return requestsOf([...modules.map((module) => module.manifest), manifest]).databases
}

/** The session's tenant as JSON text. If the running call changes the tenant, the change applies from the next call. */
function tenantOf(call: Call): string | null {
  const { effects, user } = hostCall(call)
  const tenant = effects.tenant ?? user?.tenant ?? null
  return tenant === null ? null : JSON.stringify(tenant)
}
