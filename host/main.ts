import type { Logger } from 'pino'
import { factorAccount } from '../base/accounts/factor-account.ts'
import { createFormTokens } from '../base/accounts/form-token.ts'
import { createKnownBrowsers } from '../base/accounts/known-browser.ts'
import { noticeChanges } from '../base/accounts/notice-changes.ts'
import { createNotices } from '../base/accounts/notices.ts'
import { createOpenSignIns, endOpenSignIns } from '../base/accounts/open-sign-ins.ts'
import { ownPasskeyPlaces } from '../base/accounts/passkey-places.ts'
import { createPasskeyRequests } from '../base/accounts/passkey-requests.ts'
import { createPasskeys } from '../base/accounts/passkeys.ts'
import { createPasswords, type HashCost } from '../base/accounts/passwords.ts'
import { createRemembered } from '../base/accounts/remembered.ts'
import { createSessions } from '../base/accounts/sessions.ts'
import { createThrottle } from '../base/accounts/throttle.ts'
import { createUsers, type User } from '../base/accounts/users.ts'
import { createDraining } from '../base/http/draining.ts'
import { createSites } from '../base/http/sites.ts'
import { keepSweeping } from '../base/work/keep-sweeping.ts'
import { createSupervisor, type Supervisor } from '../runtime/supervisor.ts'
import type { GeneratedPassword } from './access/account.ts'
import { createApiTokens } from './access/api-tokens.ts'
import { createAudit } from './access/audit.ts'
import { requireAdmin } from './access/authentication.ts'
import { createAdminCredentials } from './access/credentials.ts'
import { createPageSessions } from './access/page-sessions.ts'
import { type AdminSignIn, createAdminFactors } from './admin-factors/admin-factors.ts'
import type { HostParts } from './app.ts'
import { liveStyleHref } from './clients/client-page.ts'
import { createClients } from './clients/clients.ts'
import { createCloudParts } from './cloud/parts.ts'
import type { Settings } from './config/settings.ts'
import { type Debugger, startDebugger } from './debugger/debugger.ts'
import type { DebugNode } from './debugger/find-debug-node.ts'
import { createDebugTargets } from './debugger/targets.ts'
import { createDirectoryParts } from './directories/directory-parts.ts'
import { createDraftParts } from './drafts/draft-parts.ts'
import { createEndpoints } from './endpoints/endpoints.ts'
import { createNetworkLimit } from './endpoints/network-limit.ts'
import { refuseFloods } from './endpoints/refuse-floods.ts'
import { platformPlaceOf } from './grants/grant-warnings.ts'
import { createGrants } from './grants/grants.ts'
import { healthInWords } from './health/health-in-words.ts'
import { createHealth, type Health } from './health/health-report.ts'
import { createJobStore, createJobs } from './jobs/jobs.ts'
import { createHostMail } from './links/host-mail.ts'
import { createLinkedUsers } from './links/linked-users.ts'
import { createLiveSolutions, type LiveSolutions } from './live-solutions.ts'
import { createAccountSources } from './login/account-sources.ts'
import { createAuthenticatorQuestion } from './login/ask-authenticator.ts'
import { createChangePasswordPages } from './login/change-password.ts'
import { createLoginTokens } from './login/login-token.ts'
import { createPasskeyPlaces } from './login/passkey-places.ts'
import { createClientSignIns } from './login/sign-in-token.ts'
import { createSignOutTargets } from './login/sign-out-target.ts'
import { createPreviewTickets } from './login-pages/preview-tickets.ts'
import { createMaintenance } from './maintenance/maintenance.ts'
import { createOAuth } from './oauth/oauth.ts'
import { createOutbound } from './outbound/outbound.ts'
import { createSolutionParts } from './parts.ts'
import { openPlatform } from './platform.ts'
import { createSignInPolicies } from './second-step/policies.ts'
import { createSecondSteps } from './second-step/second-steps.ts'
import { createSecrets } from './secrets/secrets.ts'
import { createSelfService } from './self-service/self-service.ts'
import { type Addresses, createServers } from './servers.ts'
import { addBakedIn } from './solutions/baked-in.ts'
import { eraseExpired } from './solutions/erase-solution.ts'
import { createExampleUsers, type ExampleUsers } from './solutions/example-users.ts'
import { addExamplesOnce, getsExamples } from './solutions/first-examples.ts'
import { createFirstRefusal } from './solutions/first-refusal.ts'
import { createSolutionLog } from './solutions/solution-log.ts'
import { createSolutionStore } from './solutions/solution-store.ts'
import type { StartPageParts } from './solutions/start-page.ts'
import { watchAudit, watchClients, watchProviders, watchSessions, watchThrottle } from './telemetry/watch.ts'
import { createTesting } from './testing/testing.ts'
import { unlistedPermissions } from './users/known-permissions.ts'
import { createUsersCsv } from './users/users-csv.ts'

