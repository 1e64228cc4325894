import { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Server } from 'node:net'
import { afterEach } from 'vitest'

/**
 * Fails unit tests that start a process, a thread or a server, or wait for the real clock. The check happens at run
 * time, because imports don't show whether code runs. Move a test that fails here to another project by renaming its
 * file (CONTRIBUTING.md, "Tests").
 */
const require = createRequire(import.meta.url)
const children = require('node:child_process') as Record<string, unknown>
const threads = require('node:worker_threads') as Record<string, unknown>
const timers = require('node:timers') as { setTimeout: typeof setTimeout }
const timersOfPromises = require('node:timers/promises') as Record<string, unknown>

const WATCH = Symbol.for('solhost.unit-guard')

/** Tests may wait for less than this time, in ms. The code under test uses short delays for batches and pauses. */
const LONGEST_DELAY = 100

/**
 * State that all test files in a worker share. They also share the worker's globals, so those are patched only once,
 * although this module runs for each file.
 */
type Watch = { problem: string | null; file: number }
const shared = globalThis as { [WATCH]?: Watch }
const watch = shared[WATCH] ?? { problem: null, file: 0 }
shared[WATCH] = watch
watch.problem = null
watch.file++

function refuse(what: string): never {
  watch.problem = `A unit test ${what}. Name its file *.parts.test.ts or *.flow.test.ts (CONTRIBUTING.md, "Tests").`
  throw new Error(watch.problem)
}

/**
 * Reports a delay that was too long.
 * @param file the number of the test file that set the timer; if another file is running by now, nothing is reported
 */
function checkDelay(delay: unknown, file: number): void {
  if (file !== watch.file) return
  if (Number(delay) < LONGEST_DELAY || delay === undefined) return
  watch.problem = `A unit test waits ${delay} ms. Pass a clock in, use vi.useFakeTimers(), or name its file *.parts.test.ts.`
}

function watchGlobals(): void {
  Object.assign(ChildProcess.prototype, { spawn: () => refuse('starts a process') })
  for (const name of ['spawnSync', 'execSync', 'execFileSync']) children[name] = () => refuse('starts a process')
  Server.prototype.listen = () => refuse('starts a server')
  threads.Worker = class extends EventEmitter {
    constructor(_file: unknown, options?: { readonly name?: string }) {
      super()
      if (options?.name !== 'checkpoints') refuse('starts a thread')
    }
    // The checkpoint thread does nothing here. Without it, the embedded database does its own checkpoints.
    postMessage(): void {}
    unref(): void {}
    async terminate(): Promise<number> {
      return 0
    }
  }

  // Check a delay only after it has elapsed: a timeout that is cleared costs no time.
  const { setTimeout: realTimeout } = timers
  const watchedTimeout = (callback: (...values: unknown[]) => void, delay?: number, ...values: unknown[]) => {
    const { file } = watch
    const elapsed = () => {
      checkDelay(delay, file)
      callback(...values)
    }
    return realTimeout(elapsed, delay)
  }
  timers.setTimeout = globalThis.setTimeout = Object.assign(watchedTimeout, realTimeout) as typeof setTimeout
  const realWait = timersOfPromises.setTimeout as (...values: unknown[]) => Promise<unknown>
  timersOfPromises.setTimeout = async (delay?: number, ...rest: unknown[]) => {
    const { file } = watch
    const value = await realWait(delay, ...rest)
    checkDelay(delay, file)
    return value
  }
  syncBuiltinESMExports()
}
if (watch.file === 1) watchGlobals()

/** Returns the message about the test's last forbidden action, or null if there was none. Forgets the message. */
export function takeProblem(): string | null {
  const found = watch.problem
  watch.problem = null
  return found
}

// Fail the test even if the code under test caught the error.
afterEach(() => {
  const found = takeProblem()
  if (found !== null) throw new Error(found)
})
