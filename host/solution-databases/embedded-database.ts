import type { ChildProcess } from 'node:child_process'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Parameter, Row } from '../../plugins/database/host.ts'
import { createFrameReader, encodeFrame } from '../../runtime/frames.ts'
import type { Limits } from '../../runtime/limits.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import { processorTime, residentSize } from '../../runtime/process-memory.ts'
import { setBack } from '../../runtime/process-priority.ts'
import { programFile } from '../../runtime/program-file.ts'
import { startChildWithChannel } from '../../runtime/start-child.ts'
import { z } from '../../runtime/zod.ts'
import type { EmbeddedFailure, FromEmbedded, ToEmbedded } from './embedded-protocol.ts'
import {
  overLimit,
  overRows,
  overSize,
  overTime,
  serverAnswered,
  tooManyWaiting,
  waitedTooLong,
} from './query-errors.ts'

/** One solution's embedded database: a process that keeps the file open while there are queries. */
export interface EmbeddedDatabase {
  /** Queries run sequentially in order of arrival. @throws ScriptError */
  query(sql: string, parameters: readonly Parameter[]): Promise<readonly Row[]>
  /** When the last query ended, in epoch ms; null while queries run or wait. */
  idleSince(): number | null
  /** The process id, for health and tests; null if there is no process. */
  pid(): number | null
  /** Ends the process after its pending queries. The next query starts a new one. */
  close(): void
  /** Kills the process immediately; pending queries fail. Resolves when it is gone. */
  kill(): Promise<void>
}

