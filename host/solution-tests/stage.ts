import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FoundSession } from '../../base/accounts/find-session.ts'
import { createPasswords } from '../../base/accounts/passwords.ts'
import { createRemembered } from '../../base/accounts/remembered.ts'
import { createSessions } from '../../base/accounts/sessions.ts'
import { createThrottle } from '../../base/accounts/throttle.ts'
import { createUsers } from '../../base/accounts/users.ts'
import { type ActiveSolution, solutionOfKey } from '../../base/bundles/active-solution.ts'
import { builtInPlugins, usableTrusted } from '../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { openPlatformKey } from '../../base/config/platform-key.ts'
import { openDatabase } from '../../base/database/open.ts'
import { createSites } from '../../base/http/sites.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Json, ScriptError } from '../../runtime/plugin.ts'
import { createSupervisor } from '../../runtime/supervisor.ts'
import { createAudit } from '../access/audit.ts'
import { createLateSignOuts } from '../clients/late-sign-outs.ts'
import type { Visitor } from '../clients/visitor.ts'
import { readSettings } from '../config/settings.ts'
import { platformPlaceOf } from '../grants/grant-warnings.ts'
import { createGrants } from '../grants/grants.ts'
import { createClientSignIns } from '../login/sign-in-token.ts'
import { createSignOutTargets } from '../login/sign-out-target.ts'
import { createHashesForScripts } from '../password-hashes/hashes-for-scripts.ts'
import { createSolutionDatabases } from '../solution-databases/solution-databases.ts'
import { createCatalog } from '../solutions/catalog.ts'
import { createGuestBindings } from '../solutions/guest-bindings.ts'
import { createRefusalNote } from '../solutions/script-refusals.ts'
import { createSolutionLog } from '../solutions/solution-log.ts'
import { createSolutionStore } from '../solutions/solution-store.ts'
import { createUploads } from '../solutions/upload.ts'
import { createUsersForScripts } from '../users/users-for-scripts.ts'
import { withCallScript } from './call-script.ts'
import { createHttpAnswers, type DeclaredAnswer, type SeenRequest } from './http-answers.ts'
import { type OpenClient, type OpenClientParts, openClient } from './open-client.ts'
import { BROWSER, type GivenParams, getOAuthConfig, signIn } from './sign-in.ts'
import { endsWithProcess } from './with-process.ts'

export type Opening = {
  readonly user?: {
    readonly username: string
    readonly uid?: string | undefined
    readonly permissions?: readonly string[] | undefined
    readonly tenant?: readonly (string | number)[] | undefined
  }
  readonly params?: Readonly<Record<string, string>>
  readonly locale?: string
  readonly loginForm?: boolean
}

export type NewUser = {
  readonly username: string
  readonly password?: string | undefined
  readonly permissions?: readonly string[] | undefined
  readonly email?: string | undefined
}

/** A solution on a test host: all parts of a host that scripts use, but no ports. */
export interface Stage {
  readonly solution: ActiveSolution
  signIn(params: GivenParams): Promise<Json>
  getOAuthConfig(params: GivenParams): Promise<Json>
  open(opening: Opening): Promise<OpenClient>
  addUser(user: NewUser): Promise<{ uid: string }>
  answerHttp(answer: DeclaredAnswer): void
  httpRequests(): readonly SeenRequest[]
  /** Resets to the initial state: no users, declared answers or clients, and empty databases. */
  clear(): Promise<void>
  stop(): Promise<void>
}

/** Users are listed from the database, because scripts may have created or deleted some. */
const ALL = { limit: 1000 }

/**
 * Chosen here: uses the real parts of a host in a temporary PLATFORM_HOME, without the web server. Tests see what users
 * of a host would get, and nothing is left behind.
 * @param packed as in an upload
 * @throws ERR_BUNDLE_REFUSED with every error in `details.faults`
 */
