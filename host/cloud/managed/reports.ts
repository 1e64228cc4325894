import type { Logger } from 'pino'
import { MOST_SOLUTIONS, type Report, type SolutionResult } from '../../../base/protocol/protocol.ts'
import type { SolutionStore } from '../../solutions/solution-store.ts'
import { ANSWER_TIME, type AskCloud } from './cloud-requests.ts'
import type { CloudStates } from './cloud-state.ts'
import type { KeptStates } from './kept-state.ts'

/** Tells the control center how this host is. */
export interface Reports {
  /**
   * One after the other, lest an earlier one that was held up take the place of a later one. Nobody waits for it; what does
   * not arrive stays due.
   */
  send(): void
  isDue(): boolean
}

export type ReportParts = {
  readonly ask: AskCloud
  readonly kept: Pick<KeptStates, 'get'>
  readonly store: Pick<SolutionStore, 'list'>
  /** What the health page shows first. */
  readonly health: () => Promise<Pick<Report, 'health' | 'findings'>>
  readonly version: string
  readonly log: Pick<Logger, 'warn'>
}

type Needs = ReportParts & {
  /** This one, of all that share the host's database. */
  readonly node: string
  readonly states: Pick<CloudStates, 'now'>
  /** Why what was taken is not in force yet; null: it is. */
  readonly waitsFor: () => string | null
  readonly signal: AbortSignal
}

export function createReports(needs: Needs): Reports {
  const { ask, kept, store, version, log, node, states, waitsFor, signal } = needs
  let isSending = false
  let isDue = false

  function send(): void {
    isDue = true
    if (isSending || signal.aborted) return
    isSending = true
    sendDue()
      .catch((error: Error) => {
        log.warn({ why: error.message }, 'the control center could not be told how this host is')
        return false
      })
      .then((isThere) => {
        isSending = false
        // Asked for just when the last one was found to be enough.
        if (isThere && isDue) send()
      })
  }

  /** What does not arrive stays due until the control center answers again: then false. */
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
      if (answer.kind === 'answer') continue
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

function reasonOf(reason: string | null): Pick<Report, 'reason'> {
  return reason === null ? {} : { reason: reason.slice(0, 2000) }
}

/** A report stays far below what a JSON body may have: the faults of many failed bundles are cut first. */
const MOST_RESULTS_TEXT = 400_000
function fitting(results: readonly SolutionResult[]): SolutionResult[] {
  if (JSON.stringify(results).length <= MOST_RESULTS_TEXT) return [...results]
  return results.map(({ faults, message, ...result }) => {
    const shortened = message === undefined ? {} : { message: message.slice(0, 500) }
    return { ...result, ...shortened, ...(faults === undefined ? {} : { faults: faults.slice(0, 1) }) }
  })
}
