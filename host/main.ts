import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { createSupervisor, type Supervisor } from '../runtime/supervisor.ts'
import { type MadePassword, openAdminAccount } from './admin/account.ts'
import { createApiTokens } from './admin/api-tokens.ts'
import { requireAdmin } from './admin/authentication.ts'
import { createAdminApp, createApp, type HostParts } from './app.ts'
import { createAudit } from './audit/audit.ts'
import { openPlatformKey } from './config/platform-key.ts'
import type { Settings } from './config/settings.ts'
import { type Database, openDatabase } from './database/open.ts'
import { insertOnce } from './database/portable.ts'
import { createGrants } from './grants/grants.ts'
import { httpServer } from './http/server.ts'
import { createSites, isLoopback } from './http/sites.ts'
import { createAccountSources } from './login/account-sources.ts'
import { createAuthenticatorQuestion } from './login/ask-authenticator.ts'
import { createChangePasswordPages } from './login/change-password.ts'
import { createFormTokens } from './login/form-token.ts'
import { createKnownBrowsers } from './login/known-browser.ts'
import { createLoginTokens } from './login/login-token.ts'
import { createThrottle } from './login/throttle.ts'
import { createMaintenance } from './maintenance/maintenance.ts'
import { createOAuth } from './oauth/oauth.ts'
import { createHttpForScripts } from './outbound/http-for-scripts.ts'
import { createOutbound } from './outbound/outbound.ts'
import { builtInPlugins, checkGuests, operatorPlugins, usableTrusted } from './plugins.ts'
import { createSecrets } from './secrets/secrets.ts'
import { createRemembered } from './sessions/remembered.ts'
import { createSessions } from './sessions/sessions.ts'
import { createSolutionDatabases } from './solution-databases/solution-databases.ts'
import { createCatalog, solutionOfKey } from './solutions/catalog.ts'
import { eraseSolutionData } from './solutions/erase-solution.ts'
import { exampleFolder, exampleNames, packFolder } from './solutions/examples.ts'
import { createEntryRunner } from './solutions/run-entry.ts'
import { createSandboxSolutionMaker } from './solutions/sandbox-solution.ts'
import { createRefusalNote } from './solutions/script-refusals.ts'
import { createSolutionLog } from './solutions/solution-log.ts'
import { createSolutionStore } from './solutions/solution-store.ts'
import { createUploads, type Uploads } from './solutions/upload.ts'
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
}

/** A running host. */
export type Host = {
  /** Where it listens, without a path. */
  readonly url: string
  /** Where browsers find it: `PUBLIC_URL`, else where it listens. */
  readonly publicUrl: string
  readonly adminUrl: string
  readonly madePassword: MadePassword | null
  /** Whether the solutions share one origin. */
  readonly sharedOrigin: boolean
  /** The supervisor's processes, for health and tests. */
  readonly processes: Supervisor['processes']
  readonly addressOf: (solution: string) => string
  readonly solutionNames: () => Promise<readonly string[]>
  /** Takes no new work, lets running requests end, kills the sandbox processes. Ends within 4 s. */
  readonly stop: () => Promise<void>
}

/** Old rows are looked for this often, in ms. */
const SWEEP_EVERY = 10 * 60_000
/** Running requests get this long at a stop, in ms. */
const STOP_GRACE = 3_000

