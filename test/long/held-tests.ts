import { setTimeout as wait } from 'node:timers/promises'
import { seededRandom } from '../support/random.ts'
import { descendantsOf } from './processes.ts'
import type { Rows } from './report.ts'
import { runTests } from './run-tests.ts'

const SEED = Number(process.env.LONG_SEED ?? 47)
/** The paths of the tests to run. By default, all tests. */
const PATHS = process.env.LONG_TESTS?.split(' ') ?? []
/** How long a process is suspended, and the longest time between two suspensions, in ms. */
const HELD = 600
const BETWEEN = 1000

/**
 * Runs the tests and repeatedly suspends one of their processes for a moment, to simulate a busy machine. The process
 * is chosen at random: a test, host, sandbox process, browser or database server. A test that fails here depends on
 * timing.
 */
export async function heldTests(rows: Rows): Promise<void> {
  const { pid, report } = runTests(PATHS)
  const over = new AbortController()
  const ended = report.finally(() => over.abort())
  // Without a pid, the tests did not start; `ended` reports this.
  const held = pid === undefined ? 0 : await holdSome(pid, over.signal)
  const { numTotalTests, numFailedTests } = await ended
  rows.tell('seed', SEED)
  rows.tell(`processes held for ${HELD} ms`, held)
  rows.tell('tests', numTotalTests)
  rows.atMost('tests that failed', 0, numFailedTests)
}

/** Suspends processes until `over` is aborted. @returns how many times a process was suspended */
async function holdSome(root: number, over: AbortSignal): Promise<number> {
  const random = seededRandom(SEED)
  let held = 0
  while (!over.aborted) {
    const all = descendantsOf(root)
    const pid = all[random.below(all.length)]
    if (pid !== undefined && signal(pid, 'SIGSTOP')) {
      await wait(HELD)
      signal(pid, 'SIGCONT')
      held += 1
    }
    await wait(random.next() * BETWEEN)
  }
  return held
}

/** Sends the signal. @returns whether the process exists */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