export async function createStage(packed: Uint8Array, name: string, limits: Limits): Promise<Stage> {
  await using started = new AsyncDisposableStack()
  const home = mkdtempSync(join(tmpdir(), 'solhost-test-'))
  started.defer(endsWithProcess(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 })))
  const settings = readSettings({ PLATFORM_HOME: home })
  const db = await openDatabase(settings)
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
  const noteRefusal = createRefusalNote(audit, log)
  /** Internal errors. They are added to the test's error, which would otherwise only say that something failed. */
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
  const parts: OpenClientParts = {
    limits,
    isTesting: false,
    supervisor,
    bindings,
    catalog: { ...catalog, active: async () => solution },
    sites,
    sessions,
    throttle,
    clientSignIns: createClientSignIns(db, key),
    signOutTargets: createSignOutTargets(key),
    log,
    lateSignOuts,
    onError,
  }
  let open: OpenClient[] = []
  let added: string[] = []

  /** Turns errors of host parts into a `ScriptError` with the original message. */
  async function withScriptErrors<T>(work: Promise<T>): Promise<T> {
    const before = problems.length
    try {
      return await work
    } catch (error) {
      if (error instanceof ScriptError) {
        const also = problems.slice(before)
        if (also.length > 0) error.message += ` (${also.join('; ')})`
        throw error
      }
      throw new ScriptError(error instanceof Error ? error.message : String(error), { cause: error })
    }
  }

  async function sessionOf(given: Opening['user'], locale: string): Promise<FoundSession | null> {
    if (given === undefined) return null
    const known = given.uid === undefined ? await users.find(given.username) : null
    const isKnown = known !== null && added.includes(known.uid)
    const permissions = isKnown ? await users.permissionsFor(known.uid, name) : []
    const session = {
      username: given.username,
      uid: isKnown ? known.uid : (given.uid ?? given.username),
      permissions: given.permissions ?? permissions,
      realm: name,
      tenant: given.tenant ?? null,
      locale,
      source: isKnown ? ('users' as const) : ('' as const),
      selector: null,
      providerLogin: null,
    }
    const { cookie, publicId, loggedInAt } = await sessions.start({ ...session, address: BROWSER.address })
    return { session: { ...session, publicId, loggedInAt }, cookie }
  }

  async function visitorOf({
    user,
    params = {},
    locale = BROWSER.locale,
    loginForm = false,
  }: Opening): Promise<Visitor> {
    if (loginForm && solution.manifest.loginForm === null) {
      throw new ScriptError('solution.json has no "loginForm", so there is no login form to open')
    }
    const session = await sessionOf(user, locale)
    return {
      solution,
      isLoginForm: loginForm,
      found: session,
      address: BROWSER.address,
      client: { address: BROWSER.address, protocol: 'http', host: 'localhost' },
      serverUrl: BROWSER.serverUrl,
      locale,
      languages: locale,
      url: new Map(Object.entries(params)),
      page: `/solution/${name}/index.html`,
      browser: 'test',
      account: null,
      forget: async () => {
        if (session !== null) await sessions.end(name, session.cookie)
      },
    }
  }

  const everything = started.move()
  return {
    solution,
    signIn: (params) => withScriptErrors(signIn(solution, params, { bindings, supervisor, log })),
    getOAuthConfig: (params) => withScriptErrors(getOAuthConfig(solution, params, { bindings, supervisor, log })),
    async open(opening) {
      const client = await withScriptErrors(visitorOf(opening).then((visitor) => openClient(visitor, parts)))
      open.push(client)
      return client
    },
    async addUser(user) {
      const { uid } = await withScriptErrors(users.create({ ...user, mustChangePassword: false }))
      added.push(uid)
      await grants.put(name, { ...(await grants.get(name)), users: true })
      return { uid }
    },
    answerHttp: http.declare,
    httpRequests: http.seen,
    async clear() {
      // Effects and errors of closing clients belong to no test.
      for (const client of open) await client.close().catch(() => {})
      for (let page = await users.list(ALL); page.items.length > 0; page = await users.list(ALL)) {
        for (const { uid } of page.items) await users.delete(uid)
      }
      if (added.length > 0) await grants.put(name, { ...(await grants.get(name)), users: false })
      await databases.erase(name)
      http.clear()
      problems.length = 0
      open = []
      added = []
    },
    stop: () => everything.disposeAsync(),
  }
}
