import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createFrameReader, encodeFrame } from './frames.ts'
import type { FromSandbox, ToSandbox } from './protocol.ts'
import { checkFromSandbox } from './protocol-check.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MAIN = fileURLToPath(new URL('./sandbox/main.ts', import.meta.url))

/**
 * isolated-vm needs the first flag. The permission model takes away files, network (Node 26), children and threads;
 * only the code may be read, and not the platform's data, which may lie in a folder beside it.
 */
export const SANDBOX_FLAGS = [
  '--no-node-snapshot',
  '--permission',
  '--allow-addons',
  `--allow-fs-read=${ROOT}runtime`,
  `--allow-fs-read=${ROOT}node_modules`,
  `--allow-fs-read=${ROOT}package.json`,
  '--no-warnings',
] as const

/** A process that is not ready after this, in ms, never will be (60 ms measured on an idle machine). */
const READY_TIME = 20_000

/** A frame of a call: result, commands and log lines have far smaller limits of their own. */
const MAX_CALL_FRAME = 4 * 1024 ** 2

/** One sandbox process, from its start to its SIGKILL. It is ended in no other way. */
export type SandboxProcess = {
  readonly pid: number
  /** Resolves when the process is ready for a solution; rejects when it ended before. */
  readonly ready: Promise<void>
  readonly send: (message: ToSandbox) => void
  readonly kill: () => void
  /** Raises the bound of frames for a process that checks an upload: it sends the stripped scripts back. */
  readonly allowLargeFrames: (bytes: number) => void
  /** At most one receiver; frames that come without one are dropped. */
  onMessage: ((message: FromSandbox) => void) | null
  /** Called once, when the process has ended for whatever reason. */
  onExit: (() => void) | null
  readonly ended: () => boolean
}

/**
 * Starts an empty sandbox process: an environment of LIBC and TZ only, no files but the code, no network (Node 26),
 * no children, its error output dropped since it may quote a script.
 */
export function startSandboxProcess(options: { readonly timeZone: string }): SandboxProcess {
  const child = spawn(process.execPath, [...SANDBOX_FLAGS, MAIN], {
    cwd: ROOT,
    env: { LIBC: 'glibc', TZ: options.timeZone },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    // A process group of its own: Ctrl-C on the terminal is for the host, which lets running logins end.
    detached: true,
  })
  return wrap(child)
}

function wrap(child: ChildProcess): SandboxProcess {
  const channel = child.stdio[3] as Duplex
  const ready = Promise.withResolvers<void>()
  // A process that ends before it was ready is reported to whoever awaits; nobody has to.
  ready.promise.catch(() => {})
  const notReady = setTimeout(kill, READY_TIME)
  let maxFrame = MAX_CALL_FRAME
  let over = false

  function finish(): void {
    if (over) return
    over = true
    clearTimeout(notReady)
    ready.reject(new Error('the sandbox process ended before it was ready'))
    channel.destroy()
    made.onExit?.()
  }

  function becomeReady(): void {
    clearTimeout(notReady)
    ready.resolve()
  }

  function kill(): void {
    child.kill('SIGKILL')
  }

  const reader = createFrameReader(
    () => maxFrame,
    (text) => {
      const message = checkFromSandbox(text)
      if (message === null) kill()
      else if (message.kind === 'ready') becomeReady()
      else made.onMessage?.(message)
    },
  )
  channel.on('data', (chunk: Buffer) => {
    if (!reader.push(chunk)) kill()
  })
  channel.on('error', kill)
  child.on('error', finish)
  child.on('exit', finish)

  const made: SandboxProcess = {
    pid: child.pid ?? -1,
    ready: ready.promise,
    send: (message) => {
      if (!over) channel.write(encodeFrame(JSON.stringify(message)))
    },
    kill,
    allowLargeFrames: (bytes) => {
      maxFrame = bytes
    },
    onMessage: null,
    onExit: null,
    ended: () => over,
  }
  return made
}
