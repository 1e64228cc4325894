import type { Logger } from 'pino'
import { createSupervisor, type Supervisor } from '../runtime/supervisor.ts'
import { type MadePassword, openAdminAccount } from './admin/account.ts'
import { createApiTokens } from './admin/api-tokens.ts'
import { requireAdmin } from './admin/authentication.ts'
import { createAdminCredentials } from './admin/credentials.ts'
import { createPageSessions } from './admin/page-sessions.ts'
import { healthInWords } from './admin/pages/health-in-words.ts'
import { createPreviewTickets } from './admin/preview-tickets.ts'
import type { HostParts } from './app.ts'
import { createAudit } from './audit/audit.ts'
import { holdHome } from './backup/home-lock.ts'
import { liveStyleHref } from './clients/client-page.ts'
import { createClients } from './clients/clients.ts'
import { createClientSignIns } from './clients/sign-in-token.ts'
import { createCloudLogin } from './cloud/login/cloud-login.ts'
import { createCloudRequests } from './cloud/managed/cloud-requests.ts'
import { createKeptStates } from './cloud/managed/kept-state.ts'
import { createManaged } from './cloud/managed/managed.ts'
import { createManagedSettings } from './cloud/managed/managed-settings.ts'
import { openPlatformKey } from './config/platform-key.ts'
import type { Settings } from './config/settings.ts'
import { keepSweeping } from './database/keep-sweeping.ts'
import { openDatabase } from './database/open.ts'
import { type Debugger, startDebugger } from './debugger/debugger.ts'
import type { DebugNode } from './debugger/find-debug-node.ts'
import { createDebugTargets } from './debugger/targets.ts'
import { createGrants } from './grants/grants.ts'
import { createDraining } from './http/draining.ts'
import { createSites } from './http/sites.ts'
import { createAccountSources } from './login/account-sources.ts'
import { createAuthenticatorQuestion } from './login/ask-authenticator.ts'
import { createChangePasswordPages } from './login/change-password.ts'
import { createFormTokens } from './login/form-token.ts'
import { createKnownBrowsers } from './login/known-browser.ts'
import { createLoginTokens } from './login/login-token.ts'
import { createSignOutTargets } from './login/sign-out-target.ts'
import { createThrottle } from './login/throttle.ts'
import { createMaintenance } from './maintenance/maintenance.ts'
import { createOAuth } from './oauth/oauth.ts'
import { createHttpForScripts } from './outbound/http-for-scripts.ts'
import { createOutbound } from './outbound/outbound.ts'
import { builtInPlugins, checkGuests, operatorPlugins, usableTrusted } from './plugins.ts'
import { createSecrets } from './secrets/secrets.ts'
import { type Addresses, createServers } from './servers.ts'
import { createRemembered } from './sessions/remembered.ts'
import { createSessions } from './sessions/sessions.ts'
import { createSolutionDatabases } from './solution-databases/solution-databases.ts'
import { addBakedIn } from './solutions/baked-in.ts'
import { createCatalog, solutionOfKey } from './solutions/catalog.ts'
import { eraseSolutionData } from './solutions/erase-solution.ts'
import { addExamplesOnce } from './solutions/first-examples.ts'
import { createGuestBindings } from './solutions/guest-bindings.ts'
import { createLiveSolutions, type LiveSolutions } from './solutions/live-solutions.ts'
import { createEntryRunner } from './solutions/run-entry.ts'
import { createSandboxSolutionMaker } from './solutions/sandbox-solution.ts'
import { createRefusalNote } from './solutions/script-refusals.ts'
import { createSolutionLog } from './solutions/solution-log.ts'
import { createSolutionStore } from './solutions/solution-store.ts'
import { createUploads } from './solutions/upload.ts'
import { createFigures } from './telemetry/figures.ts'
import { createHealth } from './telemetry/health-report.ts'
import { keepLooking } from './telemetry/look-at-processes.ts'
import { sayMemory } from './telemetry/say-memory.ts'
import { createTelemetry } from './telemetry/telemetry.ts'
import {
  observeProcesses,
  watchAudit,
  watchBindings,
  watchCalls,
  watchFigures,
  watchProviders,
  watchQueries,
  watchSessions,
  watchThrottle,
} from './telemetry/watch.ts'
import { createTesting } from './testing/testing.ts'
import { publicNames } from './tls/expiry.ts'
import { watchCertificate } from './tls/watch-certificate.ts'
import { createPasswords } from './users/passwords.ts'
import { createUsers } from './users/users.ts'
import { createUsersCsv } from './users/users-csv.ts'
import { createUsersForScripts } from './users/users-for-scripts.ts'

