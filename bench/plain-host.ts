// A separate process: the host's Koa app with its middleware, sessions and database, and a plain function in place of
// the sandbox. Its folder (the argument) is a copy of a real host's folder, so the solution is already uploaded.

import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { createFormTokens } from '../base/accounts/form-token.ts'
import { createKnownBrowsers } from '../base/accounts/known-browser.ts'
import { createNotices } from '../base/accounts/notices.ts'
import { createOpenSignIns } from '../base/accounts/open-sign-ins.ts'
import { createPasswords } from '../base/accounts/passwords.ts'
import { createRemembered } from '../base/accounts/remembered.ts'
import { createSessions } from '../base/accounts/sessions.ts'
import { createThrottle } from '../base/accounts/throttle.ts'
import { createUsers } from '../base/accounts/users.ts'
import { type Effects, noEffects } from '../base/bundles/host-call.ts'
import { openPlatformKey } from '../base/config/platform-key.ts'
import { createSites } from '../base/http/sites.ts'
import { httpServer } from '../base/tls/server.ts'
import { openAdminAccount } from '../host/access/account.ts'
import { createApiTokens } from '../host/access/api-tokens.ts'
import { createAudit } from '../host/access/audit.ts'
import { requireAdmin } from '../host/access/authentication.ts'
import { createAdminCredentials } from '../host/access/credentials.ts'
import { createPageSessions } from '../host/access/page-sessions.ts'
import { type AdminSignIn, createAdminFactors } from '../host/admin-factors/admin-factors.ts'
import { createApp, type HostParts } from '../host/app.ts'
import { createClients } from '../host/clients/clients.ts'
import { createManagedSettings } from '../host/cloud/managed/managed-settings.ts'
import { readSettings } from '../host/config/settings.ts'
import { openHostDatabase } from '../host/database/open.ts'
import { createDirectoryParts } from '../host/directories/directory-parts.ts'
import { createDraftParts } from '../host/drafts/draft-parts.ts'
import { platformPlaceOf } from '../host/grants/grant-warnings.ts'
import { createGrants } from '../host/grants/grants.ts'
import { createHealth } from '../host/health/health-report.ts'
import { createJobStore, createJobs } from '../host/jobs/jobs.ts'
import { createHostMail } from '../host/links/host-mail.ts'
import { createLinkedUsers } from '../host/links/linked-users.ts'
import { createAccountSources } from '../host/login/account-sources.ts'
import { createAuthenticatorQuestion } from '../host/login/ask-authenticator.ts'
import { createChangePasswordPages } from '../host/login/change-password.ts'
import { createLoginTokens } from '../host/login/login-token.ts'
import { createPasskeyPlaces } from '../host/login/passkey-places.ts'
import { createClientSignIns } from '../host/login/sign-in-token.ts'
import { createSignOutTargets } from '../host/login/sign-out-target.ts'
import { createPreviewTickets } from '../host/login-pages/preview-tickets.ts'
import { createMaintenance } from '../host/maintenance/maintenance.ts'
import { createOAuth } from '../host/oauth/oauth.ts'
import { createSignInPolicies } from '../host/second-step/policies.ts'
import { createSecondSteps } from '../host/second-step/second-steps.ts'
import { createSecrets } from '../host/secrets/secrets.ts'
import { createSelfService } from '../host/self-service/self-service.ts'
import { createCatalog } from '../host/solutions/catalog.ts'
import { createGuestBindings } from '../host/solutions/guest-bindings.ts'
import type { EntryRunner } from '../host/solutions/run-entry.ts'
import { createSolutionLog } from '../host/solutions/solution-log.ts'
import { createSolutionStore } from '../host/solutions/solution-store.ts'
import { createUploads } from '../host/solutions/upload.ts'
import { createFigures } from '../host/telemetry/figures.ts'
import { createTelemetry } from '../host/telemetry/telemetry.ts'
import { createTesting } from '../host/testing/testing.ts'
import { createUsersCsv } from '../host/users/users-csv.ts'
import type { Supervisor } from '../runtime/supervisor.ts'

