import { createHash } from 'node:crypto'
import { checkManifest } from '../../runtime/bundle/manifest.ts'
import { readGuest } from '../../runtime/guest-source.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Json, Plugin } from '../../runtime/plugin.ts'
import type { Rehearsal, Trusted } from '../../runtime/protocol.ts'
import { activeSolution } from './active-solution.ts'
import { createHostCall } from './host-call.ts'
import type { PreparedSolution } from './prepared-solution.ts'
import type { SandboxSolutionMaker } from './sandbox-solution.ts'

const BOOTSTRAP = new URL('../../runtime/sandbox/guest.ts', import.meta.url)
const REALM = new URL('../../runtime/sandbox/realm.guest.ts', import.meta.url)

/** A script that runs the steps of a login, so that their code is compiled before the first real login. */
const REHEARSAL = `function onSolutionOpen(arg, queryParams) {
  i18n.setLocale('en')
  security.setTenantValue(1)
  security.login(queryParams.username, 'rehearsal', ['Rehearsal'])
  return JSON.stringify({ message: i18n.getI18NMessage('rehearsal') })
}`

/**
 * Returns the data that every sandbox process loads before it receives a solution. The platform and the operator wrote
 * the sources, so the host itself may strip their types.
 * @throws SyntaxError if the TypeScript of a guest part is invalid; any error that a plugin's `settings` throws
 */
export function readTrusted(
  plugins: readonly Plugin[],
  makeSandboxSolution: SandboxSolutionMaker,
  limits: Limits,
): Trusted {
  const guests = plugins.map(({ name, under, clientsOnly, onlyIfNamed, constants = null, guest }) => ({
    name,
    ...(under ? { under } : {}),
    ...(clientsOnly ? { clientsOnly } : {}),
    ...(onlyIfNamed ? { onlyIfNamed } : {}),
    constants,
    source: readGuest(guest),
  }))
  return sameObject({
    bootstrap: readGuest(BOOTSTRAP),
    realm: readGuest(REALM),
    guests,
    limits,
    tables: Object.fromEntries(plugins.flatMap(sharedTables)),
    rehearsal: createRehearsal(plugins, makeSandboxSolution),
  })
}

function sharedTables({ name, sharedTables: tables = {} }: Plugin): [string, string][] {
  return Object.entries(tables).map(([table, texts]) => [`${name} ${table}`, JSON.stringify(texts)])
}

const known = new Map<string, WeakRef<Trusted>>()

/**
 * Returns the same object for the same content, so that all supervisors in a process share a V8 snapshot (see
 * sandbox-process.ts). Each test run and each trial of a draft has its own supervisor, and creating a snapshot takes 15
 * ms.
 */
function sameObject(trusted: Trusted): Trusted {
  const key = createHash('sha256').update(JSON.stringify(trusted)).digest('hex')
  const shared = known.get(key)?.deref() ?? trusted
  known.set(key, new WeakRef(shared))
  return shared
}

function createRehearsal(plugins: readonly Plugin[], makeSandboxSolution: SandboxSolutionMaker): Rehearsal {
  const { manifest } = checkManifest({ name: 'rehearsal', version: '0.0.0' }, 'solution.json')
  if (manifest === null) throw new TypeError('the manifest of the built-in test solution is invalid')
  const prepared: PreparedSolution = {
    manifest,
    modules: [],
    scripts: [{ module: null, file: 'globals.js', source: REHEARSAL }],
    formScripts: [],
    forms: [],
    texts: { default: { rehearsal: '' } },
    template: null,
    entries: {},
    warnings: [],
  }
  const { facts, loadable } = activeSolution('', prepared, makeSandboxSolution)
  const call = createHostCall({
    kind: 'login',
    solution: facts,
    correlationId: '',
    user: null,
    account: null,
    address: '127.0.0.1',
    locale: 'en',
    serverUrl: 'http://127.0.0.1',
  })
  const args = [null, { username: 'rehearsal', password: '' }]
  const state = Object.fromEntries(plugins.map((plugin) => [plugin.name, stateOf(plugin)]))
  const entry = 'onSolutionOpen'
  return { solution: loadable.solution(), call: { unit: 'main', entry, args, state, timeLimit: 'CALL_TIME' } }

  /** Errors are ignored, because an operator's plugin may fail in this artificial call. */
  function stateOf(plugin: Plugin): Json {
    try {
      return plugin.state?.(call) ?? null
    } catch {
      return null
    }
  }
}
