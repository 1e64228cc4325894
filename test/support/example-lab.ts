import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPasswords } from '../../base/accounts/passwords.ts'
import { createThrottle } from '../../base/accounts/throttle.ts'
import { createUsers } from '../../base/accounts/users.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
import { packFolder } from '../../base/bundles/pack.ts'
import { builtInPlugins } from '../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../base/bundles/trusted.ts'
import { openPlatformKey } from '../../base/config/platform-key.ts'
import { checkEvent } from '../../host/clients/check-event.ts'
import { createClientCaller } from '../../host/clients/client-calls.ts'
import { renderForm } from '../../host/clients/render/form.ts'
import { outlineOf } from '../../host/clients/render/outline.ts'
import { createScreen } from '../../host/clients/screen.ts'
import type { ElementState } from '../../host/clients/view.ts'
import { openHostDatabase } from '../../host/database/open.ts'
import { createGrants } from '../../host/grants/grants.ts'
import { createSolutionDatabases } from '../../host/solution-databases/solution-databases.ts'
import { createCatalog } from '../../host/solutions/catalog.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { createGuestBindings } from '../../host/solutions/guest-bindings.ts'
import type { NewLogLine, SolutionLog } from '../../host/solutions/solution-log.ts'
import { createSolutionStore } from '../../host/solutions/solution-store.ts'
import { createUploads } from '../../host/solutions/upload.ts'
import { createUsersForScripts } from '../../host/users/users-for-scripts.ts'
import type { BrowserEvent } from '../../host/web/frames.ts'
import type { SignedInUser } from '../../plugins/security/host.ts'
import { createLimits } from '../../runtime/limits.ts'
import type { Json } from '../../runtime/plugin.ts'
import { createSupervisor } from '../../runtime/supervisor.ts'
import { PASSWORD } from './users.ts'

/** Runs the example solutions with real sandbox processes, databases and users, but without HTTP. */
export type ExampleLab = {
  /** Uploads the example with this name. */
  readonly add: (name: string) => Promise<ActiveSolution>
  /** Deletes the solution's embedded database. The next client starts with an empty one. */
  readonly eraseDatabase: (name: string) => Promise<void>
  /** Creates a user in the users table. The password is `PASSWORD`. */
  readonly addUser: (username: string, permissions: readonly string[]) => Promise<void>
  readonly grantUsers: (solution: string) => Promise<void>
  /**
   * Opens a client and waits for its first form.
   * @param permissions the user's permissions; null opens the login form, with no user signed in
   */
  readonly open: (solution: ActiveSolution, username: string, permissions: readonly string[] | null) => Promise<Person>
  readonly lines: readonly NewLogLine[]
  readonly stop: () => Promise<void>
}

/**
 * What a user sees in a client, and the actions they can perform. The host validates the actions as if they came from a
 * browser.
 * @throws Error if an action is rejected
 */
export type Person = {
  readonly form: () => string | null
  /** Returns an element of the current form: its definition, with the changes that scripts have made. */
  readonly see: (element: string) => ElementState & Record<string, unknown>
  /** Returns the current form's HTML, as the host sends it to the browser. */
  readonly page: () => string
  readonly press: (element: string) => Promise<Effects>
  readonly enter: (element: string, value: Json) => Promise<Effects>
  readonly selectRows: (element: string, ids: readonly number[]) => Promise<Effects>
  readonly openRow: (element: string, id: number) => Promise<Effects>
  /**
   * Confirms leaving the form without saving.
   * @param form the form that a script wants to open
   */
  readonly leave: (form: string) => Promise<Effects>
}

const NOWHERE = { host: '127.0.0.1', port: 1, username: 'nobody', password: '', tls: 'off' } as const

