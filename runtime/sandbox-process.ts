import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createDebugSessions, type DebugSessions } from './debug-sessions.ts'
import { createFrameReader, encodeFrame } from './frames.ts'
import { platformOf } from './platforms.js'
import { startBehind } from './process-priority.ts'
import { programFile } from './program-file.ts'
import type { FromSandbox, ToSandbox, Trusted } from './protocol.ts'
import { checkFromSandbox } from './protocol-check.ts'
import { AS_SOCKET } from './sandbox/channel.ts'
import { startChildWithChannel } from './start-child.ts'
import {
  createSnapshotExchange,
  createTrustedFrames,
  forgetFrames,
  type TrustedFrames,
  trustedFrames,
} from './trusted-frames.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const { name, libc, prebuilds, hasGroups, hasDuplexPipes } = platformOf()
export const SANDBOX_MAIN = new URL('./sandbox/main.ts', import.meta.url)
const ISOLATED_VM = createRequire(import.meta.url).resolve('isolated-vm')
/** The package with which isolated-vm finds its binary. */
const FINDER = createRequire(ISOLATED_VM).resolve('node-gyp-build')
/** isolated-vm's binary for the host's own Node.js. Null if it has none, so that the sandbox process has to search. */
export const BINARY = findBinary()

function findBinary(): string | null {
  const suffix = libc === null ? '' : `.${libc}`
  const name = `isolated-vm.abi${process.versions.modules}${suffix}.node`
  const file = join(dirname(ISOLATED_VM), 'prebuilds', prebuilds, name)
  return existsSync(file) ? file : null
}

/**
 * Flags that select V8's snapshots.
 *
 * All isolates of a process share V8's read-only heap, so all snapshots from which they start must contain the same one.
 * In older versions of Node.js, they did not, so isolated-vm's README requires `--no-node-snapshot`. Node.js 24 and later
 * are built so that no snapshot extends the read-only heap. Sandbox processes can therefore start from Node's own
 * snapshot, which saves a third of their CPU time until they are ready. `test/runtime/sandbox/snapshots.parts.test.ts`
 * compares the read-only heaps.
 *
 * V8 seeds its hashes. Each process rehashes the snapshots of Node.js and of V8 with our seed. Ours is not rehashed,
 * because a process with the same seed has created it; see `sandbox/isolate.ts`.
 * Chosen here: only on Linux, because the tests run there.
 * @param config `process.config.variables`
 */
export function snapshotFlags(config: Readonly<Record<string, unknown>>, isLinux: boolean): readonly string[] {
  return isLinux && config.v8_enable_extensible_ro_snapshot === 0 ? [`--hash-seed=${SEED}`] : UNSHARED
}

/** Must be the same for all processes, because they share a snapshot. */
const SEED = randomInt(1, 2 ** 31)

/** A process that debugs runs another version of Node.js, so it doesn't share the snapshot. */
const UNSHARED = ['--no-node-snapshot', '--no-rehash-snapshot'] as const

/**
 * The permission model blocks files, network (Node 26), children and threads. The process may read only the code,
 * because the platform's data may be in a folder next to the code. The remaining flags suit many short-lived contexts in
 * little memory (`npm run bench`). None of the flags disables a language feature.
 */
const COMMON_FLAGS = [
  '--permission',
  '--allow-addons',
  `--allow-fs-read=${ROOT}package.json`,
  // SQLite opens any file regardless of the permissions. V8 flags that are set later could make V8 write traces to a
  // file.
  '--no-experimental-sqlite',
  '--freeze-flags-after-init',
  '--no-warnings',
  // V8 needs these threads only to compile hot functions. Each would count towards a container's limit on threads.
  '--v8-pool-size=1',
  '--no-incremental-marking',
  '--single-threaded-gc',
  '--optimize-for-size',
  '--max-semi-space-size=2',
  '--initial-old-space-size=6',
  '--heap-growing-percent=50',
] as const

/** One thread waits for the host's next message, see `sandbox/channel.ts`. The other one is spare. */
const THREADS = '2'

/** The flags of a process that runs with the host's own Node.js. */
export const SANDBOX_FLAGS = [...snapshotFlags(process.config.variables, name === 'Linux'), ...COMMON_FLAGS]
const DEBUG_FLAGS = [...UNSHARED, ...COMMON_FLAGS]
/** Let a process find isolated-vm's binary. */
const FINDING_FLAGS = [`--allow-fs-read=${dirname(ISOLATED_VM)}`, `--allow-fs-read=${dirname(FINDER)}`]

