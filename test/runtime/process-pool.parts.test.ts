import { afterEach, expect, test } from 'vitest'
import { createMemoryBound } from '../../runtime/memory-bound.ts'
import { command, type Plugin, request, ScriptError } from '../../runtime/plugin.ts'
import { memoryOf } from '../../runtime/process-memory.ts'
import { z } from '../../runtime/zod.ts'
import { createScriptLab, manifestOf, NO_FILES, type ScriptLab } from '../support/solutions.ts'
import { waitUntil } from '../support/wait-until.ts'
import waits from '../support/waits/host.ts'

const MEGABYTE = 1024 ** 2
/** Enough memory for the spare process and for two or three processes that serve solutions, but not for four. */
const ROOM = 70 * MEGABYTE

let lab: ScriptLab
afterEach(() => lab.stop())

const SOLUTIONS = ['a', 'b', 'c', 'd']

/** Lists the solution that each process serves. The lab numbers solutions in the order of their first use. */
function serving(): readonly (string | undefined)[] {
  return lab.supervisor.processes().map(({ key }) => SOLUTIONS[Number(key?.split('sha-')[1])])
}

/**
 * Returns a process's private memory, or 0 for the process that runs the test, whose memory use differs between tests.
 */
const ownOf = (pid: number) => (pid === process.pid ? 0 : memoryOf(pid).own)
const memoryInUse = () => lab.supervisor.processes().reduce((sum, { pid }) => sum + ownOf(pid), 0)

function createTightLab(plugins: readonly Plugin[] = []): ScriptLab {
  const memory = (pid: number) => ({ own: ownOf(pid), shared: 0 })
  const bound = createMemoryBound({ configured: ROOM, memory, children: () => [] })
  return createScriptLab({ memory: { minimum: 0, maximum: ROOM }, bound, plugins })
}

/**
 * Waits until the spare process has reached its full size. By then, the host has ended the processes whose memory it
 * needed for the spare.
 */
async function untilSpareIsReady(): Promise<void> {
  await until(() =>
    lab.supervisor.processes().some(({ pid, key }) => key === null && memoryOf(pid).own > 10 * MEGABYTE),
  )
}

test('if solutions need more memory than there is, the process that was idle longest is ended', async () => {
  lab = createTightLab()
  const sums: number[] = []
  const watch = setInterval(() => sums.push(memoryInUse()), 50)
  let used: readonly string[] = []
  let retired = 0

  for (const solution of [...SOLUTIONS, ...SOLUTIONS]) {
    const others = used.filter((one) => one !== solution && serving().includes(one))
    const script = `function onSolutionOpen() { security.login('${solution}', 'u', ['x']) }`
    const { effects } = await lab.run({ script })
    expect(effects.login?.username).toBe(solution)
    await untilSpareIsReady()
    const gone = others.filter((one) => !serving().includes(one))
    expect(gone).toEqual(others.slice(0, gone.length))
    retired += gone.length
    used = [...others, solution]
  }
  clearInterval(watch)
  expect(retired).toBeGreaterThanOrEqual(4)
  expect(serving().filter((one) => one !== undefined).length).toBeLessThan(SOLUTIONS.length)
  expect(Math.max(...sums) / MEGABYTE).toBeLessThanOrEqual(ROOM / MEGABYTE)
})

test('a process that grows while it works displaces idle processes, but not busy ones', async () => {
  lab = createTightLab([waits({ command, request, ScriptError, z })])
  for (const solution of ['a', 'b']) {
    await lab.run({ script: `function onSolutionOpen() { security.login('${solution}', 'u', ['x']) }` })
  }
  await untilSpareIsReady()
  expect(serving()).toEqual(expect.arrayContaining(['a', 'b']))
  const script = `async function onSolutionOpen() {
    const held = new Array(3_000_000).fill(1.5)
    for (let n = 0; n < 10; n++) await waits.ask()
    security.login('c' + held.length, 'u', ['x'])
  }`
  const { effects } = await lab.run({ script })
  expect(effects.login?.username).toBe('c3000000')
  expect(serving()).not.toContain('a')
})

const spares = () => lab.supervisor.processes().filter(({ key }) => key === null).length

test('while solutions have to wait for processes, more spares start, as long as the memory allows it', async () => {
  const memory = labOf()
  const scripts = SOLUTIONS.map((name) => `function onSolutionOpen() { security.login('${name}', 'u', ['x']) }`)
  const signIns = Promise.all(scripts.map((script) => lab.run({ script })))
  await until(() => spares() > 1)
  expect((await signIns).map(({ effects }) => effects.login?.username)).toEqual(SOLUTIONS)
  memory.used = 975
  await until(() => spares() <= 1)
})

const WAITING = (name: string, held = 0) => `async function onSolutionOpen() {
  const held = new Array(${held}).fill(1.5)
  for (let n = 0; n < 10; n++) await waits.ask()
  security.login('${name}' + held.length, 'u', ['x'])
}`
const QUICK = "function onSolutionOpen() { security.login('q', 'u', ['x']) }"

/**
 * Simulates a host with 1000 MB of memory. The test sets how much is in use (`used`). Above 969 MB, the host starts to
 * terminate processes.
 */
