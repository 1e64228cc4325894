import type { Logger } from 'pino'
import type { Passwords } from '../base/accounts/passwords.ts'
import type { Throttle } from '../base/accounts/throttle.ts'
import type { Users } from '../base/accounts/users.ts'
import { solutionOfKey } from '../base/bundles/active-solution.ts'
import { builtInPlugins, checkGuests, operatorPlugins, usableTrusted } from '../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../base/bundles/sandbox-solution.ts'
import { createNews } from '../base/work/news.ts'
import type { createSupervisor, Supervisor } from '../runtime/supervisor.ts'
import type { Audit } from './access/audit.ts'
import type { Settings } from './config/settings.ts'
import type { DebugNode } from './debugger/find-debug-node.ts'
import type { GrantStore } from './grants/grants.ts'
import { createHttpForScripts } from './outbound/http-for-scripts.ts'
import { createOutbound } from './outbound/outbound.ts'
import { createHashesForScripts } from './password-hashes/hashes-for-scripts.ts'
import {
  createSolutionDatabases,
  type SolutionDatabases,
  type SolutionDatabasesOptions,
} from './solution-databases/solution-databases.ts'
import { type Catalog, createCatalog } from './solutions/catalog.ts'
import { createGuestBindings, type GuestBindings } from './solutions/guest-bindings.ts'
import { createEntryRunner, type EntryRunner } from './solutions/run-entry.ts'
import { createRefusalNote } from './solutions/script-refusals.ts'
import type { SolutionLog } from './solutions/solution-log.ts'
import type { SolutionStore } from './solutions/solution-store.ts'
import type { StoreQueuedRuns } from './solutions/store-queued-runs.ts'
import { createUploads, type UploadParts, type Uploads } from './solutions/upload.ts'
import { createFigures, type Figures } from './telemetry/figures.ts'
import { keepLooking } from './telemetry/look-at-processes.ts'
import { sayMemory } from './telemetry/say-memory.ts'
import type { Telemetry } from './telemetry/telemetry.ts'
import { observeProcesses, watchBindings, watchCalls, watchFigures } from './telemetry/watch.ts'
import { createUsersForScripts } from './users/users-for-scripts.ts'

/** The parts that run solutions: sandbox processes, plugins for scripts, and the available versions. */
export type SolutionParts = {
  readonly catalog: Catalog
  readonly uploads: Uploads
  readonly supervisor: Supervisor
  readonly bindings: GuestBindings
  readonly runEntry: EntryRunner
  readonly figures: Figures
  readonly solutionDatabases: SolutionDatabases
}

export type SolutionNeeds = {
  readonly settings: Settings
  /** `isLive` and `inspect`: see `HostOptions`. */
  readonly isLive: boolean
  readonly inspect: { readonly node: DebugNode } | undefined
  readonly createSupervisor: typeof createSupervisor
  readonly log: Logger
  readonly telemetry: Telemetry
  readonly store: SolutionStore
  readonly solutionLog: SolutionLog
  readonly audit: Audit
  readonly grants: GrantStore
  readonly users: Users
  readonly passwords: Passwords
  readonly throttle: Throttle
  readonly platformDatabase: SolutionDatabasesOptions['platform']
  readonly storeRuns: StoreQueuedRuns
  readonly takesPasskeys: NonNullable<UploadParts['takesPasskeys']>
}

/** @param started collects the cleanup of the started parts, in case a later part fails to start */
export async function createSolutionParts(
  {
    settings,
    isLive,
    inspect,
    createSupervisor,
    log,
    telemetry,
    store,
    solutionLog,
    audit,
    grants,
    users,
    passwords,
    throttle,
    platformDatabase,
    storeRuns,
    takesPasskeys,
  }: SolutionNeeds,
  started: AsyncDisposableStack,
): Promise<SolutionParts> {
  const { limits, home, timeZone, memory } = settings
  const outbound = createOutbound({ allowedPrivate: settings.httpAllowedHosts, setting: 'HTTP_ALLOWED_HOSTS' })
  const noteRefusal = createRefusalNote(audit, solutionLog)
  const solutionDatabases = createSolutionDatabases({
    grants,
    servers: settings.databaseServers,
    platform: platformDatabase,
    home,
    timeZone,
    limits,
    onError: (message, solution) => log.error({ solution }, message),
    onRefused: noteRefusal,
  })
  started.defer(() => solutionDatabases.stop())
  const builtIn = builtInPlugins(settings.environment, limits, {
    database: solutionDatabases,
    users: createUsersForScripts({ users, grants, throttle, audit, noteRefusal }),
    passwordHashes: createHashesForScripts({ passwords, throttle, noteRefusal }),
    http: createHttpForScripts({ outbound, grants, noteRefusal }),
  })
  const taken = [...builtIn.map((plugin) => plugin.name), ...OTHER_GLOBALS]
  const plugins = [...builtIn, ...(isLive ? [] : await operatorPlugins(home, taken))]

  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = usableTrusted(plugins, makeSandboxSolution, limits)
  const isNews = createNews()
  const supervisor = createSupervisor({
    limits,
    trusted,
    timeZone,
    memory,
    debugNode: inspect?.node.node,
    keepsCheckReady: isLive,
    killed: (reason) => telemetry.metrics.add('kills', { reason }),
    notStarted: (reason) => {
      if (isNews(reason)) log.error({ reason }, 'a sandbox process could not be started')
    },
  })
  started.defer(() => supervisor.stop())
  sayMemory(supervisor.memory(), log)
  if (plugins.length > builtIn.length) await checkGuests(plugins, supervisor, trusted)

  function retireVersion(key: string): void {
    supervisor.retire(key)
    solutionDatabases.retire(solutionOfKey(key))
  }

  function onPluginError(error: unknown, binding: string, correlationId: string): void {
    log.error({ binding, correlationId, err: error }, 'a plugin’s function failed with an unexpected error')
  }

  const catalog = createCatalog(store, { retire: retireVersion }, makeSandboxSolution)
  const uploads = createUploads({
    store,
    catalog,
    supervisor,
    makeSandboxSolution,
    limits,
    takesPasskeys,
    mayHaveSeveralHosts: settings.database.kind !== 'embedded',
  })
  const bindings = watchBindings(createGuestBindings({ plugins, limits, onPluginError }), telemetry)
  const figures = watchFigures(createFigures(), telemetry)
  observeProcesses(supervisor, telemetry)
  started.defer(keepLooking(figures, supervisor))
  const runEntry = createEntryRunner({
    supervisor: watchCalls(supervisor, telemetry),
    bindings,
    log: solutionLog,
    storeRuns,
    called: figures.called,
  })
  return { catalog, uploads, supervisor, bindings, runEntry, figures, solutionDatabases }
}

/** Globals that the platform defines in addition to the plugins' names. */
const OTHER_GLOBALS = ['console', 'plugins', 'EventType', 'EVENTS_AGGREGATION_TYPE']
