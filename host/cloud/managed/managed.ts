import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { finishesWithin } from '../../../base/program/in-time.ts'
import { DesiredAnswer, LONGEST_STATEMENT, LONGEST_WAIT, REPORT_EVERY } from '../../../base/protocol/protocol.ts'
import { repeat } from '../../../base/work/repeat.ts'
import type { CloudSettings } from '../../config/cloud-settings.ts'
import type { HostDatabase } from '../../database/tables.ts'
import type { SolutionStore } from '../../solutions/solution-store.ts'
import { ANSWER_TIME, jsonOf } from './cloud-requests.ts'
import { type CloudState, createCloudStates, type NoAnswer } from './cloud-state.ts'
import { createInForce, type InForceParts } from './in-force.ts'
import { type KeyParts, knownKey } from './known-key.ts'
import { createLease } from './lease.ts'
import { createPauses } from './pauses.ts'
import { createReports, type ReportParts } from './reports.ts'
import { StatementRefused } from './statement.ts'

/**
 * Keeps this host in the state that its control center requests. While the control center is unreachable, solutions
 * keep running.
 */
export interface Managed {
  /** Applies the stored state, even if the control center is unreachable, and starts polling. */
  start(): Promise<void>
  state(): CloudState
  /** Cancels pending requests and waits for them, for up to about 1 s. */
  stop(): Promise<void>
}

export type ManagedParts = InForceParts &
  KeyParts &
  ReportParts & {
    readonly cloud: CloudSettings
    readonly db: HostDatabase
    readonly store: Pick<SolutionStore, 'get' | 'hasVersion' | 'list'>
    readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
    /** Returns a random number from 0 to 1. */
    readonly random?: () => number
  }

/** Minimum interval between polls in ms, whatever the control center responds. */
const SHORTEST_ROUND = 1000
/** Maximum size of a response with a statement, in bytes. */
const MOST_ANSWER = LONGEST_STATEMENT + 1024
const STOP_PATIENCE = 1000

export function createManaged(parts: ManagedParts): Managed {
  const { cloud, ask, kept, log } = parts
  const node = randomUUID()
  const stopping = new AbortController()
  const { signal } = stopping
  const pauses = createPauses(parts.random)
  const lease = createLease(parts.db, node)
  const states = createCloudStates(cloud.url.host, log)
  const reports = createReports({ ...parts, node, states, waitsFor: () => inForce.waitsFor(), signal })
  const inForce = createInForce({ ...parts, lease, states, pauses, report: reports.send, signal })
  let running: Promise<void> = Promise.resolve()
  let stopReporting = async () => {}

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const begun = performance.now()
      const wait = await round().catch((error: Error) => {
        log.error({ stack: error.stack }, 'the desired state from the control center could not be processed')
        return pauses.next()
      })
      const rest = Math.max(wait, SHORTEST_ROUND - (performance.now() - begun))
      await sleep(rest)
    }
  }

  /** @returns how long to wait before the next round, in ms */
  async function round(): Promise<number> {
    const unfinished = await inForce.finish()
    const key = await knownKey(parts, signal)
    if (typeof key !== 'string') return gone(key)
    const after = (await inForce.last(key))?.state.number ?? 0
    // Don't use long polling until the last statement is applied, because it would delay the retry.
    const wait = states.now().state === 'connected' && unfinished === null ? LONGEST_WAIT : 0
    const path = `desired?after=${after}&wait=${wait}`
    const timeout = wait * 1000 + ANSWER_TIME
    const answer = await ask({ method: 'GET', path, maxBytes: MOST_ANSWER, timeout, signal })
    if (answer.kind === 'too-large') return refuse('the control center’s response is too large to be a desired state')
    if (answer.kind !== 'answer') return gone(answer)
    if (answer.status !== 200 && answer.status !== 204) return gone({ kind: 'barred', status: answer.status })
    if (states.answers() || reports.isDue()) reports.send()
    if (answer.status === 204) {
      if (unfinished === null) pauses.reset()
      return unfinished ?? 0
    }
    const { data } = DesiredAnswer.safeParse(jsonOf(answer.body))
    return data === undefined
      ? refuse('the control center’s response contains no desired state')
      : take(data.statement, key)
  }

  async function take(text: string, key: string): Promise<number> {
    try {
      await inForce.take(text, key)
      return (await inForce.finish()) ?? 0
    } catch (error) {
      if (error instanceof StatementRefused) return refuse(error.message)
      throw error
    }
  }

  function refuse(why: string): number {
    states.refused(why)
    reports.send()
    return pauses.next()
  }

  function gone(answer: NoAnswer): number {
    if (signal.aborted) return 0
    states.gone(answer)
    return answer.kind === 'barred' ? pauses.barred() : Math.max(answer.wait ?? 0, pauses.next())
  }

  /** Waits. Returns early if the host stops. */
  async function sleep(milliseconds: number): Promise<void> {
    if (milliseconds <= 0 || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wakeUp = setTimeout(resolve, milliseconds)
    wakeUp.unref()
    const end = () => resolve()
    signal.addEventListener('abort', end, { once: true })
    await promise
    signal.removeEventListener('abort', end)
    clearTimeout(wakeUp)
  }

  return {
    async start() {
      inForce.adopt(await kept.get())
      stopReporting = repeat(REPORT_EVERY, () => {
        // Don't send reports with a token that the control center has rejected.
        if (states.now().state !== 'barred') reports.send()
      })
      running = run()
    },
    state: () => states.now(),
    async stop() {
      await stopReporting()
      stopping.abort()
      await finishesWithin(STOP_PATIENCE, running)
    },
  }
}
