import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
import type { Limits } from '../../runtime/limits.ts'
import { createSupervisor } from '../../runtime/supervisor.ts'
import { createAudit } from '../access/audit.ts'
import { createLateSignOuts } from '../clients/late-sign-outs.ts'
import { readSettings } from '../config/settings.ts'
import { openHostDatabase } from '../database/open.ts'
import { platformPlaceOf } from '../grants/grant-warnings.ts'
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
import { createHttpAnswers } from './http-answers.ts'
import type { OpenClientParts } from './open-client.ts'
import { endsWithProcess } from './with-process.ts'

/**
 * Creates the host parts that a stage needs, in a temporary PLATFORM_HOME, and loads the solution into them.
 * @param started collects the functions that stop the parts
 * @throws ERR_BUNDLE_REFUSED with every error in `details.faults`
 */
export async function createStageParts(
  packed: Uint8Array,
  name: string,
  limits: Limits,
  started: AsyncDisposableStack,
) {
  const accounts = await openAccounts(limits, started)
  const { home, settings, db, key, log, audit, sessions, grants, passwords, users, throttle } = accounts
  const noteRefusal = createRefusalNote(audit, log)
  /**
   * Collects internal errors, to add them to the test's error, which would otherwise only say that something failed.
   */
  const problems: string[] = []
  const databases = createSolutionDatabases({
    grants,
    servers: settings.databaseServers,
    platform: platformPlaceOf(settings),
    home,
    timeZone: settings.timeZone,
    limits,
    onError: (message) => problems.push(message),
    onRefused: noteRefusal,
  })
  started.defer(endsWithProcess(() => databases.stop()))
  const http = createHttpAnswers()
  const plugins = builtInPlugins(settings.environment, limits, {
    database: databases,
    users: createUsersForScripts({ users, grants, throttle, audit, noteRefusal }),
    passwordHashes: createHashesForScripts({ passwords, throttle, noteRefusal }),
    http: http.ports,
  })
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = usableTrusted(plugins, makeSandboxSolution, limits)
  const supervisor = createSupervisor({ limits, trusted, timeZone: settings.timeZone, keepsSpare: false })
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
  const ofClients: OpenClientParts = {
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
  return { solution, ofClients, problems, sessions, users, grants, databases, http }
}

/** Creates the database, and the parts of a host that store users, sessions, grants and logs in it. */
async function openAccounts(limits: Limits, started: AsyncDisposableStack) {
  const home = mkdtempSync(join(tmpdir(), 'solhost-test-'))
  started.defer(endsWithProcess(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 })))
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
  const passwords = await createPasswords()
  const users = createUsers(db, passwords, limits, {
    endAccess: async (uid) =>
      void (await Promise.all([sessions.endOfUser('users', uid), remembered.endOfUser('users', uid)])),
    eraseFromAudit: audit.eraseUser,
  })
  started.defer(() => users.flush())
  // Tests are not throttled.
  const throttle = createThrottle(db, limits, false, () => false)
  return { home, settings, db, key, log, audit, sessions, grants, passwords, users, throttle }
}
