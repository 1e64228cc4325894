// A process of its own: the host's Koa app with its steps, sessions and database, and a plain function where the host
// has a sandbox. Its folder (the argument) is a copy of a real host's, so the solution is uploaded already.
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { openAdminAccount } from '../host/admin/account.ts'
import { requireAdmin } from '../host/admin/authentication.ts'
import { createApp, type HostParts } from '../host/app.ts'
import { createAudit } from '../host/audit/audit.ts'
import { openPlatformKey } from '../host/config/platform-key.ts'
import { readSettings } from '../host/config/settings.ts'
import { openDatabase } from '../host/database/open.ts'
import { httpServer } from '../host/http/server.ts'
import { createSites } from '../host/http/sites.ts'
import { createFormTokens } from '../host/login/form-token.ts'
import { createSessions } from '../host/sessions/sessions.ts'
import { createCatalog } from '../host/solutions/catalog.ts'
import { type Effects, noEffects } from '../host/solutions/host-call.ts'
import type { EntryRunner } from '../host/solutions/run-entry.ts'
import { createSolutionLog } from '../host/solutions/solution-log.ts'
import { createSolutionStore } from '../host/solutions/solution-store.ts'
import { createUploads } from '../host/solutions/upload.ts'
import type { Supervisor } from '../runtime/supervisor.ts'

type Hook = (arg: unknown, queryParams: unknown) => string

const settings = readSettings({ ...process.env, PORT: '0', PLATFORM_HOME: process.argv[2] ?? '' })
const { limits, home } = settings
const log = pino({ level: settings.logLevel, base: null })
const db = await openDatabase(home)
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
const parts: HostParts = {
  settings,
  log,
  version: 'bench',
  sites: createSites(settings, () => port),
  requireAdmin: requireAdmin(account, limits),
  catalog,
  store,
  uploads: createUploads({ store, catalog, supervisor, makeSandboxSolution: noSandbox, limits }),
  sessions: createSessions(db, limits),
  solutionLog: createSolutionLog(db, limits),
  audit: createAudit(db, limits),
  formTokens: createFormTokens(key),
  runEntry: plainRunner(readFileSync(new URL('login-hook.js', import.meta.url), 'utf8')),
  supervisor,
  isStopping: () => false,
}
const server = httpServer(createApp(parts))
let port = 0
server.listen(0, '127.0.0.1', () => {
  port = (server.address() as AddressInfo).port
  process.send?.({ port })
})
process.on('disconnect', () => process.exit(0))

/** The hook as a function of this process, made once; what it asks of the bindings is done at once. */
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
    return { failure: null, effects, values }
  }
}

function noSupervisor(): Supervisor {
  return {
    call: noSandbox,
    checkUpload: noSandbox,
    retire: () => {},
    retryAt: () => null,
    processes: () => [],
    stop: () => {},
  }
}

function noSandbox(): never {
  throw new TypeError('there is no sandbox here')
}