export type EmbeddedOptions = {
  readonly file: string
  readonly limits: Limits
  readonly timeZone: string
  /** Reports problems that the operator must fix. */
  readonly onError: (message: string) => void
  /** Maximum resident size of the process while a query runs, in MB; default 256. */
  readonly memory?: number
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const EMBEDDED_MAIN = new URL('./embedded-process.ts', import.meta.url)

/** Startup timeout in ms. A process that has not opened its file by then never will. */
const READY_TIME = 10_000
/** Maximum queued queries per solution. Each may have 256 kB of parameters. */
const MOST_WAITING = 100
/** Interval in ms at which resident size and processor time are polled while a query runs. */
const WATCH = 50
/** After a query used this much processor time, in ms, its process runs at a lower priority until it ends. */
const LONG_QUERY = 200
/**
 * Maximum resident size of the process, in MB: a base of 45, plus memory for sorting. SQLite has no such limit here.
 */
const MEMORY = 256
/**
 * Processor time in ms after which a process is replaced between two queries. The kernel kills it after this time plus
 * one query. If the host is killed during an endless query, only this limit stops the process.
 */
const CPU_TIME = 60_000
/**
 * The shell command that becomes the process: no core dumps with user data, and kernel limits on processor time and
 * file size.
 */
const BOUNDED = 'ulimit -c 0; ulimit -t "$0"; ulimit -f "$1"; shift; exec "$@"'
/** Maximum size of a frame without its rows, in bytes. */
const FRAME_REST = 16 * 1024

type Job = {
  readonly sql: string
  readonly parameters: readonly Parameter[]
  readonly resolve: (rows: readonly Row[]) => void
  readonly reject: (error: Error) => void
  timer: NodeJS.Timeout
}

type Started = {
  readonly child: ChildProcess
  readonly channel: Duplex
  readonly gone: Promise<void>
  isSetBack: boolean
  /** `killed`: accepts no more queries, although the process may take a while to exit. */
  state: 'starting' | 'open' | 'killed'
}

export function createEmbeddedDatabase(options: EmbeddedOptions): EmbeddedDatabase {
  const { file, limits, timeZone, onError, memory = MEMORY } = options
  const FromProcess = answerSchema(limits)
  const waiting: Job[] = []
  let running: Job | null = null
  let started: Started | null = null
  let closing = false
  let watching: NodeJS.Timeout | null = null
  let lastUsed = Date.now()

  function next(): void {
    if (running !== null) return
    const job = waiting[0]
    if (job === undefined) {
      lastUsed = Date.now()
      if (closing || started?.isSetBack) void kill()
      return
    }
    if (started === null) start()
    if (started?.state !== 'open') return
    const before = processorTime(started.child.pid ?? -1)
    if (before > CPU_TIME) {
      void kill()
      return
    }
    waiting.shift()
    clearTimeout(job.timer)
    running = job
    job.timer = setTimeout(() => giveUp(overTime(limits)), limits.QUERY_TIME)
    watching = setInterval(() => watch(before), WATCH)
    send({ kind: 'query', sql: job.sql, parameters: job.parameters })
  }

  function start(): void {
    closing = false
    const seconds = Math.ceil((CPU_TIME + limits.QUERY_TIME + WATCH) / 1000)
    const begun = startChildWithChannel(
      '/bin/sh',
      () => {
        const program = programFile(EMBEDDED_MAIN)
        const command = [process.execPath, ...flagsFor(file, program), program]
        return ['-c', BOUNDED, `${seconds}`, `${largestFile(limits)}`, ...command]
      },
      {
        cwd: ROOT,
        env: { TZ: timeZone },
        // A separate process group: Ctrl-C on the terminal must reach only the host, which finishes running logins.
        detached: true,
      },
    )
    if ('failure' in begun) return void begun.failure.then(notStarted)
    const { child, channel } = begun
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    const one: Started = { child, channel, gone, isSetBack: false, state: 'starting' }
    started = one
    const notReady = setTimeout(() => child.kill('SIGKILL'), READY_TIME)
    const reader = createFrameReader(
      () => limits.QUERY_SIZE + FRAME_REST,
      (text) => {
        clearTimeout(notReady)
        receive(one, text)
      },
    )
    channel.on('data', (chunk: Buffer) => {
      if (!reader.push(chunk)) child.kill('SIGKILL')
    })
    channel.on('error', () => child.kill('SIGKILL'))
    const end = () => {
      clearTimeout(notReady)
      channel.destroy()
      resolve()
      ended(one)
    }
    child.once('error', end)
    child.once('exit', end)
    send({
      kind: 'open',
      file,
      bounds: { rows: limits.QUERY_ROWS, answerSize: limits.QUERY_SIZE, fileSize: limits.EMBEDDED_SIZE },
    })
  }

  function notStarted({ message }: Error): void {
    onError(`the process of an embedded database could not be started: ${message}`)
    failWaiting(new ScriptError('the embedded database could not be started'))
  }

  function send(message: ToEmbedded): void {
    started?.channel.write(encodeFrame(JSON.stringify(message)))
  }

  function receive(from: Started, text: string): void {
    if (from.state === 'killed') return
    const message = readAnswer(text)
    if (message === null) {
      onError('the process of an embedded database sent an invalid message and was terminated')
      from.child.kill('SIGKILL')
    } else if (from.state === 'starting') opened(from, message)
    else settle(message)
  }

  function readAnswer(text: string): FromEmbedded | null {
    try {
      return FromProcess.safeParse(JSON.parse(text)).data ?? null
    } catch {
      return null
    }
  }

  function opened(from: Started, message: FromEmbedded): void {
    if (message.kind === 'opened') {
      from.state = 'open'
      next()
      return
    }
    const why = message.kind === 'failed' ? message.message : 'it responded before a request was sent'
    onError(`an embedded database cannot be opened: ${why}`)
    failWaiting(new ScriptError('the embedded database cannot be opened; the reason is in the platform’s log'))
    void kill()
  }

  function settle(message: FromEmbedded): void {
    const job = takeRunning()
    if (job === null) return
    if (message.kind === 'answered') job.resolve(message.rows)
    else if (message.kind === 'failed') job.reject(errorOf(message.why, message.message))
    next()
  }

  function takeRunning(): Job | null {
    const job = running
    running = null
    if (job !== null) clearTimeout(job.timer)
    if (watching !== null) clearInterval(watching)
    watching = null
    return job
  }

  function errorOf(why: EmbeddedFailure, message: string): ScriptError {
    if (why === 'rows') return overRows(limits)
    if (why === 'size') return overSize(limits)
    if (why === 'second') return new ScriptError('a query must be one statement, but something follows its semicolon')
    return why === 'file'
      ? overLimit(limits, 'EMBEDDED_SIZE', 'the file of the embedded database has reached its maximum size')
      : serverAnswered(message, [file])
  }

  /** @param before the processor time that the process had used when the query started */
  function watch(before: number): void {
    const pid = started?.child.pid
    if (started === null || pid === undefined) return
    if (residentSize(pid) > memory * 1024 ** 2) {
      giveUp(new ScriptError(`the query needed more than ${memory} MB of memory`))
    } else if (!started.isSetBack && processorTime(pid) - before > LONG_QUERY) {
      // One solution's long query must not slow down the logins of others.
      setBack(pid)
      started.isSetBack = true
    }
  }

  /**
   * SQLite keeps running until its process is killed. The query's changes are rolled back when the file is next opened.
   */
  function giveUp(error: ScriptError): void {
    takeRunning()?.reject(error)
    void kill()
  }

  async function kill(): Promise<void> {
    const one = started
    if (one === null) return
    one.state = 'killed'
    one.child.kill('SIGKILL')
    await one.gone
  }

  function ended(one: Started): void {
    if (one !== started) return
    started = null
    takeRunning()?.reject(new ScriptError('the process of the embedded database ended while the query ran'))
    // A process that failed to start would fail again on every restart.
    if (one.state === 'starting') failWaiting(new ScriptError('the embedded database could not be started'))
    next()
  }

  function failWaiting(error: ScriptError): void {
    for (const job of waiting.splice(0)) {
      clearTimeout(job.timer)
      job.reject(error)
    }
  }

  function leaveLine(job: Job): void {
    const place = waiting.indexOf(job)
    if (place < 0) return
    waiting.splice(place, 1)
    job.reject(waitedTooLong(limits))
  }

  return {
    query(sql, parameters) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Row[]>()
      if (waiting.length >= MOST_WAITING) {
        reject(tooManyWaiting())
        return promise
      }
      // The startup time of the process does not count against the query.
      const patience = limits.QUERY_TIME + (started?.state === 'open' ? 0 : READY_TIME)
      const job: Job = { sql, parameters, resolve, reject, timer: setTimeout(() => leaveLine(job), patience) }
      waiting.push(job)
      next()
      return promise
    },
    idleSince: () => (running === null && waiting.length === 0 ? lastUsed : null),
    pid: () => started?.child.pid ?? null,
    close() {
      closing = true
      if (running === null && waiting.length === 0) void kill()
    },
    async kill() {
      closing = true
      failWaiting(new ScriptError('the embedded database was closed'))
      await kill()
    },
  }
}