type Hook = (arg: unknown, queryParams: unknown) => string

const settings = readSettings({ ...process.env, PORT: '0', PLATFORM_HOME: process.argv[2] ?? '' })
const { limits, home } = settings
const log = pino({ level: settings.logLevel, base: null })
const db = await openHostDatabase(home)
const key = await openPlatformKey(db, home, settings.platformKey)
const { account } = await openAdminAccount(db, {
  name: settings.adminName,
  password: settings.adminPassword,
  home,
  terminal: false,
})
const supervisor = noSupervisor()
const store = createSolutionStore(db, limits)
const catalog = createCatalog(store, supervisor, noSandbox)
const tokens = createApiTokens(db)
const audit = createAudit(db, limits)
const sites = createSites(settings, () => port)
const formTokens = createFormTokens(key)
const knownBrowsers = createKnownBrowsers(key, limits)
const throttle = createThrottle(db, limits, false)
const nobody = async () => {}
const noRequest = () => Promise.reject(new TypeError('the benchmarks use no identity provider'))
const passwords = createPasswords()
const users = createUsers(db, passwords, limits, { endAccess: nobody, eraseFromAudit: nobody })
const runEntry = plainRunner(readFileSync(new URL('login-hook.js', import.meta.url), 'utf8'))
const maintenance = createMaintenance(db)
const askAuthenticator = createAuthenticatorQuestion(runEntry)
const secrets = createSecrets(db, key)
const sessions = createSessions(db, limits)
const remembered = createRemembered(db, key, limits)
const solutionLog = createSolutionLog(db, limits)
const mail = createHostMail(settings, { db, key, log })
const linkedUsers = createLinkedUsers({ db, users, passwords, limits, endAccess: nobody })
const defaultSolution = async () => null
const needs = { db, users, linkedUsers, mail, sites, store, catalog, audit, log, defaultSolution }
const secondSteps = createSecondSteps({
  db,
  key,
  limits,
  passwords,
  formTokens,
  passkeyPlaces: createPasskeyPlaces(settings, sites),
  policies: createSignInPolicies(db),
  isShared: false,
})
const oauth = createOAuth({
  db,
  key,
  limits,
  log,
  outbound: { request: noRequest },
  allowedHosts: [],
  secrets,
  runEntry,
  askAuthenticator,
  sites,
  sessions,
  remembered,
  users,
  formTokens,
  solutionLog,
  audit,
  maintenance,
  secondStep: secondSteps.secondStep,
})
const clientSignIns = createClientSignIns(db, key)
const signOutTargets = createSignOutTargets(key)
const clients = createClients({
  limits,
  isTesting: false,
  supervisor,
  bindings: createGuestBindings({ plugins: [], limits, onPluginError: () => {} }),
  catalog,
  sites,
  sessions,
  throttle,
  clientSignIns,
  presses: secondSteps.presses,
  signOutTargets,
  log: solutionLog,
  audit,
  onError: () => {},
})
const credentials = createAdminCredentials({ account, audit, limits })
const adminOpenSignIns = createOpenSignIns<AdminSignIn>(db, key, limits)
const adminFactors = createAdminFactors({
  mode: 'optional',
  admin: account,
  factors: secondSteps.factors,
  openSignIns: adminOpenSignIns,
})
const uploads = createUploads({ store, catalog, supervisor, makeSandboxSolution: noSandbox, limits })
const managedSettings = createManagedSettings(null, settings.defaultSolution)
const jobStore = createJobStore(db, limits, Date.now)
const parts: HostParts = {
  jobStore,
  jobs: createJobs({
    jobStore,
    db,
    limits,
    catalog,
    runEntry: noSandbox,
    maintenance,
    isDraining: () => false,
    solutionLog,
    log,
    serverUrlOf: () => '',
    timeZone: settings.timeZone,
    hasSchedules: false,
    failed: () => {},
    now: Date.now,
  }),
  settings,
  log,
  version: 'bench',
  hasExamples: false,
  localAdminPages: () => null,
  sites,
  adminFactors,
  adminOpenSignIns,
  adminPasskeys: secondSteps.passkeyRequests,
  adminSecondStep: adminFactors,
  requireAdmin: requireAdmin({ credentials, tokens, adminSecondStep: adminFactors }),
  credentials,
  pageSessions: createPageSessions(db, key, { account, tokens }, limits),
  previewTickets: createPreviewTickets(key),
  tokens,
  mail,
  linkedUsers,
  notices: createNotices(mail, log, null),
  ...createSelfService(needs),
  grants: createGrants(db, key),
  secrets,
  oauth,
  answerEndpoint: async () => {},
  refuseFloods: (_ctx, next) => next(),
  figures: createFigures(),
  oauthSettings: oauth.settings,
  ...secondSteps,
  ...createDirectoryParts({ db, key, limits, audit, log, endAccess: nobody, now: Date.now }),
  testOAuthSettings: oauth.testSettings,
  providerRequests: oauth.requests,
  loginTokens: createLoginTokens(db, key, limits),
  clients,
  testing: createTesting(false),
  clientSignIns,
  signOutTargets,
  maintenance,
  platformDatabase: platformPlaceOf(settings),
  catalog,
  store,
  uploads,
  ...createDraftParts({ db, limits, settings, managedSettings, store, uploads, supervisor, now: Date.now }),
  sessions,
  solutionLog,
  audit,
  remembered,
  users,
  usersCsv: createUsersCsv({ db, users, passwords, limits, endAccess: nobody, unlisted: async () => [] }),
  throttle,
  formTokens,
  knownBrowsers,
  accountSources: createAccountSources(users, askAuthenticator, oauth.providerSource, null),
  cloudLogin: null,
  changePassword: createChangePasswordPages({ limits, sites, formTokens, key, users, throttle, knownBrowsers, audit }),
  supervisor,
  managedSettings,
  health: createHealth({
    figures: createFigures(),
    supervisor,
    store,
    pauses: jobStore.pauses,
    audit,
    db,
    kind: settings.database.kind,
    version: 'bench',
  }),
  telemetry: createTelemetry({
    settings: settings.telemetry,
    environment: settings.environment,
    version: 'bench',
    home: settings.home,
    bound: limits.TELEMETRY_QUEUE,
    log,
  }),
  draining: { isReady: () => true, isRefusing: () => false },
}
const server = httpServer(createApp(parts))
let port = 0
server.listen(0, '127.0.0.1', () => {
  port = (server.address() as AddressInfo).port
  process.send?.({ port })
})
process.on('disconnect', () => process.exit(0))

