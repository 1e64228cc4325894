import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import application from '../../plugins/application/host.ts'
import database, { type DatabasePorts } from '../../plugins/database/host.ts'
import eventsManager from '../../plugins/events-manager/host.ts'
import forms from '../../plugins/forms/host.ts'
import http, { type HttpPorts } from '../../plugins/http/host.ts'
import i18n from '../../plugins/i18n/host.ts'
import jobs from '../../plugins/jobs/host.ts'
import security, { type PasswordHashesPort, type SecurityPorts, type UsersPort } from '../../plugins/security/host.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { command, type Plugin, request, ScriptError } from '../../runtime/plugin.ts'
import type { Trusted } from '../../runtime/protocol.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import { z } from '../../runtime/zod.ts'
import type { Environment } from '../config/properties.ts'
import { version } from '../program/version.ts'
import { hostCall, tenantOf } from './host-call.ts'
import { jobsOf } from './job-table.ts'
import { PLATFORM_TABLES } from './messages.ts'
import { eventTypesOf, permissionsOf } from './prepared-solution.ts'
import type { SandboxSolutionMaker } from './sandbox-solution.ts'
import { readTrusted } from './trusted.ts'

/**
 * Services that only a host with a database and network access provides. Plugins that need an absent service are left
 * out.
 */
export type PluginNeeds = {
  readonly database?: DatabasePorts
  readonly http?: HttpPorts
  readonly users?: UsersPort
  readonly passwordHashes?: PasswordHashesPort
}

/** The platform's own plugins, connected to the host. */
export function builtInPlugins(environment: Environment, limits: Limits, needs: PluginNeeds = {}): readonly Plugin[] {
  const securityPorts: SecurityPorts = {
    user: (call) => hostCall(call).user,
    tenant: (call) => tenantOf(hostCall(call)),
    permissions: permissionsOf,
    logIn: (call, login) => {
      const { effects } = hostCall(call)
      effects.login ??= login
      effects.logout = null
    },
    requireSecondFactor: (call) => {
      hostCall(call).effects.needsSecondFactor = true
    },
    methods: (call) => hostCall(call).methods ?? [],
    press: (call) => hostCall(call).press ?? null,
    confirm: (call, question) => {
      hostCall(call).effects.confirm ??= question
    },
    logOut: (call, target) => {
      const { effects } = hostCall(call)
      effects.login = null
      effects.logout = target
    },
    setTenant: (call, tenant) => {
      hostCall(call).effects.tenant = tenant
    },
    users: needs.users ?? noUsers(),
    passwordHashes: needs.passwordHashes ?? noPasswordHashes(),
  }
  return [
    security(securityPorts, limits),
    i18n({
      locale: (call) => hostCall(call).locale,
      messages: (call) => {
        const { messages, effects } = hostCall(call)
        return messages === undefined ? null : effects.messages
      },
      platformTables: PLATFORM_TABLES,
      setLocale: (call, locale) => {
        hostCall(call).effects.locale = locale
      },
      setMessage: (call, key, text) => {
        const { messages, effects } = hostCall(call)
        if (text === null) effects.messages.delete(key)
        else effects.messages.set(key, text)
        if (messages !== undefined) effects.messagesChanged = true
      },
      missing: (call, key) => {
        const { effects } = hostCall(call)
        effects.missingKeys = [...(effects.missingKeys ?? []), key]
      },
    }),
    application({
      serverUrl: (call) => hostCall(call).serverUrl,
      environment: () => environment,
      version: () => version,
      closeSolution: (call, target) => {
        hostCall(call).effects.close = target
      },
      forms: (solution) => solution.forms,
      showUrl: (call, url, target) => {
        hostCall(call).effects.showUrl = url
        hostCall(call).effects.showUrlTarget = target
      },
      showForm: (call, form) => {
        hostCall(call).effects.form = form
      },
      later: (call, run) => {
        const { effects } = hostCall(call)
        effects.later = [...(effects.later ?? []), run]
      },
      cancelLater: (call, id) => {
        const { effects } = hostCall(call)
        effects.cancelLater = [...(effects.cancelLater ?? []), id]
      },
    }),
    eventsManager({ eventTypes: eventTypesOf }),
    jobs(
      {
        names: (solution) => jobsOf(solution).map(({ name }) => name),
        enqueue: (call, run) => {
          const { effects } = hostCall(call)
          effects.queued = [...(effects.queued ?? []), run]
        },
      },
      limits,
    ),
    forms({
      update: (call, update) => {
        const { effects } = hostCall(call)
        effects.formUpdates = [...(effects.formUpdates ?? []), update]
      },
      show: (call, form) => {
        hostCall(call).effects.form = form
      },
      leaving: (call, form) => {
        hostCall(call).effects.leaving = form
      },
      onlyForm: (call) => hostCall(call).onlyForm ?? null,
      listening: (call, types) => {
        hostCall(call).effects.listening = types
      },
    }),
    ...(needs.database ? [database(needs.database)] : []),
    ...(needs.http ? [http(needs.http, limits)] : []),
  ]
}