export type HostOptions = {
  readonly settings: Settings
  readonly log: Logger
  readonly version: string
  /** Whether somebody reads the output: then the made password is given back, else it goes into a file. */
  readonly terminal: boolean
  /**
   * Open clients go on in the next version of their solution by themselves, and pages of errors ask again: for somebody
   * who works on it (`solhost dev`). There are no examples then, and no plugins of an operator: PLATFORM_HOME lies in the
   * solution's folder, which may be a stranger's, and plugins run with all rights of the host.
   */
  readonly isLive?: boolean
  /**
   * Opens a debugger for scripts on a port of 127.0.0.1 (0: a free one); absent: there is none. Whoever reaches it may run
   * any code in the sandbox processes, so it is asked for by a command and never by an environment property or a bundle.
   */
  readonly inspect?: { readonly port: number; readonly node: DebugNode } | undefined
}

/** A running host. */
export type Host = Addresses & {
  /** Where browsers find it: `PUBLIC_URL`, else `url`. */
  readonly publicUrl: string
  readonly madePassword: MadePassword | null
  /** Whether the solutions share one origin. */
  readonly sharedOrigin: boolean
  /** The supervisor's processes, for health and tests. */
  readonly processes: Supervisor['processes']
  readonly addressOf: (solution: string) => string
  readonly solutionNames: () => Promise<readonly string[]>
  /** What a live host does besides, see `HostOptions`; null: it is none. */
  readonly live: LiveSolutions | null
  /** Null unless it was asked for, see `HostOptions`. */
  readonly debugger: Pick<Debugger, 'address' | 'links'> | null
  /**
   * Goes on for `DRAIN_TIME` without being ready, see `Draining`; then takes no new work, lets running requests end, and
   * kills the sandbox processes, within 4 s. Called again while it drains: does not wait any longer.
   */
  readonly stop: () => Promise<void>
}

