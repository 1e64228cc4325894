import { command, request, ScriptError } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'
import { createScriptLab, type ScriptLab } from './solutions.ts'
import waits from './waits/host.ts'

/** The kinds of calls, and the error code that each must fail with. Null means that the call must succeed. */
const KINDS = {
  plain: null,
  listens: null,
  asks: null,
  'fails-to-ask': null,
  logs: null,
  refuses: null,
  leaves: null,
  throws: 'script_error',
  rejects: 'script_error',
  'listens-too-much': 'script_quota',
} as const

type Kind = keyof typeof KINDS

/**
 * The script for all kinds of calls. With one script, there is one solution version, so one process serves all calls.
 */
const SCRIPT = `
const kept = []
for (let n = 0; n < 200; n++) kept.push({ n, text: 'entry ' + n })

async function onSolutionOpen(arg, q) {
  const login = () => security.login(q.username, 'u', ['Users', 'Planners'])
  switch (q.kind) {
    case 'plain': return void login()
    case 'listens': {
      const removers = []
      for (let n = 0; n < 50; n++) removers.push(eventsManager.addEventListener('fired', (event, a) => a > n))
      eventsManager.fireEventListeners('fired', null, [10], EVENTS_AGGREGATION_TYPE.RETURN_VALUE_ARRAY)
      for (let n = 0; n < 25; n++) removers[n]()
      return void login()
    }
    case 'asks': {
      await waits.now()
      await Promise.all([waits.now(), waits.now()])
      return void login()
    }
    case 'fails-to-ask': try { await waits.fail() } catch { return void login() }
    case 'logs': console.log('a line of the log', { n: kept.length }); return void login()
    case 'refuses': return JSON.stringify({ error: 'no', list: kept })
    case 'leaves': {
      // The script leaves these behind. Their closures retain as much as they can.
      const large = new Array(10000).fill('large')
      globalThis.held = () => large
      eventsManager.addEventListener('fired', () => large)
      new Promise(() => large)
      waits.now().then(() => large)
      return void login()
    }
    case 'throws': throw new Error('as it should')
    case 'rejects': await waits.now(); return Promise.reject(new TypeError('as it should'))
    case 'listens-too-much': for (;;) eventsManager.addEventListener('fired', () => {})
  }
}`

export function mixedCallsLab(): ScriptLab {
  return createScriptLab({
    manifest: { eventTypes: { fired: {} } },
    plugins: [waits({ command, request, ScriptError, z })],
  })
}

/**
 * Makes `count` calls, cycling through all kinds. Runs at most two at the same time; a third would start another
 * process.
 */
export async function mixedCalls(lab: ScriptLab, count: number): Promise<void> {
  const kinds = Object.keys(KINDS) as Kind[]
  let next = 0
  const calls = async () => {
    while (next < count) {
      const kind = kinds[next++ % kinds.length] as Kind
      const { failure } = await lab.run({ script: SCRIPT, queryParams: { username: 'anna', kind } })
      const code = failure?.code ?? null
      if (code !== KINDS[kind]) throw new Error(`a call that ${kind} ended as ${code}: ${failure?.message}`)
    }
  }
  await Promise.all([calls(), calls()])
}

export function servingPid(lab: ScriptLab): number {
  return lab.supervisor.processes().find(({ key }) => key !== null)?.pid ?? 0
}
