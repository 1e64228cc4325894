import { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Server } from 'node:net'
import { afterEach } from 'vitest'

/**
 * Fails unit tests that start a process, a thread or a server, or wait for the real clock. Imports don't show whether
 * code runs, so this file checks it while tests run. Such a test belongs in another project, which its file name
 * selects (CONTRIBUTING.md, "Tests").
 */
const require = createRequire(import.meta.url)
const children = require('node:child_process') as Record<string, unknown>
const threads = require('node:worker_threads') as Record<string, unknown>
const timers = require('node:timers') as { setTimeout: typeof setTimeout }
const timersOfPromises = require('node:timers/promises') as Record<string, unknown>

const WATCH = Symbol.for('solhost.unit-guard')

/** Delays shorter than this, in ms, are allowed, because the code under test uses short delays to batch or pause. */
const LONGEST_DELAY = 100

/**
 * The test files in a worker share its globals, so they are patched only once, although this module runs for each file.
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

/** @param file the number of the test file that set the timer; a later file does not report it */
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
    // Does nothing. Without this thread, the embedded database does its own checkpoints.
    postMessage(): void {}
    unref(): void {}
    async terminate(): Promise<number> {
      return 0
    }
  }

  // Counts only delays that elapse, because a cleared timeout costs nothing.
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

/** Returns the test's last forbidden action, or null, and resets it. */
export function takeProblem(): string | null {
  const found = watch.problem
  watch.problem = null
  return found
}

// The test fails even if the code under test catches the error.
afterEach(() => {
  const found = takeProblem()
  if (found !== null) throw new Error(found)
})
