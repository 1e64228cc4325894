import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseServer } from '../../base/database/kind.ts'
import { runFolder } from './run-folder.ts'

/** A real database server on a free port of loopback, with data of its own in a temporary folder. */
export type TestServer = {
  /** How to sign in as its administrator. */
  readonly address: DatabaseServer
  /** The platform's database there, which whoever opens it first creates: a shared server has one for each file. */
  readonly database: string
  /** Ends it at once, as a crash would, and resolves when it is gone. */
  readonly kill: () => Promise<void>
  /** From now on it keeps its connections and says nothing, like one that the network lost. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Starts it again with its data, on the same port, and this once with further options. */
  readonly restart: (...options: string[]) => Promise<void>
  /** Whether it runs. */
  readonly isAlive: () => boolean
  /** Ends it and removes its data. A shared one goes on. */
  readonly stop: () => Promise<void>
}

export type ServerProgram = {
  readonly username: string
  /** Whose the process is where the tests run as root. */
  readonly account: string
  readonly prepare: (folder: Folder) => void
  readonly command: (folder: string, port: number) => readonly [program: string, ...options: string[]]
  /** What it prints when it takes connections. */
  readonly ready: RegExp
}

export type Folder = {
  readonly path: string
  /** Runs a program to its end, as the account of the server. */
  readonly run: (program: string, options: readonly string[]) => void
}

export const PASSWORD = 'a test server’s password: \'"\\%'

/** A server may need this long to start on a busy machine, in ms: for the hook that starts it. */
export const SERVER_START = 120_000

/**
 * The server of this worker, started when it is first asked for. Files of a worker run one after the other and share it,
 * each with a database of its own. It ends with the worker, its data go with the run.
 */
export function createSharedServer(start: (folder: string) => Promise<TestServer>): () => Promise<TestServer> {
  let starting: Promise<TestServer> | undefined
  let files = 0
  return async () => {
    // Vitest ends a worker by this signal, and what listens for the exit of the process is not called without it.
    if (starting === undefined) process.once('SIGTERM', () => process.exit())
    starting ??= start(runFolder())
    const server = await starting
    // The file before may have failed while the server was away.
    server.thaw()
    if (!server.isAlive()) await server.restart()
    return { ...server, database: `file_${++files}`, stop: async () => {} }
  }
}

/** @throws when it ends again and again for 30 s */
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
    // After a crash its children may hold the data for a moment: it ends at once, and is started again.
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

/** PostgreSQL has a process for each connection, which would answer on for a moment. */
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

/** @returns what it printed when it ended instead, else nothing */
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