export type HostOptions = {
  readonly settings: Settings
  readonly log: Logger
  readonly version: string
  /** Whether the output is a terminal. If it isn't, a generated password is written to a file and not returned. */
  readonly terminal: boolean
  /**
   * Development mode (`solhost dev`). Open clients switch to the next version of their solution automatically, and
   * error pages reload. Examples, solutions in the image and operator plugins are not loaded.
   */
  readonly isLive?: boolean
  /** Whether the host adds a run when a job is due. Default: true. */
  readonly hasSchedules?: boolean
  /**
   * Opens a debugger for scripts on this port of 127.0.0.1. Port 0 selects a free one. If absent, there is no debugger.
   * Anyone who can connect to it can run arbitrary code in the sandbox processes. So only a command can enable it,
   * never an environment variable or a bundle.
   */
  readonly inspect?: { readonly port: number; readonly node: DebugNode } | undefined
  /**
   * Default: `createSupervisor`. Tests pass a function whose supervisor reuses the results of upload checks on other
   * hosts.
   */
  readonly createSupervisor?: typeof createSupervisor
  /** What new password hashes cost. For tests; the default is what OWASP recommends. */
  readonly passwordCost?: HashCost | undefined
}

export type Host = Addresses & {
  /** The URL for browsers: `PUBLIC_URL` if set, otherwise `url`. */
  readonly publicUrl: string
  readonly generatedPassword: GeneratedPassword | null
  /** Whether all solutions share one origin. */
  readonly sharedOrigin: boolean
  /** The sandbox processes, for the health page and tests. */
  readonly processes: Supervisor['processes']
  readonly addressOf: (solution: string) => string
  readonly solutionNames: () => Promise<readonly string[]>
  /** Whether the first start added the example solutions. */
  readonly hasExamples: boolean
  /**
   * The users of the example `orders`. Null if this host has no examples, or if other machines can connect to the host.
   */
  readonly exampleUsers: Pick<ExampleUsers, 'list' | 'file'> | null
  /** Operations for development mode; see `HostOptions`. Null if `isLive` is off. */
  readonly live: LiveSolutions | null
  /** The debugger for scripts; null unless `inspect` is set. */
  readonly debugger: Pick<Debugger, 'address' | 'links'> | null
  /**
   * Reports that the host is not ready, but keeps serving for `DRAIN_TIME` (see `Draining`). Then it rejects new work,
   * lets running requests finish, and kills the sandbox processes, all within 4 s. A second call skips the rest of
   * `DRAIN_TIME`.
   */
  readonly stop: () => Promise<void>
}

/**
 * Creates the parts that all others depend on: the platform's own data, accounts, and the solutions with their scripts.
 */