/**
 * In blocks of 512 bytes. The write-ahead log may contain each database page again, plus some MB before a checkpoint.
 */
function largestFile(limits: Limits): number {
  return Math.ceil((2 * limits.EMBEDDED_SIZE + 16 * 1024 ** 2) / 512)
}

/** Grants access only to the code and this one file, not to the platform's data, which may be in the same folder. */
function flagsFor(file: string, program: string): string[] {
  return [
    '--permission',
    `--allow-fs-read=${dirname(program)}`,
    `--allow-fs-read=${ROOT}package.json`,
    `--allow-fs-read=${file}`,
    `--allow-fs-write=${file}`,
    '--no-warnings',
    '--disallow-code-generation-from-strings',
    '--single-threaded-gc',
    '--optimize-for-size',
    '--max-semi-space-size=2',
  ]
}

function answerSchema(limits: Limits): z.ZodType<FromEmbedded> {
  const AnyRow = z.custom<Row>(isRow)
  return z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('opened') }),
    z.strictObject({
      kind: z.literal('answered'),
      rows: z.array(AnyRow).max(limits.QUERY_ROWS),
    }),
    z.strictObject({
      kind: z.literal('failed'),
      why: z.enum(['rows', 'size', 'file', 'second', 'sql']),
      message: z.string().max(2000),
    }),
  ])
}

/** Checked by hand: zod's record would drop a column named `__proto__`. */
function isRow(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every((one) => one === null || typeof one === 'string' || typeof one === 'number')
}
