import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Settings } from '../../config/settings.ts'
import type { Database } from '../../database/open.ts'
import { storedHash } from '../../database/stored-hash.ts'
import type { CloudSettings } from '../cloud-settings.ts'
import {
  DesiredAnswer,
  KeyAnswer,
  LONGEST_STATEMENT,
  LONGEST_WAIT,
  MOST_SOLUTIONS,
  REPORT_EVERY,
  type Report,
  type SolutionResult,
} from '../protocol.ts'
import { type ApplyParts, applySolutions } from './apply.ts'
import type { AskCloud, CloudAnswer } from './cloud-requests.ts'
import type { KeptState, KeptStates } from './kept-state.ts'
import { createLease } from './lease.ts'
import { checkSuccession, readStatement, type Statement, StatementRefused } from './statement.ts'

/** How a Satellite stands with its control center, for its health page. Times are epoch ms. */
export type CloudState = {
  /** `barred`: it refuses the token, or there is none at that address. */
  readonly state: 'connecting' | 'connected' | 'away' | 'barred'
  /** Since when it is so. */
  readonly since: number
  /** Of the desired state that was tried last; null: none was. */
  readonly number: number | null
  readonly triedAt: number | null
  readonly failed: readonly { readonly name: string; readonly message: string }[]
  /** Why the last statement was not taken; null: it was. */
  readonly refused: string | null
}

/** Keeps this host as its control center wants it. Nothing that runs waits for it, or ends with it. */
export interface Managed {
  /** Puts in force what was asked before, also without the control center, and begins to ask. */
  start(): Promise<void>
  state(): CloudState
  /** Ends what it waits for, within about 1 s. */
  stop(): Promise<void>
}

export type ManagedParts = Omit<ApplyParts, 'ask' | 'host'> & {
  readonly cloud: CloudSettings
  readonly ask: AskCloud
  readonly kept: KeptStates
  readonly db: Database
  readonly store: ApplyParts['store'] & {
    readonly list: () => Promise<
      readonly { readonly name: string; readonly active: string | null; readonly activeVersion: string | null }[]
    >
  }
  /** Null: what the host's own environment says. */
  readonly setLogLevel: (level: Settings['logLevel'] | null) => void
  /** What the health page shows first. */
  readonly health: () => Promise<Pick<Report, 'health' | 'findings'>>
  readonly version: string
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** 0 to 1. */
  readonly random?: () => number
}

/** The first wait after a failure, and the longest, in ms; each is drawn from its upper half, so that Satellites spread. */
const FIRST_WAIT = 1000
const LONGEST_PAUSE = 60_000
/** A wrong token or address is tried so rarely, in ms. */
const BARRED_WAIT = 5 * 60_000
/** Two questions come no closer, whatever the control center answers, in ms. */
const SHORTEST_ROUND = 1000
/** Another node is at it: it is looked at again after so long, in ms. */
const OTHER_NODE_WAIT = 1000
const ANSWER_TIME = 20_000
/** JSON around the statement. */
const MOST_ANSWER = LONGEST_STATEMENT + 1024
const STOP_PATIENCE = 1000