/**
 * A process that is not ready after this time, in ms, is killed. On an idle machine, a process is ready after 60 ms.
 */
const READY_TIME = 20_000

/** Maximum frame size, in bytes. A snapshot needs 1.2 MB. Results, commands and log lines have far lower limits. */
export const MAX_CALL_FRAME = 4 * 1024 ** 2

/** Maximum frame size for debugging, in bytes. Debuggers request whole scripts, and heap snapshots in large chunks. */
const MAX_DEBUG_FRAME = 64 * 1024 ** 2

/** One sandbox process, from its start to its SIGKILL. The host never ends it in any other way. */
export type SandboxProcess = {
  readonly pid: number
  /** Resolves when the process is ready for a solution; rejects with the reason if the start fails. */
  readonly ready: Promise<void>
  readonly send: (message: ToSandbox) => void
  /**
   * Sends a message at the end of this turn of the event loop. All of a turn's messages share one write, because a
   * write takes longer than creating a message.
   */
  readonly sendSoon: (message: ToSandbox) => void
  /** The number of bytes that the host has sent and still holds, because the process hasn’t read them yet. */
  readonly unread: () => number
  readonly kill: () => void
  /**
   * Raises the frame limit. A process that checks an upload sends back the stripped scripts, and clients' calls send
   * whole tables.
   */
  readonly allowLargeFrames: (bytes: number) => void
  /** The only receiver of the process's messages. While this is null, messages are dropped. */
  onMessage: ((message: FromSandbox) => void) | null
  /**
   * Called once, when the process is killed or has exited for any reason. After that, the process sends no messages. A
   * killed process with a low priority may take seconds to exit. `byOthers`: whether it was killed by a SIGKILL that
   * the host did not send.
   */
  onEnd: ((byOthers: boolean) => void) | null
  /** Called once, after `onEnd`, when the process has exited and its memory is free. */
  onExit: (() => void) | null
  /** Whether the process was killed or has exited. */
  readonly ended: () => boolean
  /**
   * Null unless the process was started for debugging. A debugged process enforces its time limits itself, without
   * counting pauses in the debugger. The host watches only its memory.
   */
  readonly debug: DebugSessions | null
}

export type SandboxProcessOptions = {
  readonly timeZone: string
  readonly trusted: Trusted
  /**
   * The path of a Node.js 24 binary for debugging scripts, since isolated-vm 7.0.1 aborts Node 26 when a debugger is
   * attached. If absent, the host's own Node.js is used, and scripts can't be debugged.
   */
  readonly debugNode?: string | undefined
}

/**
 * Starts a sandbox process without a solution. Its environment contains only TZ and UV_THREADPOOL_SIZE, and LIBC if it
 * has to find isolated-vm's binary. It can read no files except the code, and has no network (Node 26) and no child
 * processes. Its error output is dropped, because it may quote a script.
 */
export function startSandboxProcess(options: SandboxProcessOptions): SandboxProcess {
  // A Node.js for debugging needs another binary.
  const binary = options.debugNode === undefined ? BINARY : null
  const started = startChildWithChannel(
    options.debugNode ?? process.execPath,
    () => {
      const program = programFile(SANDBOX_MAIN)
      return [
        ...(options.debugNode === undefined ? SANDBOX_FLAGS : DEBUG_FLAGS),
        ...(binary === null ? FINDING_FLAGS : []),
        `--allow-fs-read=${dirname(program)}`,
        program,
        ...(binary === null ? [] : [binary]),
        ...(hasDuplexPipes ? [] : [AS_SOCKET]),
      ]
    },
    {
      cwd: ROOT,
      env: {
        TZ: options.timeZone,
        UV_THREADPOOL_SIZE: THREADS,
        ...(binary === null && libc !== null ? { LIBC: libc } : {}),
      },
      // Use a separate process group, so that Ctrl-C on the terminal reaches only the host. The host lets running
      // logins finish.
      detached: hasGroups,
      windowsHide: true,
    },
  )
  if ('failure' in started) return notStarted(started.failure)
  const isDebugged = options.debugNode !== undefined
  // A debugged process runs another version of Node.js, so it can't share snapshots with the other processes.
  const frames = isDebugged ? createTrustedFrames(options.trusted) : trustedFrames(options.trusted)
  const created = wrap(started.child, started.channel, isDebugged, frames)
  startBehind(created.pid)
  for (const frame of frames.prepare()) started.channel.write(frame)
  // V8 may be unable to read the snapshot.
  created.ready.catch(() => forgetFrames(options.trusted, frames))
  return created
}

