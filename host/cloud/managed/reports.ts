import type { Logger } from 'pino'
import { MOST_SOLUTIONS, type Report, type SolutionResult } from '../../../base/protocol/protocol.ts'
import type { SolutionStore } from '../../solutions/solution-store.ts'
import { ANSWER_TIME, type AskCloud } from './cloud-requests.ts'
import type { CloudStates } from './cloud-state.ts'
import type { KeptStates } from './kept-state.ts'

/** Reports this host's status to the control center. */
export interface Reports {
  /**
   * Sends a report in the background. Reports are sent sequentially, so that a delayed one can't replace a later one.
   * Failed reports are sent again later.
   */
  send(): void
  isDue(): boolean
}

export type ReportParts = {
  readonly ask: AskCloud
  readonly kept: Pick<KeptStates, 'get'>
  readonly store: Pick<SolutionStore, 'list'>
  /** The overall status and the findings, as on the health page. */
  readonly health: () => Promise<Pick<Report, 'health' | 'findings'>>
  readonly version: string
  readonly log: Pick<Logger, 'warn'>
}

type Needs = ReportParts & {
  /** This node's id among the nodes that share the database. */
  readonly node: string
  readonly states: Pick<CloudStates, 'now'>
  /** Why the accepted state is not applied yet; null if it is. */
  readonly waitsFor: () => string | null
  readonly signal: AbortSignal
}

export function createReports(needs: Needs): Reports {
  const { ask, kept, store, version, log, node, states, waitsFor, signal } = needs
  let isSending = false
  let isDue = false
  /** The status with which the last report was rejected; null if it was accepted. */
  let rejected: number | null = null

  /** Logs each status once, until a report is accepted. */
  function note(status: number | null): void {
    if (status !== null && status !== rejected) log.warn({ status }, REJECTED)
    rejected = status
  }

  function send(): void {
    isDue = true
    if (isSending || signal.aborted) return
    isSending = true
    sendDue()
      .catch((error: Error) => {
        log.warn({ why: error.message }, 'the host could not report its state to the control center')
        return false
      })
      .then((isThere) => {
        isSending = false
        // Send a report that was requested after the loop in `sendDue` had ended.
        if (isThere && isDue) send()
      })
  }

  /** @returns false if a report did not arrive; it is sent again when the control center responds again */
  async function sendDue(): Promise<boolean> {
    while (isDue && !signal.aborted) {
      isDue = false
      const health = await needs.health()
      const body = JSON.stringify(await reportOf(health))
      const answer = await ask({
        method: 'POST',
        path: 'report',
        body,
        maxBytes: 64 * 1024,
        timeout: ANSWER_TIME,
        signal,
      })
      if (answer.kind === 'answer') {
        note(answer.status < 400 ? null : answer.status)
        continue
      }
      if (answer.kind === 'barred') note(answer.status)
      isDue = true
      return false
    }
    return true
  }

  async function reportOf(health: Pick<Report, 'health' | 'findings'>): Promise<Report> {
    const solutions = (await store.list()).slice(0, MOST_SOLUTIONS)
    const done = (await kept.get())?.done ?? null
    const { refused } = states.now()
    return {
      node,
      version: version.slice(0, 100),
      number: done?.number ?? 0,
      outcome: refused !== null ? 'refused' : (done?.outcome ?? 'none'),
      ...reasonOf(refused ?? waitsFor()),
      results: fitting(done?.results ?? []),
      solutions: solutions.map(({ name, active, activeVersion }) => {
        return { name, sha256: active, version: (activeVersion ?? '').slice(0, 100) }
      }),
      ...health,
    }
  }

  return { send, isDue: () => isDue }
}

const REJECTED =
  'the control center, or a proxy before it, rejects this host’s reports. So the control center can’t show the host’s state, and ' +
  'rollouts to its environment fail. Check that both have compatible versions, and that proxies allow POST /satellite/v1/report'

function reasonOf(reason: string | null): Pick<Report, 'reason'> {
  return reason === null ? {} : { reason: reason.slice(0, 2000) }
}

/**
 * Maximum characters of the results, well below the limit for JSON bodies. If the results are longer, their error
 * messages are truncated.
 */
const MOST_RESULTS_TEXT = 400_000
function fitting(results: readonly SolutionResult[]): SolutionResult[] {
  if (JSON.stringify(results).length <= MOST_RESULTS_TEXT) return [...results]
  return results.map(({ faults, message, ...result }) => {
    const shortened = message === undefined ? {} : { message: message.slice(0, 500) }
    return { ...result, ...shortened, ...(faults === undefined ? {} : { faults: faults.slice(0, 1) }) }
  })
}