export async function createExampleLab(): Promise<ExampleLab> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-example-'))
  // Use high time limits, because these tests don't check speed.
  const limits = createLimits({ CALL_TIME: 20_000, QUERY_TIME: 20_000 })
  const db = await openHostDatabase(home)
  const nothing = async () => {}
  const users = createUsers(db, createPasswords(), limits, { endAccess: nothing, eraseFromAudit: nothing })
  const grants = createGrants(db, await openPlatformKey(db, home, ''))
  const throttle = createThrottle(db, limits, false)
  const databases = createSolutionDatabases({
    grants,
    servers: { alpha: NOWHERE, beta: NOWHERE, gamma: NOWHERE },
    platform: { server: 'embedded', database: 'platform', username: '' },
    home,
    timeZone: 'Etc/UTC',
    limits,
    onError: fail,
    onRefused: (_call, message) => fail(message),
  })
  const audit = { record: nothing } as never
  const forScripts = createUsersForScripts({ users, grants, throttle, audit, noteRefusal: () => {} })
  const plugins = builtInPlugins('none', limits, { database: databases, users: forScripts })
  const makeSandboxSolution = createSandboxSolutionMaker(plugins)
  const supervisor = createSupervisor({
    limits,
    trusted: readTrusted(plugins, makeSandboxSolution, limits),
    timeZone: 'Etc/UTC',
  })
  const store = createSolutionStore(db, limits)
  const catalog = createCatalog(store, supervisor, makeSandboxSolution)
  const uploads = createUploads({ store, catalog, supervisor, makeSandboxSolution, limits })
  const lines: NewLogLine[] = []
  const log = { write: (_solution: string, line: NewLogLine) => void lines.push(line) } as unknown as SolutionLog
  const bindings = createGuestBindings({ plugins, limits, onPluginError: (error) => fail(String(error)) })
  const callClient = createClientCaller({ supervisor, bindings, log })

  function fail(message: string): never {
    throw new Error(message)
  }

  async function open(solution: ActiveSolution, username: string, permissions: readonly string[] | null) {
    const user: SignedInUser | null = permissions && { username, uid: `uid of ${username}`, permissions, tenant: null }
    const shownUser = user && { ...user, loggedInAt: 0 }
    const screen = createScreen({
      solution,
      locale: 'en',
      user: shownUser,
      account: () => null,
      isTesting: false,
      missing: (key) => fail(`the text ${key} is missing`),
      overrides: new Map(),
    })
    const sandbox = await supervisor.openClient(solution.loadable, { log: (line) => void lines.push(line) })
    if ('code' in sandbox) return fail(`${sandbox.code}: ${sandbox.message}`)

    async function call(entry: string, args: readonly Json[], kind: 'open' | 'login' = 'open'): Promise<Effects> {
      const host = { address: '127.0.0.1', locale: screen.locale, serverUrl: 'http://127.0.0.1:1' }
      const known = { user, account: null, messages: new Map(), onlyForm: null }
      const given = { kind, correlationId: randomUUID(), ...known, ...host }
      const { failure, effects } = await callClient(sandbox as never, solution, {
        entry,
        args,
        secrets: new Map(),
        call: given,
      })
      if (failure !== null) return fail(`${failure.code}: ${failure.message}`)
      screen.apply(effects, 0)
      return effects
    }

    async function act(element: string, type: string, value: Json): Promise<Effects> {
      const form = screen.shown ?? ''
      const event = { kind: 'event', seq: 1, form, element, type, value } as BrowserEvent
      const checked = checkEvent(event, definition(), screen.viewOf(form), screen.contextOf(form))
      if (checked.kind !== 'accepted') return fail(`${type} of ${form}.${element} is ${checked.kind}`)
      const mayLogIn = permissions === null && type === 'onAction'
      return call('forms.event', [{ form, element, type, value }], mayLogIn ? 'login' : 'open')
    }

    function definition() {
      return screen.definitionOf(screen.shown ?? '') ?? fail('no form is shown')
    }

    if (user !== null && solution.entries.main?.includes('onSolutionOpen')) await call('onSolutionOpen', [null, {}])
    const { loginForm, firstForm } = solution.manifest
    await call('forms.show', [user === null ? loginForm : firstForm])
    return {
      form: () => screen.shown,
      see(element: string) {
        const place = outlineOf(definition()).get(element) ?? fail(`there is no ${element}`)
        return { ...place.element, ...screen.viewOf(screen.shown ?? '').elements.get(element) } as never
      },
      page() {
        const form = screen.shown ?? ''
        return renderForm(definition(), screen.viewOf(form), screen.contextOf(form))?.html ?? ''
      },
      press: (element: string) => act(element, 'onAction', null),
      enter: (element: string, value: Json) => act(element, 'onElementDataChange', value),
      selectRows: (element: string, rows: readonly number[]) =>
        act(element, 'onRecordSelection', { rows: [...rows], selected: true }),
      openRow: (element: string, id: number) => act(element, 'onAction', id),
      leave: (form: string) => call('forms.leave', [form]),
    }
  }

  return {
    lines,
    open,
    async add(name) {
      await uploads.upload(await packFolder(exampleFolder(name)), name)
      return catalog.need(name)
    },
    eraseDatabase: (name) => databases.erase(name),
    async addUser(username, permissions) {
      await users.create({ username, password: PASSWORD, permissions: [...permissions], mustChangePassword: false })
    },
    async grantUsers(solution) {
      await grants.put(solution, { databases: {}, http: [], users: true })
    },
    async stop() {
      supervisor.stop()
      await databases.stop()
      await db.destroy()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
