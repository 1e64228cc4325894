import type { Readable } from 'node:stream'
import { PlatformError } from '../../runtime/errors.ts'
import { startChild } from '../../runtime/start-child.ts'
import type { BuilderProxy } from './builder-proxy.ts'

export type BuilderCall = {
  /** The command with its own options, then the subcommand and its arguments. */
  readonly words: readonly string[]
  /** The run's own folder, used as the working directory and TMPDIR. */
  readonly folder: string
  /**
   * Command prefix and additional environment variables for the builder's proxy; null for calls that need no network.
   */
  readonly wayOut: Pick<BuilderProxy, 'fence' | 'environment'> | null
  /** Timeout in ms. */
  readonly time: number
  readonly signal: AbortSignal
  /** Receives each line of stdout and stderr, cleaned up for display. */
  readonly say: (line: string) => void
  /** Texts to redact from the lines. */
  readonly secrets: readonly string[]
}

/** Time between SIGTERM and SIGKILL, and for the rest of the output after the exit, in ms. */
const GRACE = 3000
/**
 * The only environment variables that a builder gets. Others may contain the control center's secrets, or the address
 * of the operator's proxy, which only the builder's proxy may use.
 */
const HANDED_ON =
  /^(?:PATH|HOME|USER|LANG|LC_ALL|TZ|XDG_\w+|SSL_CERT_(?:FILE|DIR)|STORAGE_\w+|CONTAINERS_\w+|BUILDAH_\w+|_CONTAINERS_\w+)$/i

/**
 * Runs the builder once, without a shell, in a separate process group. At the end, the whole group is killed.
 * @throws ERR_BUILDER_FAILED if the builder can't be started, times out or fails
 */
export async function runBuilder(call: BuilderCall): Promise<void> {
  const { words, folder, wayOut, time, signal, say, secrets } = call
  signal.throwIfAborted()
  const [command = '', ...args] = words
  const [program = '', ...all] = [...(wayOut?.fence ?? []), ...words]
  const started = startChild(program, all, {
    cwd: folder,
    env: { ...handedOn(), ...wayOut?.environment, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  if ('failure' in started)
    throw failed(`"${command}" could not be started: ${(await started.failure).message}. Check BUILDER_COMMAND`)
  const { child } = started
  const ended = Promise.withResolvers<number | NodeJS.Signals>()
  // Ignore errors, for example if the signal could not be delivered.
  child.on('error', () => {})
  child.once('close', (code, by) => ended.resolve(code ?? by ?? -1))
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) sayLines(stream, secrets, say)
  }
  let isLate = false
  const end = () => {
    endGroup(child.pid, 'SIGTERM')
    killing = setTimeout(endGroup, GRACE, child.pid, 'SIGKILL')
  }
  let killing: NodeJS.Timeout | undefined
  const timer = setTimeout(() => {
    isLate = true
    end()
  }, time)
  // A process outside the group can keep the output open, such as the daemon of a file system that the builder mounted.
  // Stop reading then: otherwise, the run would wait for that process.
  let closing: NodeJS.Timeout | undefined
  child.once('exit', () => {
    clearTimeout(timer)
    closing = setTimeout(() => {
      child.stdout?.destroy()
      child.stderr?.destroy()
    }, GRACE)
  })
  signal.addEventListener('abort', end, { once: true })
  try {
    const how = await ended.promise
    signal.throwIfAborted()
    if (isLate)
      throw failed(
        `"${command}" ran longer than ${time / 1000} s and was terminated. Check the log lines above for the slow step`,
      )
    if (how !== 0) {
      const step = args.find((word) => !word.startsWith('-')) ?? ''
      throw failed(
        `"${command} ${step}" failed with ${typeof how === 'number' ? 'exit code ' : ''}${how}. Check the log lines above`,
      )
    }
  } finally {
    clearTimeout(timer)
    clearTimeout(killing)
    clearTimeout(closing)
    signal.removeEventListener('abort', end)
    // Kill any child processes that the builder left behind.
    endGroup(child.pid, 'SIGKILL')
  }
}

/** Maximum characters per log line; longer lines are cut. */
const LONGEST_LINE = 2000

/** Redacts secrets before a line is cut, because a partial secret would not be found. */
function sayLines(stream: Readable, secrets: readonly string[], say: (line: string) => void): void {
  const longestSecret = Math.max(0, ...secrets.map(({ length }) => length))
  const most = LONGEST_LINE + longestSecret
  let text = ''
  function write(line: string): void {
    const shown = withoutSecrets(readable(line), secrets)
    // Drop the last characters of a cut line, because they may be part of a secret.
    const whole = line.length < most ? shown : shown.slice(0, Math.max(0, shown.length - longestSecret))
    if (whole.trim() !== '') say(whole.slice(0, LONGEST_LINE))
  }
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split(/\r?\n|\r/)
    text = (lines.pop() ?? '').slice(0, most)
    for (const line of lines) write(line.slice(0, most))
  })
  stream.on('end', () => write(text))
}

function handedOn(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name, value]) => HANDED_ON.test(name) && value !== undefined)
  return Object.fromEntries(entries) as Record<string, string>
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Ignore errors, because the process has already ended.
  }
}

/** Removes ANSI escape sequences and control characters. */
function readable(line: string): string {
  return line.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '').replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ')
}

function withoutSecrets(line: string, secrets: readonly string[]): string {
  // Redact the longest secrets first, because a shorter secret may be part of a longer one.
  const longestFirst = secrets.filter((secret) => secret !== '').toSorted((one, other) => other.length - one.length)
  return longestFirst.reduce((text, secret) => text.replaceAll(secret, '***'), line)
}

function failed(message: string): PlatformError {
  return new PlatformError('ERR_BUILDER_FAILED', `${message}.`)
}
