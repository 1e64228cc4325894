import { afterEach, expect, test } from 'vitest'
import * as z from 'zod'
import { command, request, ScriptError } from '../../runtime/plugin.ts'
import { memoryOf } from '../../runtime/process-memory.ts'
import { createScriptLab, type ScriptLab } from '../support/solutions.ts'
import waits from '../support/waits/host.ts'

const MEGABYTE = 1024 ** 2
/** Room for about three processes that serve a solution, and the spare one. */
const ROOM = 100 * MEGABYTE

let lab: ScriptLab
afterEach(() => lab.stop())

const SOLUTIONS = ['a', 'b', 'c', 'd', 'e', 'f']

/** The solutions that processes serve; the lab numbers them as they come. */
function serving(): readonly (string | undefined)[] {
  return lab.supervisor.processes().map(({ key }) => SOLUTIONS[Number(key?.split('sha-')[1])])
}

function memoryInUse(): number {
  const all = [process.pid, ...lab.supervisor.processes().map(({ pid }) => pid)].map(memoryOf)
  return all.reduce((sum, { own }) => sum + own, 0) + Math.max(...all.map(({ shared }) => shared))
}

test('solutions that need more memory than there is take turns: the one that was idle for longest makes room', async () => {
  const { own, shared } = memoryOf(process.pid)
  const maximum = own + shared + ROOM
  lab = createScriptLab({ memory: { minimum: 0, maximum } })
  const sums: number[] = []
  const watch = setInterval(() => sums.push(memoryInUse()), 50)
  let used: readonly string[] = []
  let retired = 0

  for (const solution of [...SOLUTIONS, ...SOLUTIONS]) {
    const others = used.filter((one) => one !== solution && serving().includes(one))
    const script = `function onSolutionOpen() { security.login('${solution}', 'u', ['x']) }`
    const { effects } = await lab.run({ script })
    expect(effects.login?.username).toBe(solution)
    // A new spare has grown to its size meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 400))
    const gone = others.filter((one) => !serving().includes(one))
    expect(gone).toEqual(others.slice(0, gone.length))
    retired += gone.length
    used = [...others, solution]
  }
  clearInterval(watch)
  expect(retired).toBeGreaterThanOrEqual(4)
  expect(serving().filter((one) => one !== undefined).length).toBeLessThan(SOLUTIONS.length)
  expect(Math.max(...sums) / MEGABYTE).toBeLessThanOrEqual(maximum / MEGABYTE)
})

test('a process that grows while it works costs the idle ones their place, not the memory of others', async () => {
  const { own, shared } = memoryOf(process.pid)
  const waiting = waits({ command, request, ScriptError, z })
  lab = createScriptLab({ memory: { minimum: 0, maximum: own + shared + ROOM }, plugins: [waiting] })
  for (const solution of ['a', 'b']) {
    await lab.run({ script: `function onSolutionOpen() { security.login('${solution}', 'u', ['x']) }` })
  }
  await new Promise((resolve) => setTimeout(resolve, 400))
  expect(serving()).toEqual(expect.arrayContaining(['a', 'b']))
  const script = `async function onSolutionOpen() {
    const held = new Array(5_000_000).fill(1.5)
    for (let n = 0; n < 10; n++) await waits.ask()
    security.login('c' + held.length, 'u', ['x'])
  }`
  const { effects } = await lab.run({ script })
  expect(effects.login?.username).toBe('c5000000')
  expect(serving()).not.toContain('a')
})