async function openFoundation(options: HostOptions, started: AsyncDisposableStack) {
  const { settings, isLive = false, inspect } = options
  const { limits } = settings
  const platform = await openPlatform(options, started)
  const { telemetry, log, db, key } = platform
  const servers = createServers(settings, platform.certificate)
  const sites = createSites(settings, servers.pagesPort)

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
  const remembered = createRemembered(db, key, limits, testing.now)
  async function endAccess(uid: string): Promise<void> {
    await Promise.all([
      sessions.endOfUser('users', uid),
      remembered.endOfUser('users', uid),
      endOpenSignIns(db, factorAccount('users', '', uid)),
    ])
  }
  const passwords = createPasswords({ cost: options.passwordCost })
  const directoryParts = createDirectoryParts({ db, key, limits, audit, log, endAccess, now: testing.now })
  const mail = createHostMail(settings, { db, key, log })
  started.defer(mail.start())
  const serverName = settings.publicUrl?.host ?? settings.solutionOrigin?.suffix.slice(1) ?? null
  const notices = createNotices(mail, log, serverName)
  started.defer(() => notices.settle())
  const passwordChanged = (user: Pick<User, 'username' | 'email' | 'locale'>) => notices.send('password', user)
  const userPorts = {
    endAccess,
    eraseFromAudit: audit.eraseUser,
    directories: directoryParts.askDirectories,
    passwordChanged,
  }
  const users = createUsers(db, passwords, limits, userPorts)
  started.defer(() => users.flush())
  const linkedUsers = createLinkedUsers({ db, users, passwords, limits, ...userPorts }, testing.now)
  const isShared = settings.database.kind !== 'embedded'
  const throttle = watchThrottle(createThrottle(db, limits, isShared, testing.throttles), telemetry)

  const policies = createSignInPolicies(db, testing.now)
  const passkeyPlaces = createPasskeyPlaces(settings, sites)
  const platformDatabase = platformPlaceOf(settings)
  const jobStore = createJobStore(db, limits, testing.now)
  const solutionParts = await createSolutionParts(
    {
      settings,
      isLive,
      inspect,
      createSupervisor: options.createSupervisor ?? createSupervisor,
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
      storeRuns: jobStore.storeRuns,
      // An operator's policy replaces the manifest's, so the manifest's `passkey` then has no effect.
      takesPasskeys: async (name) =>
        passkeyPlaces.isOfferedFor(name) || (await policies.policyFor({ name, manifest: null })).source === 'operator',
    },
    started,
  )
  return {
    ...platform,
    ...solutionParts,
    ...directoryParts,
    servers,
    sites,
    testing,
    store,
    solutionLog,
    audit,
    sessions,
    tokens,
    grants,
    loginTokens,
    remembered,
    endAccess,
    policies,
    passkeyPlaces,
    passwords,
    mail,
    notices,
    passwordChanged,
    users,
    linkedUsers,
    throttle,
    isShared,
    platformDatabase,
    jobStore,
  }
}

type Foundation = Awaited<ReturnType<typeof openFoundation>>

/** Creates the parts for sign-ins without a solution's own scripts, at OAuth providers or the control center. */
function createSignIn(options: HostOptions, foundation: Foundation, health: () => Health) {
  const { settings, version } = options
  const { limits } = settings
  const { telemetry, log, db, key, testing, store, solutionLog, audit } = foundation
  const { sites, sessions, remembered, uploads, supervisor, runEntry } = foundation
  const formTokens = createFormTokens(key)
  const stored = createSecondSteps({
    db,
    key,
    limits,
    passwords: foundation.passwords,
    formTokens,
    passkeyPlaces: foundation.passkeyPlaces,
    policies: foundation.policies,
    isShared: foundation.isShared,
    throttles: testing.throttles,
    now: testing.now,
  })
  const secondSteps = noticeChanges(stored, foundation)
  const secrets = createSecrets(db, key)
  const maintenance = createMaintenance(db)
  const askAuthenticator = createAuthenticatorQuestion(runEntry)
  const ownLogLevel = log.level as Settings['logLevel']
  const { managedSettings, cloudLogin, managed } = createCloudParts({
    settings,
    version,
    db,
    supervisor,
    store,
    uploads,
    audit,
    log,
    solutionLog,
    now: testing.now,
    setLogLevel(level) {
      for (const one of [log, options.log]) one.level = level ?? ownLogLevel
    },
    health: async () => {
      const report = await health()({ range: 'recent', hours: 1 })
      return healthInWords(report, report.database.ok && (await maintenance.isOn()))
    },
  })
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
    users: foundation.users,
    formTokens,
    solutionLog,
    audit,
    maintenance,
    ofCloud: managedSettings.oauthOf,
    secondStep: secondSteps.secondStep,
  })
  return {
    ...secondSteps,
    formTokens,
    secrets,
    maintenance,
    askAuthenticator,
    managedSettings,
    cloudLogin,
    managed,
    oauth,
  }
}

