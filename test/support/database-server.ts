import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseServer } from '../../base/database/kind.ts'
import { runFolder } from './run-folder.ts'

/** A real database server on a free loopback port, with its own data in a temporary folder. */
export type TestServer = {
  /** The credentials of the server's administrator. */
  readonly address: DatabaseServer
  /**
   * The platform's database on this server, created when it is first opened. On a shared server, each test file has its
   * own database.
   */
  readonly database: string
  /** Kills the server to simulate a crash. Resolves when it has exited. */
  readonly kill: () => Promise<void>
  /** Suspends the server, so that it keeps its connections but sends nothing, as after a network failure. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Starts the server again on the same port with the same data, and with additional options. */
  readonly restart: (...options: string[]) => Promise<void>
  readonly isAlive: () => boolean
  /** Stops the server, and removes its data. A shared server keeps running. */
  readonly stop: () => Promise<void>
}

export type ServerProgram = {
  readonly username: string
  /** The user account for the server process if the tests run as root. */
  readonly account: string
  readonly prepare: (folder: Folder) => void
  readonly command: (folder: string, port: number) => readonly [program: string, ...options: string[]]
  /** The text that the server prints when it accepts connections. */
  readonly ready: RegExp
}

export type Folder = {
  readonly path: string
  /** Runs a program as the server's user account until it exits. */
  readonly run: (program: string, options: readonly string[]) => void
}

export const PASSWORD = 'a test server’s password: \'"\\%'

/** Timeout in ms for the hook that starts a server, long enough for a busy machine. */
export const SERVER_START = 120_000

/**
 * The server shared by all test files of this worker. The files run sequentially, each with its own database. The
 * server starts when it is first requested and ends with the worker. Its data is removed at the end of the run.
 */
export function createSharedServer(start: (folder: string) => Promise<TestServer>): () => Promise<TestServer> {
  let starting: Promise<TestServer> | undefined
  let files = 0
  return async () => {
    // Vitest ends a worker with this signal. Without a handler, the process's exit listeners would not be called.
    if (starting === undefined) process.once('SIGTERM', () => process.exit())
    starting ??= start(runFolder())
    const server = await starting
    // A previous test file may have failed while the server was down.
    server.thaw()
    if (!server.isAlive()) await server.restart()
    return { ...server, database: `file_${++files}`, stop: async () => {} }
  }
}

/** @throws if the server keeps exiting for 30 s */
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
    // After a crash, the server's child processes may lock the data for a moment. The server then exits immediately, so
    // it is started again.
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
    freeze: () => signalAll('SIGSTOP'),
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

/** PostgreSQL has a child process for each connection, which would keep responding if it weren't suspended too. */
function childrenOf(pid: number | undefined): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** @returns '' if the server is ready, or its output if it exited */
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

/** Database servers refuse to run as root. */
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
