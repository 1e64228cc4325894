import { availableParallelism, getPriority } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { createScriptLab, type ScriptLab } from '../support/solutions.ts'
import { waitUntil } from '../support/wait-until.ts'

// Tests that the host kills the processes of a misbehaving solution, and pauses the solution after the third kill.

let lab: ScriptLab
afterEach(() => lab.stop())

const HEALTHY = "function onSolutionOpen() { security.login('n', 'n', ['Users']) }"
/** A loop in native code. No timeout inside the process can interrupt it. */
const NATIVE_LOOP = 'Array.prototype.indexOf.call(new Proxy({ length: 2 ** 53 - 1 }, {}), 1)'

/**
 * Runs a script several times, sequentially. On a busy machine, the host may reject a call because it waited too long.
 * Such a call is repeated. A call that is rejected because the solution is paused is not repeated.
 * @returns the calls' error codes
 */
async function codesOf(script: string, calls: number): Promise<(string | undefined)[]> {
  const codes: (string | undefined)[] = []
  while (codes.length < calls) {
    const { failure } = await lab.run({ script })
    if (failure?.code !== 'sandbox_busy' || failure.retryAt !== undefined) codes.push(failure?.code)
  }
  return codes
}

/** Returns the ids of the processes that serve the lab's nth solution. */
function processesOf(solution: number): number[] {
  const all = lab.supervisor.processes().filter(({ key }) => key?.endsWith(`sha-${solution}`))
  return all.map(({ pid }) => pid)
}

test('calls that are cut off count as kills: after three, the solution is paused, and others are not', async () => {
  lab = createScriptLab({ limits: { AUTHENTICATOR_TIME: 700 } })
  expect(await codesOf('function onSolutionOpen() { for (;;); }', 4)).toEqual([
    'script_timeout',
    'script_timeout',
    'script_timeout',
    'sandbox_busy',
  ])
  expect((await lab.run({ script: HEALTHY })).effects.login?.username).toBe('n')
})

test('calls that time out while waiting neither end the process nor pause the solution', async () => {
  lab = createScriptLab({ limits: { AUTHENTICATOR_TIME: 150 } })
  const script = 'function onSolutionOpen() { return new Promise(() => {}) }'
  await codesOf(script, 1)
  const before = processesOf(0)
  expect(await codesOf(script, 4)).toEqual(Array(4).fill('script_timeout'))
  expect(processesOf(0)).toEqual(before)
})

/**
 * Calls the lab's nth solution once, before the time `from`. After that time, the solution's top-level code hangs, so
 * no new context can be created.
 */
async function calledBefore(
  patience: number,
  solution: number,
): Promise<{ script: string; from: number; solution: number }> {
  const from = Date.now() + patience
  const script = `if (Date.now() >= ${from}) ${NATIVE_LOOP}
    function onSolutionOpen(arg, { waits }) { while (waits && Date.now() < ${from}); }`
  const [code] = await codesOf(script, 1)
  // On a busy machine, the call may end too late. If so, try again with a later time and another solution.
  return code === undefined && Date.now() < from - 1000
    ? { script, from, solution }
    : calledBefore(patience * 2, solution + 1)
}

test('a process that hangs while it creates the context for the next call is terminated, and counts towards a pause', async () => {
  lab = createScriptLab({ limits: { AUTHENTICATOR_TIME: 1500, LOAD_TIME: 500 } })
  await lab.run({ script: HEALTHY })
  const { script, from, solution } = await calledBefore(3000, 1)
  await new Promise((resolve) => setTimeout(resolve, from - 500 - Date.now()))
  expect((await lab.run({ script, queryParams: { waits: 'yes' } })).failure).toBeNull()
  expect(processesOf(solution)).toHaveLength(1)
  await waitUntil(() => expect(processesOf(solution)).toEqual([]), { interval: 20 })
  // Two more kills are enough to pause the solution, so this kill was counted.
  expect(await codesOf(script, 3)).toEqual(['script_timeout', 'script_timeout', 'sandbox_busy'])
})

test('if a call takes long, its process gets a lower priority from then on; processes with short calls don’t', async () => {
  lab = createScriptLab({ limits: { AUTHENTICATOR_TIME: 1000 } })
  await lab.run({ script: HEALTHY })
  const [healthy = 0] = processesOf(0)
  const running = codesOf('function onSolutionOpen() { for (;;); }', 1)
  await waitUntil(() => expect(processesOf(1).map((pid) => getPriority(pid))).toEqual([10]), { interval: 20 })
  expect(getPriority(healthy)).toBe(0)
  expect(await running).toEqual(['script_timeout'])
})

test('solutions whose processes were killed run in limited numbers at a time, and others don’t wait for them', async () => {
  lab = createScriptLab({ limits: { AUTHENTICATOR_TIME: 700 } })
  const atOnce = Math.max(1, availableParallelism() - 1)
  const loops = Array.from(
    { length: atOnce + 1 },
    (_, number) => `function onSolutionOpen() { for (;;); } // ${number}`,
  )
  for (const script of loops) expect(await codesOf(script, 1)).toEqual(['script_timeout'])
  let most = 0
  const look = setInterval(() => {
    const running = lab.supervisor.processes().filter(({ calls, key }) => calls > 0 && key !== null)
    most = Math.max(most, running.filter(({ key }) => !key?.endsWith(`sha-${loops.length}`)).length)
  }, 5)
  const ends: string[] = []
  const running = loops.map(async (script) => ends.push(String(await codesOf(script, 1))))
  await waitUntil(() => expect(most).toBe(atOnce), { interval: 5 })
  expect((await lab.run({ script: HEALTHY })).effects.login?.username).toBe('n')
  await Promise.all(running)
  clearInterval(look)
  expect(ends).toEqual(loops.map(() => 'script_timeout'))
  expect(most).toBe(atOnce)
})