/** Creates the parts that respond to requests to the host's servers. */
function createParts(
  options: HostOptions,
  foundation: Foundation,
  startPage: Pick<StartPageParts, 'hasExamples' | 'localAdminPages'>,
) {
  const { settings, version, isLive = false } = options
  const { limits } = settings
  const { telemetry, log, certificate, db, key, account, testing, store, solutionLog, audit, sessions } = foundation
  const { sites, tokens, users, passwords, endAccess, passwordChanged, throttle } = foundation
  const { catalog, supervisor, bindings, figures } = foundation
  const signIn = createSignIn(options, foundation, () => health)
  const { defaultSolution } = signIn.managedSettings
  const selfService = createSelfService({ ...foundation, defaultSolution, now: testing.now })
  const { formTokens, askAuthenticator, cloudLogin, managed, oauth } = signIn
  const signOutTargets = createSignOutTargets(key, testing.now)
  const clientSignIns = createClientSignIns(db, key, testing.now)
  const clients = createClients({
    limits,
    isTesting: settings.isTesting,
    supervisor: watchClients(supervisor, telemetry),
    bindings,
    catalog,
    sites,
    sessions,
    throttle,
    clientSignIns,
    presses: signIn.presses,
    signOutTargets,
    log: solutionLog,
    audit,
    storeRuns: foundation.jobStore.storeRuns,
    called: figures.called,
    live: isLive ? { styleHref: (solution) => liveStyleHref(solution, store), reports: new Map() } : undefined,
    onError: (error, of) => log.error({ ...of, err: error }, 'a client failed unexpectedly'),
  })
  const credentials = createAdminCredentials({ account, audit, limits })
  const network = createNetworkLimit(limits, testing.now)
  const adminOpenSignIns = createOpenSignIns<AdminSignIn>(db, key, limits, testing.now)
  const { factors } = signIn
  const adminPasskeys = createPasskeyRequests(
    {
      db,
      key,
      passkeys: createPasskeys(db, key, factors, limits, testing.now),
      places: ownPasskeyPlaces(settings.passkeys !== 'off'),
      formTokens,
    },
    testing.now,
  )
  const adminFactors = createAdminFactors({
    mode: settings.adminSecondFactor,
    admin: account,
    factors,
    openSignIns: adminOpenSignIns,
  })
  const draining = createDraining(settings.drainTime)
  const protocol = certificate === null ? 'http' : 'https'
  const jobs = createJobs({
    ...foundation,
    limits,
    maintenance: signIn.maintenance,
    isDraining: () => !draining.isReady(),
    serverUrlOf: (name) => sites.originForAdmin(name, { address: '127.0.0.1', protocol, host: 'localhost' }),
    timeZone: settings.timeZone,
    hasSchedules: options.hasSchedules ?? true,
    failed: ({ solution }) => telemetry.metrics.add('jobsFailed', { solution: telemetry.solutionLabel(solution) }),
    now: testing.now,
  })
  const health = createHealth({
    figures,
    supervisor,
    store,
    pauses: foundation.jobStore.pauses,
    audit,
    db,
    kind: settings.database.kind,
    certificate: certificate?.state ?? null,
    telemetry,
    version,
    cloudLoginProblems: cloudLogin?.problems,
    cloud: managed?.state,
  })
  const knownBrowsers = createKnownBrowsers(key, limits, testing.now)
  return {
    ...foundation,
    ...signIn,
    ...selfService,
    ...startPage,
    settings,
    version,
    isLive,
    firstRefusal: isLive ? createFirstRefusal() : null,
    adminFactors,
    adminOpenSignIns,
    adminPasskeys,
    adminSecondStep: adminFactors,
    requireAdmin: requireAdmin({ credentials, tokens, adminSecondStep: adminFactors }),
    credentials,
    pageSessions: createPageSessions(db, key, { account, tokens }, limits, testing.now),
    previewTickets: createPreviewTickets(key, testing.now),
    ...createDraftParts({ ...foundation, ...signIn, settings, limits, now: testing.now }),
    answerEndpoint: createEndpoints({ ...foundation, ...signIn, limits, network, now: testing.now }),
    refuseFloods: refuseFloods(network),
    oauthSettings: oauth.settings,
    testOAuthSettings: oauth.testSettings,
    providerRequests: oauth.requests,
    clients,
    clientSignIns,
    signOutTargets,
    usersCsv: createUsersCsv({
      db,
      users,
      passwords,
      limits,
      endAccess,
      passwordChanged,
      unlisted: (names) => unlistedPermissions(names, store, catalog),
    }),
    knownBrowsers,
    accountSources: createAccountSources(users, askAuthenticator, oauth.providerSource, cloudLogin?.source ?? null),
    changePassword: createChangePasswordPages({
      limits,
      sites,
      formTokens,
      key,
      users,
      throttle,
      knownBrowsers,
      audit,
    }),
    health,
    draining,
    jobs,
  } satisfies HostParts
}