/** Returns an object that behaves like a process that exited before it was ready. */
function notStarted(failure: Promise<Error>): SandboxProcess {
  const ready = failure.then(({ message }) => {
    throw new Error(`the sandbox process could not be started: ${message}`)
  })
  const created: SandboxProcess = {
    pid: -1,
    ready,
    send: () => {},
    sendSoon: () => {},
    unread: () => 0,
    kill: () => {},
    allowLargeFrames: () => {},
    onMessage: null,
    onEnd: null,
    onExit: null,
    ended: () => true,
    debug: null,
  }
  ready.catch(() => {
    created.onEnd?.(false)
    created.onExit?.()
  })
  return created
}

function wrap(child: ChildProcess, channel: Duplex, isDebugged: boolean, frames: TrustedFrames): SandboxProcess {
  const ready = Promise.withResolvers<void>()
  // Prevent an unhandled rejection if nobody awaits `ready`. Callers that await it still get the error.
  ready.promise.catch(() => {})
  const notReady = setTimeout(kill, READY_TIME)
  let maxFrame = isDebugged ? MAX_DEBUG_FRAME : MAX_CALL_FRAME
  let over = false
  let isGone = false
  let isReady = false
  // A debugged process creates its own snapshots.
  const exchange = isDebugged ? null : createSnapshotExchange(frames, hasDuplexPipes)
  const debug = isDebugged ? createDebugSessions(send) : null

  function end(byOthers: boolean): void {
    if (over) return
    over = true
    clearTimeout(notReady)
    ready.reject(new Error('the sandbox process exited before it was ready'))
    channel.destroy()
    debug?.end()
    created.onEnd?.(byOthers)
  }

  function exited(signal: NodeJS.Signals | null): void {
    if (isGone) return
    isGone = true
    end(signal === 'SIGKILL')
    created.onExit?.()
  }

  /** Accepts only the first `ready` message. Until then, the process has no solution and has run only our own code. */
  function becomeReady(snapshot?: string): void {
    if (isReady) return
    isReady = true
    clearTimeout(notReady)
    if (snapshot !== undefined) frames.keep(snapshot)
    ready.resolve()
  }

  function fail(reason: string): void {
    ready.reject(new Error(reason))
    kill()
  }

  function kill(): void {
    child.kill('SIGKILL')
    end(false)
  }

  const reader = createFrameReader(
    () => maxFrame,
    (content) => {
      if (over) return
      const message = checkFromSandbox(content.toString())
      if (message === null || exchange?.accepts(message) === false) kill()
      else if (message.kind === 'ready') becomeReady(message.snapshot)
      else if (message.kind === 'unready') fail(message.message)
      else if (message.kind === 'inspected' || message.kind === 'detached') debug?.take(message)
      else if (message.kind !== 'clientSnapshot') created.onMessage?.(message)
    },
  )
  channel.on('data', (chunk: Buffer) => {
    try {
      if (!reader.push(chunk)) kill()
    } catch (error) {
      // A message from a compromised process must not crash the host.
      warnOf(error as Error)
      kill()
    }
  })
  channel.on('error', kill)
  child.on('error', () => exited(null))
  child.on('exit', (_code, signal) => exited(signal))

  function write(message: ToSandbox): void {
    if (over) return
    for (const frame of exchange?.before(message) ?? []) channel.write(frame)
    channel.write(encodeFrame(JSON.stringify(message)))
  }

  function flush(): void {
    while (channel.writableCorked > 0) channel.uncork()
  }

  function send(message: ToSandbox): void {
    write(message)
    flush()
  }

  function sendSoon(message: ToSandbox): void {
    if (channel.writableCorked === 0) {
      channel.cork()
      setImmediate(flush)
    }
    write(message)
  }

  const created: SandboxProcess = {
    pid: child.pid ?? -1,
    ready: ready.promise,
    send,
    sendSoon,
    unread: () => channel.writableLength,
    kill,
    allowLargeFrames: (bytes) => {
      maxFrame = Math.max(bytes, maxFrame)
    },
    onMessage: null,
    onEnd: null,
    onExit: null,
    ended: () => over,
    debug,
  }
  return created
}

function warnOf({ stack }: Error): void {
  const place = stack?.split('\n').find((line) => line.startsWith('    at '))
  process.emitWarning(
    `the host terminated a sandbox process because it could not handle a message from the process (${place?.trim()})`,
  )
}