/** Runs the login hook as a plain function in this process. The function is created once; its API is synchronous. */
function plainRunner(source: string): EntryRunner {
  let effects: Effects = noEffects()
  const security = {
    login(username: string, uid: string, permissions: string[]) {
      effects.login = { username, uid, permissions }
      return true
    },
    setTenantValue(tenant: (string | number)[]) {
      effects.tenant = tenant
    },
  }
  const i18n = {
    setLocale(language: string, country: string) {
      effects.locale = `${language}-${country}`
    },
  }
  const onSolutionOpen = new Function('security', 'i18n', `${source}\nreturn onSolutionOpen`)(security, i18n) as Hook
  return async (_solution, { args }) => {
    effects = noEffects()
    const values = JSON.parse(onSolutionOpen(args[0], args[1])) as Record<string, unknown>
    return { failure: null, effects, values, hasValues: true }
  }
}

function noSupervisor(): Supervisor {
  return {
    call: noSandbox,
    openClient: noSandbox,
    checkUpload: noSandbox,
    debug: null,
    memory: () => ({ maximum: 0, configured: 0, groupLimit: null, used: 0 }),
    isFull: () => false,
    whenRoom: async () => true,
    needRoom: () => {},
    retire: () => {},
    retryAt: () => null,
    retryAtOf: () => null,
    processes: () => [],
    stop: () => {},
  }
}

function noSandbox(): never {
  throw new TypeError('the plain host has no sandbox')
}
