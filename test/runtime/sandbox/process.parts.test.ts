import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { builtInPlugins } from '../../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../../base/bundles/trusted.ts'
import { createFrameReader, encodeFrame } from '../../../runtime/frames.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { residentSize } from '../../../runtime/process-memory.ts'
import { checkFromSandbox } from '../../../runtime/protocol-check.ts'
import { SANDBOX_FLAGS, type SandboxProcess, startSandboxProcess } from '../../../runtime/sandbox-process.ts'
import { trustedFrames } from '../../../runtime/trusted-frames.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const limits = createLimits()
const plugins = builtInPlugins('none', limits)
const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)

let started: SandboxProcess | null = null
afterEach(() => started?.kill())

/**
 * Runs code outside an isolate, in a process with a sandbox process's flags, like an attacker who has escaped from V8.
 * @returns what the code prints
 */
function outcomeOf(code: string): string {
  const env = { TZ: 'Etc/UTC' }
  const { stdout } = spawnSync(process.execPath, [...SANDBOX_FLAGS, '--input-type=module', '-e', code], {
    env,
    encoding: 'utf8',
    cwd: ROOT,
  })
  return stdout.trim()
}

test.each([
  ['read a file on the machine', "fs.readFileSync('/etc/passwd')"],
  ['read the platform’s data', `fs.readdirSync(${JSON.stringify(`${ROOT}data`)})`],
  ['read its own environment from /proc', "fs.readFileSync('/proc/self/environ')"],
  ['write a file', "fs.writeFileSync('/tmp/solhost-probe', 'x')"],
  ['start a program', "cp.spawnSync('id')"],
  ['start a thread', "new wt.Worker('1', { eval: true })"],
])('a sandbox process cannot %s', (_what, code) => {
  const imports = "import fs from 'node:fs'; import cp from 'node:child_process'; import wt from 'node:worker_threads';"
  expect(outcomeOf(`${imports} try { ${code}; console.log('done') } catch (e) { console.log(e.code) }`)).toBe(
    'ERR_ACCESS_DENIED',
  )
})

test('a sandbox process cannot open a connection', () => {
  const code =
    "import net from 'node:net'; const s = net.connect(80, '127.0.0.1'); s.on('error', (e) => console.log(e.code)); s.on('connect', () => console.log('connected'))"
  expect(outcomeOf(code)).toBe('ERR_ACCESS_DENIED')
})

test('a sandbox process can send signals to processes of the same account, including its host', () => {
  expect(
    outcomeOf("try { process.kill(process.ppid, 0); console.log('done') } catch (e) { console.log(e.code) }"),
  ).toBe('done')
})

test('a process that starts from a snapshot is ready immediately, and rehearses a call while it waits for work', async () => {
  started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  await started.ready
  started.kill()
  started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  const { pid, ready } = started
  await ready
  const before = cpuTimeOf(pid)
  // The rehearsal takes about 10 ms. Without it, the process would use almost no CPU time.
  await waitUntil(() => expect(cpuTimeOf(pid) - before).toBeGreaterThan(3))
})

/** Returns the CPU time of the process's main thread, in ms. */
function cpuTimeOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6
}

test('a sandbox process has only TZ and UV_THREADPOOL_SIZE in its environment', async () => {
  process.env.SOLHOST_PROBE_SECRET = 'secret'
  started = startSandboxProcess({ timeZone: 'Europe/Brussels', trusted })
  await started.ready
  const environment = readFileSync(`/proc/${started.pid}/environ`, 'utf8')
    .split('\0')
    .filter((entry) => entry !== '')
  expect(environment.sort()).toEqual(['TZ=Europe/Brussels', 'UV_THREADPOOL_SIZE=2'])
})

