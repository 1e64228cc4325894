import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, expect, test } from 'vitest'
import { command, type Plugin, request } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'
import { killProcess } from '../support/kill-process.ts'
import { createScriptLab, manifestOf, NO_FILES, type ScriptLab } from '../support/solutions.ts'
import { waitUntil } from '../support/wait-until.ts'

let lab: ScriptLab
afterEach(() => lab.stop())
afterAll(() => rmSync(folder, { recursive: true }))

const folder = mkdtempSync(join(tmpdir(), 'solhost-guest-'))
const guest = pathToFileURL(join(folder, 'guest.js'))
writeFileSync(
  guest,
  "export default function probe(api) { return { ask: (text) => api.request('ask', [text]), change: (text) => api.request('change', [text]), note: (text) => api.command('note', [text]) } }",
)

const untilSo = (isSo: () => boolean) => waitUntil(() => expect(isSo()).toBe(true), { interval: 5 })

/** Creates a plugin that responds to requests only when the test releases them. */
function probePlugin() {
  const asked: string[] = []
  const noted: string[] = []
  const waiting: (() => void)[] = []
  const answer = (_call: unknown, [text]: [string]) => {
    asked.push(text)
    return new Promise<null>((resolve) => waiting.push(() => resolve(null)))
  }
  const Text = z.tuple([z.string()])
  const plugin: Plugin = {
    name: 'probe',
    guest,
    commands: { note: command(Text, (_call, [text]) => void noted.push(text)) },
    requests: { ask: request(Text, answer, { changes: false }), change: request(Text, answer) },
  }
  const until = (count: number) => untilSo(() => asked.length >= count)
  const letGo = (count = waiting.length) => waiting.splice(0, count).forEach((go) => void go())
  return { plugin, asked, noted, until, letGo }
}

const waits = (method: string) =>
  `async function onSolutionOpen(arg) { await probe.${method}(arg); security.login(arg, 'u', ['x']) }`

test('if a call crashes its process, other calls in that process are retried', async () => {
  const { plugin, asked, until, letGo } = probePlugin()
  lab = createScriptLab({ plugins: [plugin] })
  const script = waits('ask')
  const running = [lab.run({ script, arg: 'anna' }), lab.run({ script, arg: 'bram' })]
  await until(2)
  const [worker] = lab.supervisor.processes().filter(({ calls }) => calls === 2)
  killProcess(worker?.pid)
  await until(4)
  letGo()
  const ends = await Promise.all(running)
  expect(ends.map(({ effects }) => effects.login?.username)).toEqual(['anna', 'bram'])
  expect(asked.sort()).toEqual(['anna', 'anna', 'bram', 'bram'])
})

test('if a call loops, other calls that have started in its process are retried immediately', async () => {
  const { plugin, asked, until, letGo } = probePlugin()
  lab = createScriptLab({ plugins: [plugin], limits: { AUTHENTICATOR_TIME: 1000 } })
  const script = `async function onSolutionOpen(arg) {
    await probe.ask(arg)
    if (arg === 'loops') for (;;);
    security.login(arg, 'u', ['x'])
  }`
  const running = []
  for (const arg of ['loops', 'anna', 'bram']) {
    running.push(lab.run({ script, arg }))
    await until(running.length)
  }
  letGo(1)
  const [looping, ...others] = running
  expect((await looping)?.failure?.code).toBe('script_timeout')
  // Each retried call sends its request again. On two cores, the second one starts when the first has ended.
  await until(4)
  letGo()
  await until(5)
  letGo()
  expect((await Promise.all(others)).map(({ effects }) => effects.login?.username)).toEqual(['anna', 'bram'])
  expect(asked.sort()).toEqual(['anna', 'anna', 'bram', 'bram', 'loops'])
})

