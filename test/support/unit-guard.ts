import { ChildProcess } from 'node:child_process'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Server } from 'node:net'
import { afterEach } from 'vitest'

/**
 * Fails a unit test that starts a process, a thread or a server, or that waits for the real clock. Imports alone don't show
 * whether code runs, so this file checks it while the tests run. Such a test belongs in another project; the name of its file
 * says which (CONTRIBUTING.md, "Tests").
 */
const require = createRequire(import.meta.url)
const children = require('node:child_process') as Record<string, unknown>
const threads = require('node:worker_threads') as Record<string, unknown>
const timers = require('node:timers') as { setTimeout: typeof setTimeout }
const timersOfPromises = require('node:timers/promises') as Record<string, unknown>

/** Below this a delay is a batch or a pause of the code under test, in ms. */
const LONGEST_DELAY = 100

let problem: string | null = null

function refuse(what: string): never {
  problem = `A unit test ${what}. Name its file *.parts.test.ts or *.flow.test.ts (CONTRIBUTING.md, "Tests").`
  throw new Error(problem)
}

function checkDelay(delay: unknown): void {
  if (Number(delay) < LONGEST_DELAY || delay === undefined) return
  problem = `A unit test waits ${delay} ms. Pass a clock in, use vi.useFakeTimers(), or name its file *.parts.test.ts.`
}

Object.assign(ChildProcess.prototype, { spawn: () => refuse('starts a process') })
for (const name of ['spawnSync', 'execSync', 'execFileSync']) children[name] = () => refuse('starts a process')
Server.prototype.listen = () => refuse('starts a server')
threads.Worker = class {
  constructor() {
    refuse('starts a thread')
  }
}

// Only a delay that elapses counts: a timeout that is cleared costs nothing.
const { setTimeout: realTimeout } = timers
const watchedTimeout = (callback: (...values: unknown[]) => void, delay?: number, ...values: unknown[]) => {
  const elapsed = () => {
    checkDelay(delay)
    callback(...values)
  }
  return realTimeout(elapsed, delay)
}
timers.setTimeout = globalThis.setTimeout = Object.assign(watchedTimeout, realTimeout) as typeof setTimeout
const realWait = timersOfPromises.setTimeout as (...values: unknown[]) => Promise<unknown>
timersOfPromises.setTimeout = async (delay?: number, ...rest: unknown[]) => {
  const value = await realWait(delay, ...rest)
  checkDelay(delay)
  return value
}
syncBuiltinESMExports()

/** What the test did that a unit test must not, and forgets it. */
export function takeProblem(): string | null {
  const found = problem
  problem = null
  return found
}

// Code under test may catch the error: the test still fails.
afterEach(() => {
  const found = takeProblem()
  if (found !== null) throw new Error(found)
})
