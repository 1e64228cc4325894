import type { Logger } from 'pino'
import type { SolutionResult } from '../../../base/protocol/protocol.ts'
import type { CloudAnswer } from './cloud-requests.ts'
import type { KeptState } from './kept-state.ts'

/** A Satellite's connection to its control center, for the health page. Times are epoch ms. */
export type CloudState = {
  /** `barred` means that the control center rejects the token, or that the URL has no control center. */
  readonly state: 'connecting' | 'connected' | 'away' | 'barred'
  /** When `state` last changed. */
  readonly since: number
  /** If `state` is `away`: why the last request failed. */
  readonly why: string | null
  /** The sequence number of the last desired state that was processed; null if there was none. */
  readonly number: number | null
  readonly triedAt: number | null
  readonly failed: readonly { readonly name: string; readonly message: string }[]
  /** Why the last statement was rejected; null if it was accepted. */
  readonly refused: string | null
}

/** The result of a request if the control center is unreachable or rejects the token. */
export type NoAnswer = Exclude<CloudAnswer, { kind: 'answer' | 'too-large' }>

/**
 * Tracks the state of the connection, and logs each change once. The methods that set the state return whether it
 * changed.
 */
export interface CloudStates {
  now(): CloudState
  answers(): boolean
  gone(answer: NoAnswer): boolean
  /** @param why why the last statement was rejected; null if it was accepted */
  refused(why: string | null): boolean
  /** @param last the stored state */
  tried(last: KeptState | null): boolean
}

/** @param controlCenter the control center's host name, for the log */
export function createCloudStates(controlCenter: string, log: Pick<Logger, 'info' | 'warn' | 'error'>): CloudStates {
  let now: CloudState = {
    state: 'connecting',
    since: Date.now(),
    why: null,
    number: null,
    triedAt: null,
    failed: [],
    refused: null,
  }

  return {
    now: () => now,
    answers() {
      if (now.state === 'connected') return false
      if (now.state !== 'connecting') log.info({ controlCenter }, 'the control center responds again')
      now = { ...now, state: 'connected', since: Date.now(), why: null }
      return true
    },
    gone(answer) {
      const isNews = now.state !== answer.kind
      const why = answer.kind === 'away' ? answer.why : null
      now = { ...now, state: answer.kind, since: isNews ? Date.now() : now.since, why }
      if (!isNews) return false
      if (answer.kind === 'away') log.warn({ controlCenter, why: answer.why }, AWAY)
      else log.error({ controlCenter, status: answer.status }, barredText(answer.status))
      return true
    },
    refused(why) {
      if (now.refused === why) return false
      if (why !== null) log.error({ controlCenter, why }, REFUSED)
      now = { ...now, refused: why }
      return true
    },
    tried(last) {
      const done = last?.done ?? null
      const isNews = done !== null && done.number !== now.number
      now = {
        ...now,
        number: done?.number ?? null,
        triedAt: done?.at ?? null,
        failed: (done?.results ?? []).filter((one) => one.outcome === 'failed').map(failureOf),
      }
      return isNews
    },
  }
}

function failureOf({ name, code, message }: SolutionResult) {
  return { name, message: message ?? code ?? '' }
}

const AWAY = 'the control center is unreachable: running solutions keep running, and the host keeps retrying'
const REFUSED =
  'the desired state from the control center was rejected. The previous desired state stays in effect, and running solutions keep running'

const BARRED: Readonly<Record<number, string>> = {
  401: 'the control center rejects REMOTE_ENVIRONMENT_TOKEN because it is unknown or revoked: set it to a token from the control center’s Credentials page',
  // A control center never sends this.
  403: 'the server at CLOUD_URL, such as a proxy or firewall before the control center, denies access (HTTP 403): allow this host’s requests',
  // Misdirected Request, RFC 9110, section 15.5.20
  421: 'the control center does not serve the host name in CLOUD_URL: add the name to its ALLOWED_HOSTS, or set CLOUD_URL to its PUBLIC_URL',
}

function barredText(status: number): string {
  const other = `the server at CLOUD_URL does not respond like a control center (HTTP ${status}): check CLOUD_URL`
  return `${BARRED[status] ?? other}, then restart the host. Until then, running solutions keep running`
}