test('a call that ended while the host was busy is not terminated, even if the host reads this only after the deadline', async () => {
  lab = createScriptLab({ limits: { AUTHENTICATOR_TIME: 300, LOAD_TIME: 300 } })
  const script = `function onSolutionOpen(arg) {
    for (const end = Date.now() + 150; Date.now() < end; );
    security.login(arg, 'u', ['x'])
  }`
  expect((await lab.run({ script, arg: 'first' })).failure).toBeNull()
  const running = lab.run({ script, arg: 'second' })
  await new Promise((resolve) => setTimeout(resolve, 100))
  // After an immediate, timers run before messages are read.
  await new Promise((resolve) => setImmediate(resolve))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
  expect((await running).failure).toBeNull()
})

test('a call that sent a request that can change something is never retried, even before the response', async () => {
  const { plugin, asked, until } = probePlugin()
  lab = createScriptLab({ plugins: [plugin] })
  const script = waits('change')
  const running = [lab.run({ script, arg: 'anna' }), lab.run({ script, arg: 'bram' })]
  await until(2)
  const [worker] = lab.supervisor.processes().filter(({ calls }) => calls === 2)
  killProcess(worker?.pid)
  const ends = await Promise.all(running)
  expect(ends.map(({ failure }) => failure?.code)).toEqual(['script_crashed', 'script_crashed'])
  expect(asked.sort()).toEqual(['anna', 'bram'])
})

test('a plugin’s command without withoutLogin takes effect only with an accepted login', async () => {
  const { plugin, noted } = probePlugin()
  lab = createScriptLab({ plugins: [plugin] })
  await lab.run({ script: "function onSolutionOpen() { probe.note('refused') }" })
  await lab.run({ script: "function onSolutionOpen() { probe.note('before'); security.login('a', 'b', ['x']) }" })
  await lab.run({
    script: "function onSolutionOpen() { probe.note('out'); security.login('a', 'b', ['x']); security.logout() }",
  })
  expect(noted).toEqual(['before', 'out'])
})

test('a login followed by a logout signs nobody in', async () => {
  lab = createScriptLab()
  const { effects } = await lab.run({
    script: "function onSolutionOpen() { security.login('a', 'b', ['x']); security.logout() }",
  })
  expect(effects.login).toBeNull()
})

test('a process that is idle for longer than LOAD_TIME is not terminated and does not count as hung', async () => {
  lab = createScriptLab({ limits: { LOAD_TIME: 1000 } })
  const script = "function onSolutionOpen(arg) { if (arg === 'bad') throw new Error('x'); return '{}' }"
  for (const arg of ['good', 'good', 'bad', 'good']) await lab.run({ script, arg })
  const pid = lab.supervisor.processes().find(({ key }) => key !== null)?.pid
  await new Promise((resolve) => setTimeout(resolve, 1600))
  expect(lab.supervisor.processes().find(({ key }) => key !== null)?.pid).toBe(pid)
  expect((await lab.run({ script })).failure).toBeNull()
})

test('a login after a logout stays valid', async () => {
  lab = createScriptLab()
  const { effects } = await lab.run({
    script: "function onSolutionOpen() { security.logout(); security.login('a', 'b', ['x']) }",
  })
  expect(effects).toMatchObject({ login: { username: 'a' }, logout: null })
})

test('if a plugin’s settings fail for a solution, the solution’s calls fail, and no process is left behind', async () => {
  const broken: Plugin = {
    ...probePlugin().plugin,
    settings: ({ name }) => {
      if (name === 'probe') throw new Error('no settings')
      return null
    },
  }
  lab = createScriptLab({ plugins: [broken] })
  const { failure } = await lab.run({ script: 'function onSolutionOpen() {}' })
  expect(failure).toMatchObject({ code: 'script_crashed', message: 'the solution could not be loaded: no settings' })
  expect(lab.supervisor.processes().every(({ key }) => key === null)).toBe(true)
})