/** Starts all parts in dependency order. If the start fails, the parts that are already running are stopped. */
export async function startHost(options: HostOptions): Promise<Host> {
  const { settings, isLive = false, inspect } = options
  const { limits } = settings
  await using started = new AsyncDisposableStack()
  const foundation = await openFoundation(options, started)
  const {
    telemetryStarted,
    log,
    certificate,
    db,
    newPassword,
    store,
    uploads,
    catalog,
    supervisor,
    solutionLog,
    users,
    servers,
    sites,
  } = foundation
  const exampleUsers = createExampleUsers(users, settings.home, limits.PASSWORD_LENGTH)
  const hasExamples = !isLive && (await addExamplesOnce(db, settings, uploads, exampleUsers, log))
  const { localAdminPages } = servers
  const parts = createParts(options, foundation, { hasExamples, localAdminPages })
  const { cloudLogin, managed, oauth, clients, draining, firstRefusal } = parts
  started.defer(async () => cloudLogin?.stop())
  started.defer(() => oauth.providerLogout.settled())
  started.defer(() => parts.forgottenPasswords.settle())
  if (!isLive) await addBakedIn({ folder: settings.solutionsFolder, store, uploads, limits, log })

  started.defer(() => servers.close())
  await telemetryStarted
  await managed?.start()
  started.defer(async () => managed?.stop())
  const addresses = await servers.open(parts)
  started.defer(() => parts.jobs.worker.stop())
  // Close servers and clients at the same time, because the servers wait for the clients' connections to close.
  started.defer(async () => void (await Promise.all([servers.close(), clients.stop()])))
  started.defer(async () => solutionLog.endFollowing())
  const scriptDebugger = await openDebugger()
  if (scriptDebugger !== null) started.defer(() => scriptDebugger.stop())

  async function openDebugger(): Promise<Debugger | null> {
    if (inspect === undefined || supervisor.debug === null) return null
    const targets = createDebugTargets(catalog, store)
    return startDebugger({ targets, attach: supervisor.debug, nodeVersion: inspect.node.version }, inspect.port)
  }

  started.defer(keepSweeping(sweptOf(parts), log))
  started.defer(parts.keepCheckingSessions(users))

  const host = addresses.url.replace(/^https?:\/\//, '')
  const client = { address: '127.0.0.1', protocol: certificate === null ? 'http' : 'https', host } as const
  parts.jobs.worker.start()
  const generatedPassword = newPassword === null ? null : await newPassword.keep()
  const everything = started.move()
  let stopped: Promise<void> | null = null

  async function drainAndEnd(): Promise<void> {
    log.info({ drainTime: settings.drainTime }, 'the host is stopping')
    await draining.drain((within) => clients.moveAll(within))
    await everything.disposeAsync()
  }

  return {
    ...addresses,
    publicUrl: settings.publicUrl?.origin ?? addresses.url,
    generatedPassword,
    sharedOrigin: sites.shared,
    processes: supervisor.processes,
    addressOf: (solution) => `${sites.originOf(solution, client)}/solution/${solution}/`,
    solutionNames: async () => (await store.list()).filter(({ listed }) => listed).map((solution) => solution.name),
    hasExamples,
    exampleUsers: hasExamples && getsExamples(settings) ? exampleUsers : null,
    live:
      firstRefusal === null
        ? null
        : createLiveSolutions({ uploads, catalog, store, clients, solutionLog, users, firstRefusal }),
    debugger: scriptDebugger,
    stop() {
      if (stopped !== null) draining.hurry()
      stopped ??= drainAndEnd()
      return stopped
    },
  }
}

function sweptOf(parts: ReturnType<typeof createParts>) {
  const { sessions, pageSessions, remembered, solutionLog, audit, tokens, loginTokens, throttle, oauth } = parts

  return [
    sessions,
    pageSessions,
    remembered,
    solutionLog,
    audit,
    tokens,
    loginTokens,
    throttle,
    oauth,
    parts.openSignIns,
    parts.links,
    parts.draftStore,
    parts.jobStore.runs,
    { sweep: () => eraseExpired({ ...parts, jobRuns: parts.jobStore.runs }) },
  ]
}