export function createManaged(parts: ManagedParts): Managed {
  const { cloud, ask, kept, log, random = Math.random } = parts
  const node = randomUUID()
  const lease = createLease(parts.db, node)
  const token = storedHash(cloud.token)
  const stopping = new AbortController()
  const { signal } = stopping
  let status: CloudState = {
    state: 'connecting',
    since: Date.now(),
    number: null,
    triedAt: null,
    failed: [],
    refused: null,
  }
  let failures = 0
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  let isReporting = false
  let isReportDue = false
  /** Why what was taken is not in force yet. */
  let waitsFor: string | null = null

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const begun = performance.now()
      const wait = await round().catch((error: Error) => {
        log.error({ stack: error.stack }, 'what the control center asks could not be looked at')
        return pause()
      })
      const rest = Math.max(wait, SHORTEST_ROUND - (performance.now() - begun))
      await sleep(rest)
    }
  }

  /** @returns how long to wait before the next one, in ms */
  async function round(): Promise<number> {
    const unfinished = await finish()
    const key = await keyOf()
    if (typeof key !== 'string') return gone(key)
    const last = await kept.get()
    const isSame = last !== null && last.token === token && last.key === key
    const after = isSame ? last.state.number : 0
    // What is not in force yet is tried again soon, unless something newer takes its place.
    const wait = status.state === 'connected' && unfinished === null ? LONGEST_WAIT : 0
    const path = `desired?after=${after}&wait=${wait}`
    const timeout = wait * 1000 + ANSWER_TIME
    const answer = await ask({ method: 'GET', path, maxBytes: MOST_ANSWER, timeout, signal })
    if (answer.kind === 'too-large') return refuse('the answer is too large to be a statement')
    if (answer.kind !== 'answer') return gone(answer)
    if (answer.status !== 200 && answer.status !== 204) return gone({ kind: 'barred', status: answer.status })
    here()
    if (answer.status === 204) {
      if (unfinished === null) failures = 0
      return unfinished ?? 0
    }
    const { data } = DesiredAnswer.safeParse(jsonOf(answer.body))
    return data === undefined ? refuse('the answer holds no statement') : take(data.statement, key, last)
  }

  /** The key that statements must be signed with. */
  async function keyOf(): Promise<string | Exclude<CloudAnswer, { kind: 'answer' | 'too-large' }>> {
    if (cloud.publicKey !== '') return cloud.publicKey
    const known = await kept.key()
    if (known !== null) return known
    const answer = await ask({ method: 'GET', path: 'key', maxBytes: 4096, timeout: ANSWER_TIME, signal })
    if (answer.kind === 'away' || answer.kind === 'barred') return answer
    const read = answer.kind === 'answer' ? KeyAnswer.safeParse(jsonOf(answer.body)) : null
    if (!read?.success) return { kind: 'barred', status: answer.kind === 'answer' ? answer.status : 200 }
    log.info({ publicKey: read.data.publicKey }, KEY_KEPT)
    return kept.keepKey(read.data.publicKey)
  }

  async function take(text: string, key: string, last: KeptState | null): Promise<number> {
    try {
      const statement = await readStatement(text, key)
      // The operator gave it another token: it may be of another environment from now on.
      const environment = last !== null && last.token === token ? last.state.environment : null
      // Looked at first, so that what is refused is refused on every node.
      checkSuccession(statement, environment, await kept.taken(statement.state.environment))
      status = { ...status, refused: null }
      await lease.hold(() => keep(statement, key, environment))
      return (await finish()) ?? 0
    } catch (error) {
      if (error instanceof StatementRefused) return refuse(error.message)
      throw error
    }
  }

  /** From now on it is what this Satellite is to be, on all nodes and over restarts. */
  async function keep(statement: Statement, key: string, environment: string | null): Promise<void> {
    const { state, hash } = statement
    const isNew = checkSuccession(statement, environment, await kept.taken(state.environment))
    const before = await kept.get()
    if (!isNew && before?.state.environment === state.environment && before.token === token && before.key === key)
      return
    // First the number, so that nothing older is ever taken again, whenever this process ends.
    await kept.putTaken(state.environment, { number: state.number, hash })
    const isSame = before?.state.environment === state.environment
    const [done, settings] = isSame ? [before.done, before.settings] : [null, {}]
    await kept.put({ environment: state.environment, token, key, state, done, settings })
  }

  /** Brings what was taken to its end. @returns ms to wait before it is tried again; null: there is nothing left to do */
  async function finish(): Promise<number | null> {
    const last = await kept.get()
    if (last === null || isFinished(last)) {
      await adopt(last)
      return null
    }
    let outcome: number | null = null
    const isMine = await lease.hold(async () => {
      // Another node may have finished it meanwhile.
      const now = await kept.get()
      if (now !== null && !isFinished(now)) outcome = await apply(now)
    })
    if (!isMine) return OTHER_NODE_WAIT
    if (outcome === null) await adopt(await kept.get())
    return outcome
  }

  async function apply(last: KeptState): Promise<number | null> {
    const { state } = last
    const applied = await applySolutions(state, { ...parts, host: cloud.url.host }, signal)
    if (applied.kind === 'later') {
      if (waitsFor !== applied.why && !signal.aborted) log.warn({ number: state.number, why: applied.why }, UNFINISHED)
      waitsFor = applied.why
      return Math.max(applied.wait ?? 0, pause())
    }
    waitsFor = null
    failures = 0
    const { results } = applied
    const failed = results.filter((one) => one.outcome === 'failed')
    const outcome = failed.length === 0 ? ('applied' as const) : ('failed' as const)
    const done = { number: state.number, outcome, results: [...results], at: Date.now() }
    await kept.put({ ...last, done, settings: state.settings })
    for (const { name, code, message } of failed)
      log.error({ solution: name, code, number: state.number, why: message }, FAILED)
    if (failed.length === 0) log.info({ number: state.number }, 'what the control center asks for is in force')
    return null
  }

  /** What all nodes do, whichever of them applied it. */
  async function adopt(last: KeptState | null): Promise<void> {
    parts.setLogLevel(last?.settings.logLevel ?? null)
    const done = last?.done ?? null
    const isNews = done !== null && done.number !== status.number
    status = {
      ...status,
      number: done?.number ?? null,
      triedAt: done?.at ?? null,
      failed: (done?.results ?? []).filter((one) => one.outcome === 'failed').map(failureOf),
    }
    if (isNews && status.state === 'connected') report()
  }

  function refuse(why: string): number {
    if (status.refused !== why) log.error({ controlCenter: cloud.url.host, why }, REFUSED)
    status = { ...status, refused: why }
    report()
    return pause()
  }

  function here(): void {
    if (status.state === 'connected') {
      if (isReportDue) report()
      return
    }
    if (status.state !== 'connecting') log.info({ controlCenter: cloud.url.host }, 'the control center answers again')
    status = { ...status, state: 'connected', since: Date.now() }
    report()
  }

  /** Each state is said once. */
  function gone(answer: Exclude<CloudAnswer, { kind: 'answer' | 'too-large' }>): number {
    if (signal.aborted) return 0
    const next = answer.kind
    if (status.state !== next) {
      status = { ...status, state: next, since: Date.now() }
      const controlCenter = cloud.url.host
      if (answer.kind === 'away') log.warn({ controlCenter, why: answer.why }, AWAY)
      else log.error({ controlCenter, status: answer.status }, barredText(answer.status))
    }
    if (answer.kind === 'barred') return BARRED_WAIT * (0.75 + random() / 2)
    return Math.max(answer.wait ?? 0, pause())
  }

  function pause(): number {
    const longest = Math.min(FIRST_WAIT * 2 ** Math.min(failures++, 10), LONGEST_PAUSE)
    return longest * (0.5 + random() / 2)
  }

  /** One after the other, lest an earlier one that was held up take the place of a later one. Nobody waits for it. */
  function report(): void {
    isReportDue = true
    if (isReporting || signal.aborted) return
    isReporting = true
    sendReports()
      .catch((error: Error) => {
        log.warn({ why: error.message }, 'the control center could not be told how this host is')
        return false
      })
      .then((isThere) => {
        isReporting = false
        // Asked for just when the last one was found to be enough.
        if (isThere && isReportDue) report()
      })
  }

  /** What does not arrive stays due until the control center answers again: then false. */
  async function sendReports(): Promise<boolean> {
    while (isReportDue && !signal.aborted) {
      isReportDue = false
      const health = await parts.health()
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
      isReportDue = true
      return false
    }
    return true
  }

  async function reportOf(health: Pick<Report, 'health' | 'findings'>): Promise<Report> {
    const solutions = (await parts.store.list()).slice(0, MOST_SOLUTIONS)
    const done = (await kept.get())?.done ?? null
    return {
      node,
      version: parts.version.slice(0, 100),
      number: done?.number ?? 0,
      outcome: status.refused !== null ? 'refused' : (done?.outcome ?? 'none'),
      ...reasonOf(status.refused ?? waitsFor),
      results: fitting(done?.results ?? []),
      solutions: solutions.map(({ name, active, activeVersion }) => {
        return { name, sha256: active, version: (activeVersion ?? '').slice(0, 100) }
      }),
      ...health,
    }
  }

  /** Ends early when it is stopped. */
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
      await adopt(await kept.get())
      timer = setInterval(() => {
        // A refused token is not shown again and again.
        if (status.state !== 'barred') report()
      }, REPORT_EVERY)
      timer.unref()
      running = run()
    },
    state: () => status,
    async stop() {
      if (timer !== null) clearInterval(timer)
      stopping.abort()
      const patience = Promise.withResolvers<void>()
      const late = setTimeout(patience.resolve, STOP_PATIENCE)
      await Promise.race([running, patience.promise])
      clearTimeout(late)
    },
  }
}

function isFinished({ state, done }: KeptState): boolean {
  return done?.number === state.number
}

function failureOf({ name, code, message }: SolutionResult) {
  return { name, message: message ?? code ?? '' }
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

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return null
  }
}

const KEY_KEPT =
  'this is the key of the control center, kept from the first contact: compare it with that on its Credentials page, or set CLOUD_PUBLIC_KEY'
const AWAY = 'the control center does not answer: what runs goes on, and it is asked again and again'
const REFUSED = 'a statement of the control center was refused: what runs goes on'
const FAILED = 'a version that the control center asks for was refused: the one before goes on'
const UNFINISHED = 'what the control center asks for is not in force yet: it is tried again'

function barredText(status: number): string {
  const what =
    status === 401 || status === 403
      ? 'the control center refuses REMOTE_ENVIRONMENT_TOKEN, it is unknown or was revoked: set it to one of the Credentials page'
      : 'there is no control center at CLOUD_URL: correct it'
  return `${what}, and start again. What runs goes on`
}
