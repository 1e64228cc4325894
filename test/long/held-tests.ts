import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { seededRandom } from '../support/random.ts'
import { descendantsOf } from './processes.ts'
import type { Rows } from './report.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SEED = Number(process.env.LONG_SEED ?? 47)
/** The paths of the tests to run. By default, all tests. */
const PATHS = process.env.LONG_TESTS?.split(' ') ?? []
/** How long a process is suspended, and the longest time between two suspensions, in ms. */
const HELD = 600
const BETWEEN = 1000

type TestReport = { readonly numTotalTests: number; readonly numFailedTests: number }

/**
 * Runs the tests and repeatedly suspends one of their processes for a moment, to simulate a busy machine: a test, host,
 * sandbox process, browser or database server, chosen at random. If a test fails, it depends on timing.
 */
export async function heldTests(rows: Rows): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-held-'))
  const report = join(folder, 'report.json')
  try {
    const tests = spawn(
      process.execPath,
      [
        join(ROOT, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${report}`,
        ...PATHS,
      ],
      { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] },
    )
    const over = new AbortController()
    const ended = once(tests, 'exit').finally(() => over.abort())
    // Without a pid, the tests did not start; `ended` reports this.
    const held = tests.pid === undefined ? 0 : await holdSome(tests.pid, over.signal)
    await ended
    const { numTotalTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8')) as TestReport
    rows.tell('seed', SEED)
    rows.tell(`processes held for ${HELD} ms`, held)
    rows.tell('tests', numTotalTests)
    rows.atMost('tests that failed', 0, numFailedTests)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
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

/** @returns whether the process exists */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
