import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { repeat } from '../../base/work/repeat.ts'
import type { Parameter, Row } from '../../plugins/database/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import { processorTime, residentSize } from '../../runtime/process-memory.ts'
import { setBack } from '../../runtime/process-priority.ts'
import { CPU_TIME, type EmbeddedChild, READY_TIME, startEmbeddedChild } from './embedded-child.ts'
import type { EmbeddedFailure, FromEmbedded } from './embedded-protocol.ts'
import {
  overLimit,
  overRows,
  overSize,
  overTime,
  serverAnswered,
  tooManyWaiting,
  waitedTooLong,
} from './query-errors.ts'

/** One solution's embedded database. A process keeps the file open while there are queries. */
export interface EmbeddedDatabase {
  /** Queries run sequentially in order of arrival. @throws ScriptError */
  query(sql: string, parameters: readonly Parameter[]): Promise<readonly Row[]>
  /** When the last query ended, in epoch ms; null while queries run or wait. */
  idleSince(): number | null
  /** The process id, for the health page and tests; null if there is no process. */
  pid(): number | null
  /** Terminates the process when its pending queries have finished. The next query starts a new process. */
  close(): void
  /** Kills the process immediately; pending queries fail. Resolves when it has exited. */
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

/** Maximum queued queries per solution. Each may have 256 kB of parameters. */
const MOST_WAITING = 100
/** Interval in ms for polling resident size and CPU time during a query. */
const WATCH = 50
/**
 * CPU time of one query, in ms. After that, the process runs at a lower priority. It is replaced when no query is left.
 */
const LONG_QUERY = 200
/**
 * Maximum resident size of the process, in MB: a base of 45, plus memory for sorting. SQLite has no setting for this.
 */
const MEMORY = 256
/** If a write fails and less than this is free on the disk, in bytes, the disk is full. */
const LEAST_SPACE = 1024 ** 2

type Job = {
  readonly sql: string
  readonly parameters: readonly Parameter[]
  readonly resolve: (rows: readonly Row[]) => void
  readonly reject: (error: Error) => void
  timer: NodeJS.Timeout
}

type Started = {
  readonly child: EmbeddedChild
  isSetBack: boolean
  /** A `killed` process gets no more queries, although it may take a while to exit. */
  state: 'starting' | 'open' | 'killed'
}

export function createEmbeddedDatabase(options: EmbeddedOptions): EmbeddedDatabase {
  const { limits, onError, memory = MEMORY } = options
  const waiting = createQueue(limits)
  let running: Job | null = null
  let started: Started | null = null
  let closing = false
  let stopWatching = async () => {}
  let lastUsed = Date.now()

  function next(): void {
    if (running !== null) return
    if (waiting.isEmpty()) {
      lastUsed = Date.now()
      if (closing || started?.isSetBack) void kill()
      return
    }
    if (started === null) start()
    if (started?.state !== 'open') return
    const before = processorTime(started.child.pid)
    if (before > CPU_TIME) {
      void kill()
      return
    }
    const job = waiting.shift()
    if (job === undefined) return
    running = job
    job.timer = setTimeout(() => giveUp(overTime(limits)), limits.QUERY_TIME)
    stopWatching = repeat(WATCH, () => watch(before))
    started.child.send({ kind: 'query', sql: job.sql, parameters: job.parameters })
  }

  function start(): void {
    closing = false
    const child = startEmbeddedChild(options, {
      received: (message) => receive(one, message),
      ended: () => ended(one),
      notStarted,
    })
    if (child === null) return
    const one: Started = { child, isSetBack: false, state: 'starting' }
    started = one
  }

  function notStarted({ message }: Error): void {
    onError(`an embedded database’s process could not be started: ${message}`)
    waiting.fail(unusable('could not be started'))
  }

  function receive(from: Started, message: FromEmbedded | null): void {
    if (from.state === 'killed') return
    if (message === null) {
      onError('the host terminated the process of an embedded database, because it sent an invalid message')
      from.child.kill()
    } else if (from.state === 'starting') opened(from, message)
    else settle(message)
  }

  function opened(from: Started, message: FromEmbedded): void {
    if (message.kind === 'opened') {
      from.state = 'open'
      next()
      return
    }
    const why = message.kind === 'failed' ? message.message : 'its process sent an unexpected message'
    onError(`an embedded database cannot be opened: ${why}`)
    waiting.fail(unusable('cannot be opened'))
    void kill()
  }

  function settle(message: FromEmbedded): void {
    const job = takeRunning()
    if (job === null) return
    if (message.kind === 'answered') job.resolve(message.rows)
    else if (message.kind === 'failed') job.reject(errorOf(message.why, message.message, options))
    next()
  }

  function takeRunning(): Job | null {
    const job = running
    running = null
    if (job !== null) clearTimeout(job.timer)
    void stopWatching()
    return job
  }

  /** @param before the CPU time that the process had used when the query started */
  function watch(before: number): void {
    if (started === null) return
    const { pid } = started.child
    if (residentSize(pid) > memory * 1024 ** 2) {
      giveUp(new ScriptError(`the query used more than ${memory} MB of memory; simplify it or select less data`))
    } else if (!started.isSetBack && processorTime(pid) - before > LONG_QUERY) {
      // One solution's long query must not slow down sign-ins to other solutions.
      setBack(pid)
      started.isSetBack = true
    }
  }

  /**
   * Kills the process, because nothing else can stop a running SQLite query. The query's changes are rolled back when
   * the file is opened again.
   */
  function giveUp(error: ScriptError): void {
    takeRunning()?.reject(error)
    void kill()
  }

  async function kill(): Promise<void> {
    const one = started
    if (one === null) return
    one.state = 'killed'
    one.child.kill()
    await one.child.gone
  }

  function ended(one: Started): void {
    if (one !== started) return
    started = null
    takeRunning()?.reject(
      new ScriptError('the embedded database’s process stopped while the query was running; try again'),
    )
    // Another process would fail to start too, so reject the waiting queries.
    if (one.state === 'starting') waiting.fail(unusable('could not be started'))
    next()
  }

  return {
    query(sql, parameters) {
      // While the process starts, the query may wait longer.
      const answer = waiting.add(sql, parameters, started?.state === 'open' ? 0 : READY_TIME)
      next()
      return answer
    },
    idleSince: () => (running === null && waiting.isEmpty() ? lastUsed : null),
    pid: () => started?.child.pid ?? null,
    close() {
      closing = true
      if (running === null && waiting.isEmpty()) void kill()
    },
    async kill() {
      closing = true
      waiting.fail(new ScriptError('the embedded database was closed before the query could run'))
      await kill()
    },
  }
}

/** Queries in order of arrival. A query that waits longer than `QUERY_TIME` fails. */
function createQueue(limits: Limits) {
  const waiting: Job[] = []

  function giveUpWaiting(job: Job): void {
    const place = waiting.indexOf(job)
    if (place < 0) return
    waiting.splice(place, 1)
    job.reject(waitedTooLong(limits))
  }

  return {
    isEmpty: () => waiting.length === 0,
    /** @param extra time in ms in addition to `QUERY_TIME` that the query may wait */
    add(sql: string, parameters: readonly Parameter[], extra: number): Promise<readonly Row[]> {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Row[]>()
      if (waiting.length >= MOST_WAITING) {
        reject(tooManyWaiting())
        return promise
      }
      const patience = limits.QUERY_TIME + extra
      const job: Job = { sql, parameters, resolve, reject, timer: setTimeout(() => giveUpWaiting(job), patience) }
      waiting.push(job)
      return promise
    },
    shift(): Job | undefined {
      const job = waiting.shift()
      if (job !== undefined) clearTimeout(job.timer)
      return job
    },
    fail(error: ScriptError): void {
      for (const job of waiting.splice(0)) {
        clearTimeout(job.timer)
        job.reject(error)
      }
    },
  }
}

function unusable(why: string): ScriptError {
  return new ScriptError(`the embedded database ${why}; ask the operator to check the host’s log`)
}

function errorOf(why: EmbeddedFailure, message: string, { limits, file, onError }: EmbeddedOptions): ScriptError {
  if (why === 'rows') return overRows(limits)
  if (why === 'size') return overSize(limits)
  if (why === 'second')
    return new ScriptError('a query must be a single statement, but there is text after its semicolon')
  if (why === 'sql') return serverAnswered(message, [file])
  if (hasSpace(file)) return overFile(limits)
  onError(
    `there is no space left on the disk for the embedded database ${file}; free some space or make the disk larger`,
  )
  return new ScriptError('the host’s disk is full, so nothing was changed; ask the operator to free some space')
}

/** SQLite reports a full disk and a file that has reached its maximum size in the same way. */
function hasSpace(file: string): boolean {
  const { bavail, bsize } = statfsSync(dirname(file))
  return bavail * bsize >= LEAST_SPACE
}

function overFile(limits: Limits): ScriptError {
  const what = 'the embedded database has reached its maximum size; delete data that you no longer need'
  return overLimit(limits, 'EMBEDDED_SIZE', what)
}