function noUsers(): UsersPort {
  const refuse = async () => {
    throw new ScriptError('users are not available while a solution is being checked')
  }
  return {
    authenticate: refuse,
    checkPassword: refuse,
    getUser: refuse,
    createUser: refuse,
    deleteUser: refuse,
    setPassword: refuse,
    addPermission: refuse,
    removePermission: refuse,
  }
}

function noPasswordHashes(): PasswordHashesPort {
  const refuse = async () => {
    throw new ScriptError('password hashes are not available while a solution is being checked')
  }
  return { check: refuse, hash: refuse }
}

const PluginShape = z.object({
  name: z.string().regex(/^[A-Za-z_$][A-Za-z0-9_$]{0,62}$/),
  under: z.literal('plugins').optional(),
  guest: z.instanceof(URL),
  clientsOnly: z.literal(true).optional(),
  commands: z.record(z.string(), z.object({ check: z.function(), apply: z.function() })),
  requests: z.record(z.string(), z.object({ check: z.function(), answer: z.function() })).optional(),
})

/** Passed to plugins that operators install, because they can't import these functions. */
export type PluginApi = {
  readonly command: typeof command
  readonly request: typeof request
  readonly ScriptError: typeof ScriptError
  readonly z: typeof z
}

/**
 * Loads the plugins that the operator installed in `PLATFORM_HOME/plugins`. Each is a folder with a `host.ts` (or
 * `.js`), whose default export is `(api) => Plugin`, and a `guest.ts`. They run in the host process, so only the
 * operator can add them.
 * @throws ERR_PLUGIN_INVALID
 */
export async function operatorPlugins(home: string, taken: readonly string[]): Promise<readonly Plugin[]> {
  const folder = join(home, 'plugins')
  if (!existsSync(folder)) return []
  const plugins: Plugin[] = []
  const names = new Set(taken)
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => a.name.localeCompare(b.name))) {
    if (!entry.isDirectory()) continue
    const plugin = await loadPlugin(join(folder, entry.name))
    if (names.has(plugin.name)) {
      throw new PlatformError(
        'ERR_PLUGIN_INVALID',
        `The plugin in ${join(folder, entry.name)} has the name "${plugin.name}", which is already in use. Rename the plugin.`,
      )
    }
    names.add(plugin.name)
    plugins.push(plugin)
  }
  return plugins
}

/** Returns the guest parts and settings that sandbox processes load. @throws ERR_PLUGIN_INVALID */
export function usableTrusted(
  plugins: readonly Plugin[],
  makeSandboxSolution: SandboxSolutionMaker,
  limits: Limits,
): Trusted {
  try {
    return readTrusted(plugins, makeSandboxSolution, limits)
  } catch (error) {
    throw unusable(plugins, error instanceof Error ? error.message : String(error))
  }
}

/**
 * Checks the guest parts of all plugins in a sandbox process. The process compiles them, and loads a solution with
 * them: first as for a login, then as for a client.
 * @throws ERR_PLUGIN_INVALID if a guest part cannot be compiled or fails while it creates its globals
 */
export async function checkGuests(
  plugins: readonly Plugin[],
  supervisor: Supervisor,
  { rehearsal, limits }: Pick<Trusted, 'rehearsal' | 'limits'>,
): Promise<void> {
  const nothing = {
    scripts: [],
    formScripts: [],
    forms: [],
    i18n: [],
    loginTemplate: null,
    media: [],
    permissions: null,
  }
  const files = { ...nothing, isolateMemory: limits.ISOLATE_MEMORY as number }
  const { faults } = await supervisor.checkUpload(files, async () => rehearsal.solution, [
    { unit: 'main', entries: [] },
  ])
  if (faults[0] !== undefined) throw unusable(plugins, faults[0].message)
}

function unusable(plugins: readonly Plugin[], why: string): PlatformError {
  const names = plugins.map(({ name }) => name).join(', ')
  return new PlatformError(
    'ERR_PLUGIN_INVALID',
    `Cannot load the "guest" files of these plugins: ${names}. Reason: ${why}`,
  )
}

async function loadPlugin(folder: string): Promise<Plugin> {
  const file = ['host.ts', 'host.js'].map((name) => join(folder, name)).find((path) => existsSync(path))
  try {
    if (file === undefined) throw new TypeError('the folder contains neither host.ts nor host.js')
    const { default: create } = (await import(pathToFileURL(file).href)) as { default: (api: PluginApi) => Plugin }
    const plugin = create({ command, request, ScriptError, z })
    PluginShape.parse(plugin)
    if (!existsSync(plugin.guest)) throw new TypeError(`its "guest" file ${plugin.guest.pathname} does not exist`)
    return plugin
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new PlatformError(
      'ERR_PLUGIN_INVALID',
      `Cannot load the plugin in ${folder}: ${reason}`,
      {},
      { cause: error },
    )
  }
}
