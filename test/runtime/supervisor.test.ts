import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, expect, test } from 'vitest'
import * as z from 'zod'
import { command, type Plugin, request } from '../../runtime/plugin.ts'
import { createScriptLab, type ScriptLab } from '../support/solutions.ts'

let lab: ScriptLab
afterEach(() => lab.stop())
afterAll(() => rmSync(folder, { recursive: true }))

const folder = mkdtempSync(join(tmpdir(), 'solhost-guest-'))
const guest = pathToFileURL(join(folder, 'guest.js'))
writeFileSync(
  guest,
  "export default function probe(api) { return { ask: (text) => api.request('ask', [text]), change: (text) => api.request('change', [text]), note: (text) => api.command('note', [text]) } }",
)

/** A plugin whose requests wait until the test lets them go. */
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
  const until = async (count: number) => {
    while (asked.length < count) await new Promise(setImmediate)
  }
  return { plugin, asked, noted, until, letGo: () => waiting.splice(0).forEach((go) => void go()) }
}

const waits = (method: string) =>
  `async function onSolutionOpen(arg) { await probe.${method}(arg); security.login(arg, 'u', ['x']) }`

test('calls that only shared a process with the one that ended it are run once more', async () => {
  const { plugin, asked, until, letGo } = probePlugin()
  lab = createScriptLab({ plugins: [plugin] })
  const script = waits('ask')
  const running = [lab.run({ script, arg: 'anna' }), lab.run({ script, arg: 'bram' })]
  await until(2)
  const [worker] = lab.supervisor.processes().filter(({ calls }) => calls === 2)
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await until(4)
  letGo()
  const ends = await Promise.all(running)
  expect(ends.map(({ effects }) => effects.login?.username)).toEqual(['anna', 'bram'])
  expect(asked.sort()).toEqual(['anna', 'anna', 'bram', 'bram'])
})

test('a call that made a request that can change something is never run again, even before it was answered', async () => {
  const { plugin, asked, until } = probePlugin()
  lab = createScriptLab({ plugins: [plugin] })
  const script = waits('change')
  const running = [lab.run({ script, arg: 'anna' }), lab.run({ script, arg: 'bram' })]
  await until(2)
  const [worker] = lab.supervisor.processes().filter(({ calls }) => calls === 2)
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  const ends = await Promise.all(running)
  expect(ends.map(({ failure }) => failure?.code)).toEqual(['script_crashed', 'script_crashed'])
  expect(asked.sort()).toEqual(['anna', 'bram'])
})

test('a plugin’s command without withoutLogin counts only with an accepted login', async () => {
  const { plugin, noted } = probePlugin()
  lab = createScriptLab({ plugins: [plugin] })
  await lab.run({ script: "function onSolutionOpen() { probe.note('refused') }" })
  await lab.run({ script: "function onSolutionOpen() { probe.note('before'); security.login('a', 'b', ['x']) }" })
  await lab.run({
    script: "function onSolutionOpen() { probe.note('out'); security.login('a', 'b', ['x']); security.logout() }",
  })
  expect(noted).toEqual(['before', 'out'])
})

test('a login that is followed by a logout logs nobody in', async () => {
  lab = createScriptLab()
  const { effects } = await lab.run({
    script: "function onSolutionOpen() { security.login('a', 'b', ['x']); security.logout() }",
  })
  expect(effects.login).toBeNull()
})

test('a process that is idle for longer than a load may take is neither ended nor counted as hung', async () => {
  lab = createScriptLab({ limits: { LOAD_TIME: 200 } })
  const script = "function onSolutionOpen(arg) { if (arg === 'bad') throw new Error('x'); return '{}' }"
  for (const arg of ['good', 'good', 'bad', 'good']) await lab.run({ script, arg })
  const pid = lab.supervisor.processes().find(({ key }) => key !== null)?.pid
  await new Promise((resolve) => setTimeout(resolve, 700))
  expect(lab.supervisor.processes().find(({ key }) => key !== null)?.pid).toBe(pid)
  expect((await lab.run({ script })).failure).toBeNull()
})

test('a logout that a login follows does not undo it', async () => {
  lab = createScriptLab()
  const { effects } = await lab.run({
    script: "function onSolutionOpen() { security.logout(); security.login('a', 'b', ['x']) }",
  })
  expect(effects).toMatchObject({ login: { username: 'a' }, logout: null })
})

test('a plugin whose settings fail for a solution makes its calls fail, and nothing is left behind', async () => {
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

test('a retired process ends its running calls and then itself; the next call gets another one', async () => {
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
  while (lab.supervisor.processes().some((one) => one.pid === pid)) await new Promise(setImmediate)
})
