import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseServer } from '../../base/database/kind.ts'
import { runFolder } from './run-folder.ts'
import { waitUntil } from './wait-until.ts'

/** A real database server on a free loopback port. Its data is in a temporary folder. */
export type TestServer = {
  /** The credentials of the server's administrator. */
  readonly address: DatabaseServer
  /**
   * The name of the platform's database on this server. Opening the database for the first time creates it. On a shared
   * server, each test file has its own database.
   */
  readonly database: string
  /** Kills the server to simulate a crash. Resolves when the server has exited. */
  readonly kill: () => Promise<void>
  /**
   * Suspends the server. Its connections stay open but it sends nothing, as after a network failure. Resolves when all
   * of its threads have stopped.
   */
  readonly freeze: () => Promise<void>
  readonly thaw: () => void
  /**
   * Starts the server again on the same port and with the same data.
   * @param options additional command-line options
   */
  readonly restart: (...options: string[]) => Promise<void>
  readonly isAlive: () => boolean
  /** Stops the server and removes its data. On a shared server, this has no effect. */
  readonly stop: () => Promise<void>
}

export type ServerProgram = {
  readonly username: string
  /** The system user that runs the server if the tests run as root. */
  readonly account: string
  readonly prepare: (folder: Folder) => void
  readonly command: (folder: string, port: number) => readonly [program: string, ...options: string[]]
  /** Matches the line that the server prints when it is ready for connections. */
  readonly ready: RegExp
}

export type Folder = {
  readonly path: string
  /** Runs a program as the server's system user, and waits until it exits. */
  readonly run: (program: string, options: readonly string[]) => void
}

export const PASSWORD = 'a test server’s password: \'"\\%'

/** The timeout, in ms, for a test hook that starts a server. It is long enough for a busy machine. */
export const SERVER_START = 120_000

/**
 * Returns a function that provides one server for all test files of this worker. The files run sequentially, each with
 * its own database. The first call starts the server. It stops when the worker exits, and its data is removed when the
 * test run ends.
 */
export function createSharedServer(start: (folder: string) => Promise<TestServer>): () => Promise<TestServer> {
  let starting: Promise<TestServer> | undefined
  let files = 0
  return async () => {
    // Vitest stops a worker with SIGTERM. Without a handler for it, the process's exit listeners would not be called.
    if (starting === undefined) process.once('SIGTERM', () => process.exit())
    starting ??= start(runFolder())
    const server = await starting
    // The previous test file may have failed and left the server suspended or stopped.
    server.thaw()
    if (!server.isAlive()) await server.restart()
    return { ...server, database: `file_${++files}`, stop: async () => {} }
  }
}

/**
 * Starts a server.
 * @throws Error if the server keeps exiting for 30 s
 */
export async function startServer(program: ServerProgram, parent = tmpdir()): Promise<TestServer> {
  const identity = identityOf(program.account)
  const path = mkdtempSync(join(parent, 'solhost-server-'))
  const { uid, gid } = identity
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
  program.prepare({
    path,
    run(name, options) {
      const { status, stderr } = spawnSync(name, options, { cwd: path, ...identity, encoding: 'utf8' })
      if (status !== 0) throw new Error(`${name} failed: ${stderr}`)
    },
  })
  const port = await freePort()
  const [name, ...options] = program.command(path, port)
  let running: ChildProcess

  async function start(...more: string[]): Promise<void> {
    const until = Date.now() + 30_000
    let output = ''
    // After a crash, the old server's child processes may still lock the data for a moment. A new server then exits
    // immediately. Retry until it starts.
    do {
      running = spawn(name, [...options, ...more], { cwd: path, ...identity, stdio: ['ignore', 'ignore', 'pipe'] })
      output = await untilReady(running, program.ready)
      if (output === '') return
      await new Promise((resolve) => setTimeout(resolve, 100))
    } while (Date.now() < until)
    throw new Error(`${name} does not start: ${output}`)
  }

  const isAlive = () => running.exitCode === null && running.signalCode === null

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!isAlive()) return
    const gone = new Promise((resolve) => running.once('exit', resolve))
    const children = signal === 'SIGKILL' ? childrenOf(running.pid) : []
    running.kill(signal)
    for (const child of children) sendTo(child, signal)
    await gone
  }

  function signalAll(signal: NodeJS.Signals): void {
    if (!isAlive()) return
    running.kill(signal)
    for (const child of childrenOf(running.pid)) sendTo(child, signal)
  }

  function endWithTests(): void {
    running.kill('SIGCONT')
    running.kill('SIGQUIT')
  }
  process.on('exit', endWithTests)
  await start()
  return {
    address: { host: '127.0.0.1', port, username: program.username, password: PASSWORD, tls: 'off' },
    database: 'platform',
    kill: () => end('SIGKILL'),
    async freeze() {
      signalAll('SIGSTOP')
      if (!isAlive()) return
      // On a busy machine, a server's other threads run until its main thread handles the signal.
      const pids = [running.pid, ...childrenOf(running.pid)]
      await waitUntil(() => assert.deepEqual(new Set(pids.flatMap(statesOf)), new Set(['T'])), { interval: 5 })
    },
    thaw: () => signalAll('SIGCONT'),
    restart: start,
    isAlive,
    async stop() {
      await end('SIGQUIT')
      await end('SIGKILL')
      process.off('exit', endWithTests)
      rmSync(path, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** PostgreSQL uses a child process for each connection. Suspend the children too, or they would still respond. */
function childrenOf(pid: number | undefined): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

/** Returns the state of each of the process's threads, for example 'S' for sleeping or 'T' for stopped (man 5 proc). */
function statesOf(pid: number | undefined): string[] {
  const stats = readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'),
  )
  return stats.map((stat) => stat.charAt(stat.lastIndexOf(')') + 2))
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Waits until the server is ready or has exited.
 * @returns '' if it is ready; its output if it has exited
 */
function untilReady(child: ChildProcess, ready: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let output = ''
    child.once('exit', (code) => resolve(`${output}\nended with ${code}`))
    child.stderr?.on('data', (chunk) => {
      if (output.length < 100_000) output += String(chunk)
      if (ready.test(output)) resolve('')
    })
  })
}

/** Database servers refuse to run as root, so use another system user. */
function identityOf(account: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (option: string) => Number(spawnSync('id', [option, account], { encoding: 'utf8' }).stdout)
  return { uid: idOf('-u'), gid: idOf('-g') }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
