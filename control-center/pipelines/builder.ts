import type { Readable } from 'node:stream'
import { PlatformError } from '../../runtime/errors.ts'
import { startChild } from '../../runtime/start-child.ts'
import type { BuilderProxy } from './builder-proxy.ts'

export type BuilderCall = {
  /** The command and its own options, then what it is to do. */
  readonly words: readonly string[]
  /** A folder of the run's own. */
  readonly folder: string
  /** What the command is put behind, and what else its environment has: its way out. */
  readonly wayOut: Pick<BuilderProxy, 'fence' | 'environment'> | null
  /** In ms. */
  readonly time: number
  readonly signal: AbortSignal
  /** Each line of both streams, as people may read it. */
  readonly say: (line: string) => void
  /** Texts that no line may have. */
  readonly secrets: readonly string[]
}

/** Between asking a process to end and ending it, in ms. */
const GRACE = 3000
/**
 * What a builder needs of the environment. Nothing else is handed on: it holds the control center's secrets, and the operator's
 * proxy, which the builder's own leads to.
 */
const HANDED_ON =
  /^(?:PATH|HOME|USER|LANG|LC_ALL|TZ|XDG_\w+|SSL_CERT_(?:FILE|DIR)|STORAGE_\w+|CONTAINERS_\w+|BUILDAH_\w+|_CONTAINERS_\w+)$/i

/**
 * Runs the builder once, without a shell, in a process group of its own that is ended as a whole.
 * @throws ERR_BUILDER_FAILED when it cannot be started, takes too long or fails
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
  if ('failure' in started) throw failed(`"${command}" could not be started: ${(await started.failure).message}`)
  const { child } = started
  const ended = Promise.withResolvers<number | NodeJS.Signals>()
  // Such as a signal that it cannot be sent.
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
  signal.addEventListener('abort', end, { once: true })
  try {
    const how = await ended.promise
    signal.throwIfAborted()
    if (isLate) throw failed(`"${command}" was ended: it took more than ${time / 60_000} minutes`)
    if (how !== 0) throw failed(`"${command} ${args.find((word) => !word.startsWith('-')) ?? ''}" ended with ${how}`)
  } finally {
    clearTimeout(timer)
    clearTimeout(killing)
    signal.removeEventListener('abort', end)
    // What it started and left behind.
    endGroup(child.pid, 'SIGKILL')
  }
}

/** So much of a line is told, in characters. */
const LONGEST_LINE = 2000

/** Secrets are replaced before a line is cut: a part of one would not be found. */
function sayLines(stream: Readable, secrets: readonly string[], say: (line: string) => void): void {
  const longestSecret = Math.max(0, ...secrets.map(({ length }) => length))
  const most = LONGEST_LINE + longestSecret
  let text = ''
  function told(line: string): void {
    const shown = withoutSecrets(readable(line), secrets)
    // Where the line was cut, the last characters may be a part of a secret.
    const whole = line.length < most ? shown : shown.slice(0, Math.max(0, shown.length - longestSecret))
    if (whole.trim() !== '') say(whole.slice(0, LONGEST_LINE))
  }
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split(/\r?\n|\r/)
    text = (lines.pop() ?? '').slice(0, most)
    for (const line of lines) told(line.slice(0, most))
  })
  stream.on('end', () => told(text))
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
    // It has ended.
  }
}

/** Without the colours and the moves of the cursor that terminals take. */
function readable(line: string): string {
  return line.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '').replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ')
}

function withoutSecrets(line: string, secrets: readonly string[]): string {
  // The longest first: another one may be a part of it.
  const longestFirst = secrets.filter((secret) => secret !== '').toSorted((one, other) => other.length - one.length)
  return longestFirst.reduce((text, secret) => text.replaceAll(secret, '***'), line)
}

function failed(message: string): PlatformError {
  return new PlatformError('ERR_BUILDER_FAILED', `${message}.`)
}