/** Starts everything, in the order in which the parts need one another; a start that fails ends what it had started. */
export async function startHost({ settings, log, version, terminal }: HostOptions): Promise<Host> {
  await using started = new AsyncDisposableStack()
  const { limits, home } = settings
  const db = await openDatabase(settings)
  started.defer(() => db.destroy())
  const key = await openPlatformKey(db, home, settings.platformKey)
  const { adminName: name, adminPassword: password } = settings
  const { account, made } = await openAdminAccount(db, { name, password, home, terminal })

  const store = createSolutionStore(db, limits)
  const solutionLog = createSolutionLog(db, limits)
  started.defer(() => solutionLog.flush())
  const audit = createAudit(db, limits)
  started.defer(() => audit.flush())
  const sessions = createSessions(db, limits)
  const tokens = createApiTokens(db)
  const grants = createGrants(db, key)
  const loginTokens = createLoginTokens(db, key, limits)
  const remembered = createRemembered(db, limits)
  async function endAccess(uid: string): Promise<void> {
    await Promise.all([sessions.endOfUser('users', uid), remembered.endOfUser('users', uid)])
  }
  const passwords = await createPasswords()
  const users = createUsers(db, passwords, limits, { endAccess, eraseFromAudit: audit.eraseUser })
  started.defer(() => users.flush())
  const throttle = createThrottle(db, limits, settings.database.kind !== 'embedded')

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
  const plugins = [...builtIn, ...(await operatorPlugins(home, taken))]

  const { timeZone, memory } = settings
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const trusted = usableTrusted(plugins, makeSandboxSolution, limits)
  const supervisor = createSupervisor({ limits, trusted, timeZone, memory })
  started.defer(() => supervisor.stop())
  if (plugins.length > builtIn.length) await checkGuests(plugins, supervisor, limits)

  const catalog = createCatalog(store, { retire: retireVersion }, makeSandboxSolution)

  function retireVersion(key: string): void {
    supervisor.retire(key)
    solutionDatabases.retire(solutionOfKey(key))
  }

  const uploads = createUploads({ store, catalog, supervisor, makeSandboxSolution, limits })
  const runEntry = createEntryRunner({ supervisor, plugins, log: solutionLog, limits, onPluginError })

  function onPluginError(error: unknown, binding: string, correlationId: string): void {
    log.error({ binding, correlationId, err: error }, 'a plugin could not answer a request')
  }

  let stopping = false
  let port = settings.port
  const sites = createSites(settings, () => port)
  const formTokens = createFormTokens(key)
  const secrets = createSecrets(db, key)
  const maintenance = createMaintenance(db)
  const askAuthenticator = createAuthenticatorQuestion(runEntry)
  const oauth = createOAuth({
    db,
    key,
    limits,
    log,
    outbound: createOutbound({ allowedPrivate: settings.oauthAllowedHosts, setting: 'OAUTH_ALLOWED_HOSTS' }),
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
  })
  started.defer(() => oauth.providerLogout.settled())
  const parts: HostParts = {
    settings,
    log,
    version,
    sites,
    requireAdmin: requireAdmin({ account, tokens, audit, limits }),
    tokens,
    grants,
    secrets,
    oauth,
    oauthSettings: oauth.settings,
    providerRequests: oauth.requests,
    loginTokens,
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
    knownBrowsers: createKnownBrowsers(key, limits),
    accountSources: createAccountSources(users, askAuthenticator, oauth.providerSource),
    changePassword: createChangePasswordPages({ limits, sites, formTokens, key, users, throttle, audit }),
    runEntry,
    supervisor,
    isStopping: () => stopping,
  }
  await addExamplesOnce(db, settings, uploads)

  const servers: Server[] = []
  started.defer(async () => void (await Promise.all(servers.map(close))))
  async function listen(server: Server, wanted: number, address: string): Promise<number> {
    servers.push(await listening(server, wanted, address))
    return (server.address() as AddressInfo).port
  }
  port = await listen(httpServer(createApp(parts)), settings.port, settings.host)
  const adminPort = await listen(httpServer(createAdminApp(parts)), settings.adminPort, settings.adminHost)

  const swept = [sessions, remembered, solutionLog, audit, tokens, loginTokens, throttle, oauth]
  const sweep = setInterval(() => {
    Promise.all([...swept.map((one) => one.sweep()), eraseDeleted()]).catch((error: Error) =>
      log.error({ stack: error.stack }, 'old rows could not be removed'),
    )
  }, SWEEP_EVERY)
  sweep.unref()
  started.defer(() => clearInterval(sweep))

  async function eraseDeleted(): Promise<void> {
    for (const deleted of await store.sweep()) {
      await solutionLog.erase(deleted)
      await solutionDatabases.erase(deleted)
      await eraseSolutionData(db, deleted)
    }
  }

  const client = { address: '127.0.0.1', protocol: 'http' as const, host: `${urlHost(settings.host)}:${port}` }
  const madePassword = made === null ? null : await made.keep()
  const everything = started.move()
  return {
    url: `http://${client.host}`,
    publicUrl: settings.publicUrl?.origin ?? `http://${client.host}`,
    adminUrl: `http://${urlHost(settings.adminHost)}:${adminPort}`,
    madePassword,
    sharedOrigin: sites.shared,
    processes: supervisor.processes,
    addressOf: (solution) => `${sites.originOf(solution, client)}/solution/${solution}/`,
    solutionNames: async () => (await store.list()).filter(({ listed }) => listed).map((solution) => solution.name),
    async stop() {
      stopping = true
      await everything.disposeAsync()
    },
  }
}

/** Globals that the platform itself defines beside the plugins' names. */
const OTHER_GLOBALS = ['console', 'plugins', 'EventType', 'EVENTS_AGGREGATION_TYPE']

/** The first start decides: who deletes the examples does not want them back at the next start. */
async function addExamplesOnce(db: Database, settings: Settings, uploads: Uploads): Promise<void> {
  const decided = await db.selectFrom('platform').select('value').where('key', '=', 'examples').executeTakeFirst()
  if (decided !== undefined) return
  const value = getsExamples(settings) ? 'added' : 'none'
  if (value === 'added') {
    for (const name of exampleNames()) await uploads.upload(await packFolder(exampleFolder(name)), name)
  }
  await insertOnce(db, 'platform', { key: 'examples', value })
}

/** An empty platform gets the examples where somebody tries it out, never on a server (README). */
function getsExamples({ host, environment }: Settings): boolean {
  return isLoopback(host) && ['none', 'dev', 'e2e'].includes(environment)
}

function listening(server: Server, port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve(server)
    })
  })
}

/** No new connections; idle ones end at once, busy ones after their answer or when the grace is over. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), STOP_GRACE)
    server.close(() => {
      clearTimeout(timer)
      resolve()
    })
    server.closeIdleConnections()
  })
}

/** The host part of an address for a listening address: any address is reached by loopback. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}
