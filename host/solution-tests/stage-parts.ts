import { createFactors } from '../../base/accounts/factors.ts'
import { createPasswords } from '../../base/accounts/passwords.ts'
import { createRemembered } from '../../base/accounts/remembered.ts'
import { createSessions } from '../../base/accounts/sessions.ts'
import { createThrottle } from '../../base/accounts/throttle.ts'
import { createUsers } from '../../base/accounts/users.ts'
import { type ActiveSolution, solutionOfKey } from '../../base/bundles/active-solution.ts'
import { builtInPlugins, usableTrusted } from '../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { openPlatformKey } from '../../base/config/platform-key.ts'
import { createSites } from '../../base/http/sites.ts'
import type { DatabasePorts } from '../../plugins/database/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { ScriptError } from '../../runtime/plugin.ts'
import type { Supervisor, SupervisorOptions } from '../../runtime/supervisor.ts'
import { createAudit } from '../access/audit.ts'
import { createLateSignOuts } from '../clients/late-sign-outs.ts'
import { readSettings } from '../config/settings.ts'
import { openHostDatabase } from '../database/open.ts'
import { platformPlaceOf, requestsOf } from '../grants/grant-warnings.ts'
import { createGrants } from '../grants/grants.ts'
import { createPasskeyPlaces } from '../login/passkey-places.ts'
import { createClientSignIns } from '../login/sign-in-token.ts'
import { createSignOutTargets } from '../login/sign-out-target.ts'
import { createHashesForScripts } from '../password-hashes/hashes-for-scripts.ts'
import { createPresses } from '../second-step/presses.ts'
import { createSolutionDatabases } from '../solution-databases/solution-databases.ts'
import { createCatalog } from '../solutions/catalog.ts'
import { createGuestBindings } from '../solutions/guest-bindings.ts'
import { createRefusalNote } from '../solutions/script-refusals.ts'
import { createSolutionLog } from '../solutions/solution-log.ts'
import { createSolutionStore } from '../solutions/solution-store.ts'
import { createUploads } from '../solutions/upload.ts'
import { createUsersForScripts } from '../users/users-for-scripts.ts'
import { withCallScript } from './call-script.ts'
import { createHttpAnswers, type HttpAdvice } from './http-answers.ts'
import type { OpenClientParts } from './open-client.ts'
import { createQueuedRuns } from './queued-runs.ts'
import { endsWithProcess } from './with-process.ts'

/** The folder and functions that the caller of a stage provides. */
export type StagePlace = {
  /** An empty folder, which the stage uses as PLATFORM_HOME. The caller removes it when the stage has stopped. */
  readonly folder: string
  readonly limits: Limits
  /** Creates the stage's supervisor. The stage stops it. */
  readonly createSupervisor: (options: Pick<SupervisorOptions, 'limits' | 'trusted' | 'timeZone'>) => Supervisor
  /**
   * Returns the error for a query to a database on a server. Default: the error for a database that was not granted.
   */
  readonly noServer?: (database: string) => ScriptError
  /**
   * Returns the advice on how to declare a response to `plugins.http.fetch`. Default: the advice for authors of tests.
   */
  readonly adviseHttp?: HttpAdvice
}

/**
 * Creates the host parts that a stage needs, and loads the solution into them.
 * @param started collects the functions that stop the parts
 * @throws ERR_BUNDLE_REFUSED with every error in `details.faults`
 */
