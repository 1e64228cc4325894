import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseServer } from '../../base/database/kind.ts'

/** A real database server on a free port of loopback, with data of its own in a temporary folder. */
export type TestServer = {
  /** How to sign in as its administrator. */
  readonly address: DatabaseServer
  /** Ends it at once, as a crash would, and resolves when it is gone. */
  readonly kill: () => Promise<void>
  /** From now on it keeps its connections and says nothing, like one that the network lost. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Starts it again with its data, on the same port. */
  readonly restart: () => Promise<void>
  /** Ends it and removes its data. */
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

/** @throws when it ends again and again for 30 s */
export async function startServer(program: ServerProgram): Promise<TestServer> {
  const identity = identityOf(program.account)
  const path = mkdtempSync(join(tmpdir(), 'solhost-server-'))
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

  async function start(): Promise<void> {
    const until = Date.now() + 30_000
    let output = ''
    // After a crash its children may hold the data for a moment: it ends at once, and is started again.
    do {
      running = spawn(name, options, { cwd: path, ...identity, stdio: ['ignore', 'ignore', 'pipe'] })
      output = await untilReady(running, program.ready)
      if (output === '') return
      await new Promise((resolve) => setTimeout(resolve, 100))
    } while (Date.now() < until)
    throw new Error(`${name} does not start: ${output}`)
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (running.exitCode !== null || running.signalCode !== null) return
    const gone = new Promise((resolve) => running.once('exit', resolve))
    const children = signal === 'SIGKILL' ? childrenOf(running.pid) : []
    running.kill(signal)
    for (const child of children) sendTo(child, signal)
    await gone
  }

  function signalAll(signal: NodeJS.Signals): void {
    running.kill(signal)
    for (const child of childrenOf(running.pid)) sendTo(child, signal)
  }

  const endWithTests = () => running.kill('SIGKILL')
  process.on('exit', endWithTests)
  await start()
  return {
    address: { host: '127.0.0.1', port, username: program.username, password: PASSWORD, tls: 'off' },
    kill: () => end('SIGKILL'),
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    restart: start,
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