/** Starts everything, in the order in which the parts need one another; a start that fails ends what it had started. */
export async function startHost(options: HostOptions): Promise<Host> {
  const { settings, version, terminal, isLive = false, inspect } = options
  await using started = new AsyncDisposableStack()
  const telemetry = createTelemetry({
    settings: settings.telemetry,
    environment: settings.environment,
    version,
    home: settings.home,
    bound: settings.limits.TELEMETRY_QUEUE,
    log: options.log,
  })
  const log = telemetry.records.tapPlatform(options.log)
  const { limits, home } = settings
  const names = publicNames(settings)
  const certificate = settings.certificate && watchCertificate(settings.certificate, { log, names })
  if (certificate !== null) started.defer(() => certificate.stop())
  const homeLock = holdHome(home)
  started.defer(() => homeLock.release())
  started.defer(() => telemetry.stop())
  // While the rest starts; nothing is loaded unless something is told.
  const telling = telemetry.start()
  telling.catch(() => {})
  const db = await openDatabase(settings, watchQueries(telemetry))
  started.defer(() => db.destroy())
  const key = await openPlatformKey(db, home, settings.platformKey)
  const { adminName: name, adminPassword: password } = settings
  const { account, made } = await openAdminAccount(db, { name, password, home, terminal })

  const testing = createTesting(settings.isTesting)
  const store = createSolutionStore(db, limits)
  const solutionLog = telemetry.records.tapSolutions(createSolutionLog(db, limits))
  started.defer(() => solutionLog.flush())
  const audit = watchAudit(createAudit(db, limits), telemetry)
  started.defer(() => audit.flush())
  const sessions = watchSessions(createSessions(db, limits, testing.now), telemetry)
  const tokens = createApiTokens(db, testing.now)
  const grants = createGrants(db, key)
  const loginTokens = createLoginTokens(db, key, limits, testing.now)
  const remembered = createRemembered(db, limits, testing.now)
  async function endAccess(uid: string): Promise<void> {
    await Promise.all([sessions.endOfUser('users', uid), remembered.endOfUser('users', uid)])
  }
  const passwords = await createPasswords()
  const users = createUsers(db, passwords, limits, { endAccess, eraseFromAudit: audit.eraseUser })
  started.defer(() => users.flush())
  const isShared = settings.database.kind !== 'embedded'
  const throttle = watchThrottle(createThrottle(db, limits, isShared, testing.throttles), telemetry)

  const outbound = createOutbound({ allowedPrivate: settings.httpAllowedHosts, setting: 'HTTP_ALLOWED_HOSTS' })
  const platformDatabase = { server: settings.database.kind, database: settings.database.name }
  const noteRefusal = createRefusalNote(audit, solutionLog)
  const solutionDatabases = createSolutionDatabases({
    grants,
    servers: settings.databaseServers,
    platform: platformDatabase,
    home,
    timeZone: settings.timeZone,
    limits,
    onError: (message, solution) => log.error({ solution }, message),
    onRefused: noteRefusal,
  })
  started.defer(() => solutionDatabases.stop())
  const builtIn = builtInPlugins(settings.environment, limits, {
    database: solutionDatabases,
    users: createUsersForScripts({ users, grants, throttle, audit, noteRefusal }),
    http: createHttpForScripts({ outbound, grants, noteRefusal }),
  })
  const taken = [...builtIn.map((plugin) => plugin.name), ...OTHER_GLOBALS]
  const plugins = [...builtIn, ...(isLive ? [] : await operatorPlugins(home, taken))]

  const { timeZone, memory } = settings
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = usableTrusted(plugins, makeSandboxSolution, limits)
  const supervisor = createSupervisor({
    limits,
    trusted,
    timeZone,
    memory,
    debugNode: inspect?.node.node,
    keepsCheckReady: isLive,
    killed: (reason) => telemetry.metrics.add('kills', { reason }),
  })
  started.defer(() => supervisor.stop())
  sayMemory(supervisor.memory(), log)
  if (plugins.length > builtIn.length) await checkGuests(plugins, supervisor, trusted)

  const catalog = createCatalog(store, { retire: retireVersion }, makeSandboxSolution)

  function retireVersion(key: string): void {
    supervisor.retire(key)
    solutionDatabases.retire(solutionOfKey(key))
  }

  const uploads = createUploads({ store, catalog, supervisor, makeSandboxSolution, limits })
  const bindings = watchBindings(createGuestBindings({ plugins, limits, onPluginError }), telemetry)
  const figures = watchFigures(createFigures(), telemetry)
  observeProcesses(supervisor, telemetry)
  started.defer(keepLooking(figures, supervisor))
  const runEntry = createEntryRunner({
    supervisor: watchCalls(supervisor, telemetry),
    bindings,
    log: solutionLog,
    called: figures.called,
  })

  function onPluginError(error: unknown, binding: string, correlationId: string): void {
    log.error({ binding, correlationId, err: error }, 'a plugin could not answer a request')
  }

  const draining = createDraining(settings.drainTime)
  const servers = createServers(settings, certificate)
  const sites = createSites(settings, servers.pagesPort)
  const formTokens = createFormTokens(key)
  const secrets = createSecrets(db, key)
  const maintenance = createMaintenance(db)
  const askAuthenticator = createAuthenticatorQuestion(runEntry)
  const keptStates = createKeptStates(db)
  const isManaged = settings.cloud !== null
  const managedSettings = createManagedSettings(isManaged ? keptStates : null, settings.defaultSolution)
  const oauth = createOAuth({
    db,
    key,
    limits,
    log,
    outbound: watchProviders(
      createOutbound({ allowedPrivate: settings.oauthAllowedHosts, setting: 'OAUTH_ALLOWED_HOSTS' }),
      telemetry,
    ),
    allowedHosts: settings.oauthAllowedHosts,
    secrets,
    runEntry,
    askAuthenticator,
    sites,
    sessions,
    remembered,
    formTokens,
    solutionLog,
    audit,
    maintenance,
    ofCloud: managedSettings.oauthOf,
  })
  started.defer(() => oauth.providerLogout.settled())
  const { cloud } = settings
  const cloudLogin = cloud && createCloudLogin({ cloud, db, supervisor, limits, log, solutionLog, now: testing.now })
  started.defer(async () => cloudLogin?.stop())
  const signOutTargets = createSignOutTargets(key, testing.now)
  const clientSignIns = createClientSignIns(db, key, testing.now)
  const clients = createClients({
    limits,
    isTesting: settings.isTesting,
    supervisor,
    bindings,
    catalog,
    sites,
    sessions,
    throttle,
    clientSignIns,
    signOutTargets,
    log: solutionLog,
    audit,
    called: figures.called,
    live: isLive ? { styleHref: (solution) => liveStyleHref(solution, store) } : undefined,
    onError: (error, of) => log.error({ ...of, err: error }, 'something of a client went wrong'),
  })
  const credentials = createAdminCredentials({ account, audit, limits })
  const pageSessions = createPageSessions(db, key, account, limits, testing.now)
  const ownLogLevel = log.level as Settings['logLevel']
  const managed =
    settings.cloud &&
    createManaged({
      cloud: settings.cloud,
      ask: createCloudRequests(settings.cloud),
      kept: keptStates,
      db,
      store,
      uploads,
      audit,
      limits,
      setLogLevel(level) {
        for (const one of [log, options.log]) one.level = level ?? ownLogLevel
      },
      health: async () => {
        const report = await health({ range: 'recent', hours: 1 })
        return healthInWords(report, report.database.ok && (await maintenance.isOn()))
      },
      version,
      log,
    })
  const health = createHealth({
    figures,
    supervisor,
    store,
    audit,
    db,
    kind: settings.database.kind,
    certificate: certificate?.state ?? null,
    telemetry,
    version,
    cloudLoginProblems: cloudLogin?.problems,
    cloud: managed?.state,
  })
  const parts: HostParts = {
    settings,
    log,
    version,
    sites,
    requireAdmin: requireAdmin({ credentials, tokens }),
    credentials,
    pageSessions,
    previewTickets: createPreviewTickets(key, testing.now),
    tokens,
    grants,
    secrets,
    oauth,
    managedSettings,
    oauthSettings: oauth.settings,
    testOAuthSettings: oauth.testSettings,
    providerRequests: oauth.requests,
    loginTokens,
    clients,
    testing,
    clientSignIns,
    signOutTargets,
    maintenance,
    platformDatabase,
    catalog,
    store,
    uploads,
    sessions,
    solutionLog,
    audit,
    remembered,
    users,
    usersCsv: createUsersCsv({ db, users, passwords, limits, endAccess }),
    throttle,
    formTokens,
    knownBrowsers: createKnownBrowsers(key, limits, testing.now),
    accountSources: createAccountSources(users, askAuthenticator, oauth.providerSource, cloudLogin?.source ?? null),
    cloudLogin,
    changePassword: createChangePasswordPages({ limits, sites, formTokens, key, users, throttle, audit }),
    supervisor,
    health,
    telemetry,
    draining,
    isLive,
  }
  if (!isLive) await addExamplesOnce(db, settings, uploads, log)
  if (!isLive) await addBakedIn({ folder: settings.solutionsFolder, store, uploads, limits, log })

  started.defer(() => servers.close())
  await telling
  await managed?.start()
  started.defer(async () => managed?.stop())
  const addresses = await servers.open(parts)
  // At once: the servers wait for all connections, those of clients included.
  started.defer(async () => void (await Promise.all([servers.close(), clients.stop()])))
  const scriptDebugger = await openDebugger()
  if (scriptDebugger !== null) started.defer(() => scriptDebugger.stop())

  async function openDebugger(): Promise<Debugger | null> {
    if (inspect === undefined || supervisor.debug === null) return null
    const targets = createDebugTargets(catalog, store)
    return startDebugger({ targets, attach: supervisor.debug, nodeVersion: inspect.node.version }, inspect.port)
  }

  const swept = [sessions, pageSessions, remembered, solutionLog, audit, tokens, loginTokens, throttle, oauth]
  started.defer(keepSweeping([...swept, { sweep: eraseDeleted }], log))

  async function eraseDeleted(): Promise<void> {
    for (const deleted of await store.sweep()) {
      await solutionLog.erase(deleted)
      await solutionDatabases.erase(deleted)
      await eraseSolutionData(db, deleted)
    }
  }

  const host = addresses.url.replace(/^https?:\/\//, '')
  const client = { address: '127.0.0.1', protocol: certificate === null ? 'http' : 'https', host } as const
  const madePassword = made === null ? null : await made.keep()
  const everything = started.move()
  let stopped: Promise<void> | null = null

  async function drainAndEnd(): Promise<void> {
    log.info({ drainTime: settings.drainTime }, 'the host stops')
    await draining.drain((within) => clients.moveAll(within))
    await everything.disposeAsync()
  }

  return {
    ...addresses,
    publicUrl: settings.publicUrl?.origin ?? addresses.url,
    madePassword,
    sharedOrigin: sites.shared,
    processes: supervisor.processes,
    addressOf: (solution) => `${sites.originOf(solution, client)}/solution/${solution}/`,
    solutionNames: async () => (await store.list()).filter(({ listed }) => listed).map((solution) => solution.name),
    live: isLive ? createLiveSolutions({ uploads, catalog, store, clients, solutionLog, users }) : null,
    debugger: scriptDebugger,
    stop() {
      if (stopped !== null) draining.hurry()
      stopped ??= drainAndEnd()
      return stopped
    },
  }
}

/** Globals that the platform itself defines beside the plugins' names. */
const OTHER_GLOBALS = ['console', 'plugins', 'EventType', 'EVENTS_AGGREGATION_TYPE']