test('a retired process finishes its running calls and then exits; the next call gets another process', async () => {
  const { plugin, until, letGo } = probePlugin()
  lab = createScriptLab({ plugins: [plugin] })
  const script = waits('ask')
  const running = lab.run({ script, arg: 'anna' })
  await until(1)
  const key = lab.supervisor.processes().find(({ calls }) => calls === 1)?.key ?? ''
  const pid = lab.supervisor.processes().find(({ calls }) => calls === 1)?.pid
  lab.supervisor.retire(key)
  const next = lab.run({ script, arg: 'bram' })
  await until(2)
  expect(lab.supervisor.processes().filter(({ calls }) => calls === 1)).toHaveLength(2)
  letGo()
  expect((await running).effects.login?.username).toBe('anna')
  expect((await next).effects.login?.username).toBe('bram')
  await untilSo(() => lab.supervisor.processes().every((one) => one.pid !== pid))
})

test('the process that checks an upload has the same priority as those that serve solutions', async () => {
  lab = createScriptLab()
  const groups: (string | null)[] = []
  const look = async () => {
    const { pid } = lab.supervisor.processes().find(({ calls }) => calls === 1) as { pid: number }
    groups.push(niceness(pid))
    return lab.solution({ manifest: manifestOf({}) }).loadable.solution()
  }
  const checked = await lab.supervisor.checkUpload(NO_FILES, look, [])
  expect(checked.faults).toEqual([])
  expect(groups).toEqual([niceness(process.pid)])
})

test('if no process can be started, the login fails, and the host gets the reason', async () => {
  const reasons: string[] = []
  const notStarted = (reason: string) => void reasons.push(reason)
  lab = createScriptLab({ processes: { debugNode: '/none/such', notStarted } })
  const { failure } = await lab.run({ script: 'function onSolutionOpen() {}' })
  expect(failure?.code).toBe('sandbox_busy')
  expect(new Set(reasons)).toEqual(new Set(['the sandbox process could not be started: spawn /none/such ENOENT']))
})

test('if the host stops while a sign-in or a client waits for its process, the sign-in or client fails as busy, not as crashed', async () => {
  lab = createScriptLab()
  const { loadable } = lab.solution({ manifest: manifestOf({}) })
  const [signIn, client] = [
    lab.run({ script: 'function onSolutionOpen() {}' }),
    lab.supervisor.openClient(loadable, { log: () => {} }),
  ]
  await lab.supervisor.stop()
  const failure = { code: 'sandbox_busy', message: 'the host is stopping; try again in a moment' }
  expect((await signIn).failure).toMatchObject(failure)
  expect(await client).toMatchObject(failure)
})

test('with keepsCheckReady, a process waits for the next upload after each check', async () => {
  lab = createScriptLab({ keepsCheckReady: true, memory: { minimum: 0, maximum: 1024 ** 3 } })
  const used: number[] = []
  const ofCheck = () => lab.supervisor.processes().find(({ calls }) => calls === 1)?.pid as number
  const check = () =>
    lab.supervisor.checkUpload(NO_FILES, async () => {
      used.push(ofCheck())
      return lab.solution({ manifest: manifestOf({}) }).loadable.solution()
    }, [])
  expect((await check()).faults).toEqual([])
  // The memory limit allows only one spare process. Once two processes are listed, one of them is therefore ready for
  // the next check.
  const waiting = () => lab.supervisor.processes().map(({ pid }) => pid)
  await untilSo(() => waiting().length >= 2 && !waiting().includes(used[0] as number))
  const ready = waiting().at(-1)
  expect((await check()).faults).toEqual([])
  expect(used[1]).toBe(ready)
  await untilSo(() => waiting().length >= 2 && !waiting().includes(used[1] as number))
  const next = waiting().at(-1) as number
  process.kill(next, 'SIGKILL')
  await untilSo(() => !waiting().includes(next))
  expect((await check()).faults).toEqual([])
  expect(used[2]).not.toBe(next)
})

/**
 * Reads the niceness of the process's session. If the process is in no group, the file is empty; this is equivalent to
 * a niceness of 0.
 * @returns null if the kernel does not group processes by session
 */
function niceness(pid: number): string | null {
  const file = `/proc/${pid}/autogroup`
  if (!existsSync(file)) return null
  const shown = readFileSync(file, 'utf8').trim()
  return shown === '' ? '0' : shown.replace(/^.* nice /, '')
}