function labOf() {
  const memory = { used: 0, heapFull: false }
  const bound = {
    measure: () => ({
      maximum: 1000 * MEGABYTE,
      configured: 1000 * MEGABYTE,
      groupLimit: null,
      used: memory.used * MEGABYTE,
    }),
    isHeapFull: () => memory.heapFull,
  }
  lab = createScriptLab({ bound, plugins: [waits({ command, request, ScriptError, z })] })
  return memory
}

const until = (isSo: () => boolean) => waitUntil(() => expect(isSo()).toBe(true), { interval: 5 })

const busiest = () => lab.supervisor.processes().filter(({ calls }) => calls > 0)

test('while a running call uses up the memory, new logins, uploads and bodies are rejected, and the call continues', async () => {
  const memory = labOf()
  const running = lab.run({ script: WAITING('a') })
  await until(() => busiest().length === 1)
  memory.used = 980
  await until(() => lab.supervisor.isFull())
  const { failure } = await lab.run({ script: QUICK })
  expect(failure).toMatchObject({
    code: 'sandbox_busy',
    message: 'the host has used all its memory (RUNTIME_XMX); try again later',
  })
  await expect(lab.supervisor.checkUpload(NO_FILES, neverAsked, [])).rejects.toMatchObject({
    code: 'ERR_MEMORY_FULL',
    details: { retryAfter: 5 },
  })
  expect(() => lab.supervisor.needRoom(1)).toThrow('This host has used all its memory')
  const waiting = lab.run({ script: QUICK })
  expect((await running).effects.login?.username).toBe('a0')
  memory.used = 100
  expect((await waiting).effects.login?.username).toBe('q')
  await until(() => !lab.supervisor.isFull())
  lab.supervisor.needRoom(800 * MEGABYTE)
  expect((await lab.run({ script: QUICK })).effects.login?.username).toBe('q')
})

test('above the maximum, the largest process is terminated: its call may be retried, and others continue', async () => {
  const memory = labOf()
  const small = lab.run({ script: WAITING('small') })
  const large = lab.run({ script: WAITING('large', 4_000_000) })
  await until(() => busiest().some(({ pid }) => memoryOf(pid).own > 50 * MEGABYTE))
  const [first] = busiest().sort((one, other) => memoryOf(other.pid).own - memoryOf(one.pid).own)
  const largest = first?.pid as number
  // The simulated memory use falls as soon as the largest process ends. Otherwise, the host would terminate the next
  // one too.
  Object.defineProperty(memory, 'used', { get: () => (memoryOf(largest).own === 0 ? 100 : 1001) })
  expect((await large).failure).toMatchObject({
    code: 'sandbox_busy',
    message: expect.stringMatching(
      /^the host had used all its memory .* so it terminated this sandbox process, which used the most: \d+ MB$/,
    ),
  })
  expect((await small).effects.login?.username).toBe('small0')
})

test('if a process is terminated for its memory, calls that changed something are not retried, but fail as busy', async () => {
  const memory = labOf()
  const script = `async function onSolutionOpen() {
    for (let n = 0; n < 50; n++) await waits.change()
    security.login('q', 'u', ['x'])
  }`
  const calls = [lab.run({ script }), lab.run({ script })]
  await until(() => busiest().some(({ calls }) => calls === 2))
  // Wait until both calls have received their first response. By then, both have changed something.
  await new Promise((resolve) => setTimeout(resolve, 300))
  memory.used = 1001
  const ended = (await Promise.all(calls)).map(({ failure }) => failure?.code)
  expect(ended).toEqual(['sandbox_busy', 'sandbox_busy'])
})

test('an upload whose check was terminated for memory does not count as invalid: it is rejected as busy, as is the next one', async () => {
  const memory = labOf()
  const checked = lab.supervisor.checkUpload(NO_FILES, async () => {
    memory.used = 1001
    await until(() => busiest().length === 0 || memoryOf(busiest()[0]?.pid as number).own === 0)
    memory.used = 0
    return lab.solution({ manifest: manifestOf({}) }).loadable.solution()
  }, [])
  await expect(checked).rejects.toMatchObject({ code: 'ERR_MEMORY_FULL' })
})

test('while the host’s own heap is nearly full, new work is rejected, and idle processes stay', async () => {
  const memory = labOf()
  await lab.run({ script: QUICK })
  const before = lab.supervisor.processes().map(({ pid }) => pid)
  memory.heapFull = true
  await until(() => lab.supervisor.isFull())
  expect((await lab.run({ script: QUICK })).failure?.code).toBe('sandbox_busy')
  expect(lab.supervisor.processes().map(({ pid }) => pid)).toEqual(expect.arrayContaining([before[0]]))
})

function neverAsked(): never {
  throw new TypeError('no process was to check it')
}

test('without spares, only the processes that serve a solution start', async () => {
  lab = createScriptLab({ keepsSpare: false })
  await Promise.all(
    SOLUTIONS.map((solution) => lab.run({ script: `function onSolutionOpen() { console.log('${solution}') }` })),
  )
  expect(serving().toSorted()).toEqual(SOLUTIONS)
})