export async function createStageParts(
  packed: Uint8Array,
  name: string,
  place: StagePlace,
  started: AsyncDisposableStack,
) {
  const { limits } = place
  const accounts = await openAccounts(place, started)
  const { settings, db, key, log, audit, sessions, grants, passwords, users, throttle } = accounts
  const noteRefusal = createRefusalNote(audit, log)
  /** Internal errors. They are added to the test's error, which would otherwise only say that something failed. */
  const problems: string[] = []
  const databases = createSolutionDatabases({
    grants,
    servers: settings.databaseServers,
    platform: platformPlaceOf(settings),
    home: place.folder,
    timeZone: settings.timeZone,
    limits,
    onError: (message) => problems.push(message),
    onRefused: noteRefusal,
  })
  started.defer(endsWithProcess(() => databases.stop()))
  const http = createHttpAnswers(place.adviseHttp)
  const plugins = builtInPlugins(settings.environment, limits, {
    database: place.noServer === undefined ? databases : withoutServers(databases, place.noServer),
    users: createUsersForScripts({ users, grants, throttle, audit, noteRefusal }),
    passwordHashes: createHashesForScripts({ passwords, throttle, noteRefusal }),
    http: http.ports,
  })
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = usableTrusted(plugins, makeSandboxSolution, limits)
  const supervisor = place.createSupervisor({ limits, trusted, timeZone: settings.timeZone })
  started.defer(endsWithProcess(() => supervisor.stop()))
  const store = createSolutionStore(db, limits)
  const retire = (version: string) => {
    supervisor.retire(version)
    databases.retire(solutionOfKey(version))
  }
  const catalog = createCatalog(store, { retire }, makeSandboxSolution)
  await createUploads({ store, catalog, supervisor, makeSandboxSolution, limits }).upload(packed, name)

  const found = await catalog.need(name)
  const { loadable } = found
  const solution: ActiveSolution = {
    ...found,
    loadable: { ...loadable, solution: () => withCallScript(loadable.solution()) },
  }
  const sites = createSites(settings, () => settings.port)
  const bindings = createGuestBindings({
    plugins,
    limits,
    onPluginError: (error, binding) => problems.push(`${binding}: ${error instanceof Error ? error.message : error}`),
  })
  const onError = (error: unknown) => void problems.push(error instanceof Error ? error.message : String(error))
  const lateSignOuts = createLateSignOuts(onError)
  started.defer(() => lateSignOuts.endAll())
  const passkeyRequests = { places: createPasskeyPlaces(settings, sites) }
  const queuedRuns = createQueuedRuns()
  const ofClients: OpenClientParts = {
    storeRuns: queuedRuns.store,
    limits,
    isTesting: false,
    supervisor,
    bindings,
    catalog: { ...catalog, active: async () => solution },
    sites,
    sessions,
    throttle,
    clientSignIns: createClientSignIns(db, key),
    presses: createPresses({ factors: createFactors(db, limits), passkeyRequests, limits, key, now: Date.now }),
    signOutTargets: createSignOutTargets(key),
    log,
    lateSignOuts,
    onError,
  }
  return { solution, ofClients, problems, sessions, users, grants, databases, http, queuedRuns }
}

/** Rejects queries to databases on servers: only embedded databases are available. */
function withoutServers(databases: DatabasePorts, noServer: NonNullable<StagePlace['noServer']>): DatabasePorts {
  return {
    ...databases,
    async query(call, name, sql, parameters) {
      const { manifest, modules } = call.solution
      const wanted = requestsOf([...modules.map((module) => module.manifest), manifest]).databases
      const isOnServer = Object.hasOwn(wanted, name) && wanted[name]?.server !== 'embedded'
      if (isOnServer) throw noServer(name)
      return databases.query(call, name, sql, parameters)
    },
  }
}

/** Creates the database, and the parts of a host that store users, sessions, grants and logs in it. */
async function openAccounts({ folder: home, limits }: StagePlace, started: AsyncDisposableStack) {
  const settings = readSettings({ PLATFORM_HOME: home })
  const db = await openHostDatabase(settings)
  started.defer(() => db.destroy())
  const key = await openPlatformKey(db, home, '')
  const log = createSolutionLog(db, limits)
  started.defer(() => log.flush())
  const audit = createAudit(db, limits)
  started.defer(() => audit.flush())
  const sessions = createSessions(db, limits)
  const remembered = createRemembered(db, key, limits)
  const grants = createGrants(db, key)
  const passwords = createPasswords()
  const users = createUsers(db, passwords, limits, {
    endAccess: async (uid) =>
      void (await Promise.all([sessions.endOfUser('users', uid), remembered.endOfUser('users', uid)])),
    eraseFromAudit: audit.eraseUser,
  })
  started.defer(() => users.flush())
  // Tests are not throttled.
  const throttle = createThrottle(db, limits, false, () => false)
  return { settings, db, key, log, audit, sessions, grants, passwords, users, throttle }
}