test('a sandbox process ignores SIGUSR1, and has no thread that would open a debugger', async () => {
  started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  const { pid, ready } = started
  await ready
  const threads = readdirSync(`/proc/${pid}/task`).map((id) => readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8'))
  expect(threads.join('')).toContain('node-MainThread')
  expect(threads.join('')).not.toContain('SignalInspector')
  const answered = Promise.withResolvers<string>()
  started.onMessage = ({ kind }) => answered.resolve(kind)
  process.kill(pid, 'SIGUSR1')
  started.send({ kind: 'ping' })
  expect(await answered.promise).toBe('pong')
})

test('the first process for clients creates their snapshot before its work, and the next one gets it', async () => {
  const own = readTrusted(plugins, createSandboxSolutionMaker(plugins), { ...limits, CALL_REQUESTS: 7 })
  const frames = trustedFrames(own)
  const { solution } = own.rehearsal
  for (const isKnown of [false, true]) {
    const process = startSandboxProcess({ timeZone: 'Etc/UTC', trusted: own })
    started = process
    await process.ready
    expect([frames.hasClientSnapshot(), frames.forClients().length]).toEqual([isKnown, isKnown ? 2 : 1])
    const ended = new Promise<unknown>((resolve) => {
      process.onMessage = (message) => {
        if (message.kind === 'ended') resolve(message.outcome)
      }
    })
    process.send({ kind: 'serve', solution: { ...solution, clients: { formScripts: [], settings: {}, tables: {} } } })
    process.send({ kind: 'open', client: 1, id: 1 })
    expect(await ended).toMatchObject({ ok: true })
    process.kill()
  }
})

test('if a sandbox process receives unreadable data, it exits, and the host notices', async () => {
  started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  await started.ready
  const ended = new Promise<void>((resolve) => {
    if (started) started.onEnd = () => resolve()
  })
  started.send({ kind: 'load', solution: null } as never)
  await ended
  expect(started.ended()).toBe(true)
})

test('when a sandbox process is killed, its end is reported immediately, and its exit when the process no longer exists', async () => {
  const process = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  started = process
  await process.ready
  const told: string[] = []
  const gone = Promise.withResolvers<void>()
  process.onMessage = ({ kind }) => void told.push(kind)
  process.onEnd = (byOthers) => void told.push(byOthers ? 'killed by others' : 'ended')
  process.onExit = () => {
    told.push('gone')
    gone.resolve()
  }
  process.send({ kind: 'ping' })
  process.kill()
  expect(told).toEqual(['ended'])
  expect(process.ended()).toBe(true)
  await gone.promise
  expect(told).toEqual(['ended', 'gone'])
  expect(residentSize(process.pid)).toBe(0)
})

test.each([
  'no JSON',
  '{}',
  '{"kind":"ended","id":1}',
  '{"kind":"ready","extra":1}',
  '{"kind":"log","id":1,"level":"fatal","message":"x"}',
  '{"kind":"ended","id":1,"outcome":{"ok":true,"result":5,"commands":[],"milliseconds":1}}',
])('the host rejects the message %s', (text) => {
  expect(checkFromSandbox(text)).toBeNull()
})

test('frames: they arrive complete, regardless of how they are split', () => {
  const texts = ['', 'a', 'é'.repeat(1000), JSON.stringify({ x: '\u2028' })]
  const bytes = Buffer.concat(texts.map((text) => encodeFrame(text)))
  for (const size of [1, 2, 3, 7, 1000, bytes.length]) {
    const got: string[] = []
    const reader = createFrameReader(
      () => 10_000,
      (content) => got.push(content.toString()),
    )
    for (let at = 0; at < bytes.length; at += size) expect(reader.push(bytes.subarray(at, at + size))).toBe(true)
    expect(got).toEqual(texts)
  }
})

test('frames: one over the limit is rejected before any of it is stored', () => {
  const reader = createFrameReader(
    () => 10,
    () => {},
  )
  expect(reader.push(Buffer.from([0xff, 0xff, 0xff, 0xff]))).toBe(false)
})

test('the host terminates a sandbox process whose message it cannot handle, and keeps running', async () => {
  const warned = once(process, 'warning')
  started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  const ended = Promise.withResolvers<void>()
  started.onEnd = () => ended.resolve()
  started.onMessage = () => {
    throw new RangeError('a message of a process that was taken over')
  }
  await started.ready
  started.send({ kind: 'ping' })
  await ended.promise
  expect(String((await warned)[0])).toMatch(
    /the host terminated a sandbox process because it could not handle a message from the process \(at .*/,
  )
})
