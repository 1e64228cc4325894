import type { Logger } from 'pino'
import { storedHash } from '../../../base/database/stored-hash.ts'
import type { CloudSettings } from '../../config/cloud-settings.ts'
import type { Settings } from '../../config/settings.ts'
import { type ApplyParts, applySolutions } from './apply.ts'
import type { CloudStates } from './cloud-state.ts'
import type { KeptState, KeptStates } from './kept-state.ts'
import type { Lease } from './lease.ts'
import type { Pauses } from './pauses.ts'
import { checkSuccession, readStatement, type Statement } from './statement.ts'

/** Accepts statements from the control center, and applies them. */
export interface InForce {
  /** The last accepted state; null if there is none for the current token and `key`. */
  last(key: string): Promise<KeptState | null>
  /**
   * Stores a statement as the desired state of all nodes. The statement survives restarts.
   * @throws StatementRefused
   */
  take(text: string, key: string): Promise<void>
  /**
   * Applies the accepted state.
   * @returns how long to wait before retrying, in ms; null if nothing is left to do
   */
  finish(): Promise<number | null>
  /**
   * Applies the parts that each node must apply itself, such as the log level. This is needed even if another node has
   * applied the solutions.
   */
  adopt(last: KeptState | null): void
  /** Why the accepted state is not applied yet; null if it is. */
  waitsFor(): string | null
}

export type InForceParts = Omit<ApplyParts, 'host'> & {
  readonly cloud: Pick<CloudSettings, 'url' | 'token'>
  readonly kept: KeptStates
  /** Null restores the log level from the host's environment variables. */
  readonly setLogLevel: (level: Settings['logLevel'] | null) => void
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** While another node is applying the state, this node checks again at this interval, in ms. */
const OTHER_NODE_WAIT = 1000

type Needs = InForceParts & {
  readonly lease: Lease
  readonly states: CloudStates
  readonly pauses: Pauses
  /** Called when the applied state differs from the one in the last report. */
  readonly report: () => void
  readonly signal: AbortSignal
}

export function createInForce(needs: Needs): InForce {
  const { cloud, kept, log, lease, states, pauses, report, signal } = needs
  const token = storedHash(cloud.token)
  let waitsFor: string | null = null
  const postponed = new Set<string>()
  /** The sequence number of the last statement that is known to be in this node's file. */
  let noted: number | null = null

  async function keep(statement: Statement, key: string, environment: string | null): Promise<void> {
    const { state, hash } = statement
    const isNew = checkSuccession(statement, environment, await kept.taken(state.environment))
    const before = await kept.get()
    // A restored backup of the database contains an older state, but this node's file still has the newest number. In
    // that case, store the statement again.
    const isKept = before?.state.environment === state.environment && before.state.number === state.number
    if (!isNew && isKept && before.token === token && before.key === key) return
    // Store the sequence number first. Then no older statement is accepted, even if the process crashes at this point.
    await kept.putTaken(state.environment, { number: state.number, hash })
    const isSame = before?.state.environment === state.environment
    const [done, settings] = isSame ? [before.done, before.settings] : [null, {}]
    await kept.put({ environment: state.environment, token, key, state, done, settings })
  }

  /**
   * Stores the sequence number in this node's file outside the database. Every node does this, even if another node
   * accepted the statement.
   */
  async function note(last: KeptState | null): Promise<void> {
    if (last === null || last.state.number === noted) return
    await kept.taken(last.state.environment)
    noted = last.state.number
  }

  async function apply(last: KeptState): Promise<number | null> {
    const { state } = last
    const applied = await applySolutions(state, { ...needs, host: cloud.url.host }, signal, postponed)
    if (applied.kind === 'later') {
      if (waitsFor !== applied.why && !signal.aborted) log.warn({ number: state.number, why: applied.why }, UNFINISHED)
      waitsFor = applied.why
      return Math.max(applied.wait ?? 0, pauses.next())
    }
    waitsFor = null
    pauses.reset()
    const { results } = applied
    const failed = results.filter((one) => one.outcome === 'failed')
    const outcome = failed.length === 0 ? ('applied' as const) : ('failed' as const)
    const done = { number: state.number, outcome, results: [...results], at: Date.now() }
    await kept.put({ ...last, done, settings: state.settings })
    for (const { name, code, message } of failed)
      log.error({ solution: name, code, number: state.number, why: message }, FAILED)
    if (failed.length === 0) log.info({ number: state.number }, 'the desired state from the control center was applied')
    return null
  }

  function adopt(last: KeptState | null): void {
    needs.setLogLevel(last?.settings.logLevel ?? null)
    if (states.tried(last) && states.now().state === 'connected') report()
  }

  return {
    adopt,
    waitsFor: () => waitsFor,
    async last(key) {
      const last = await kept.get()
      return last !== null && last.token === token && last.key === key ? last : null
    },
    async take(text, key) {
      const statement = await readStatement(text, key)
      const last = await kept.get()
      // If the operator changed the token, this Satellite may now belong to another environment.
      const environment = last !== null && last.token === token ? last.state.environment : null
      // Check the statement before taking the lease, so that every node rejects it.
      checkSuccession(statement, environment, await kept.taken(statement.state.environment))
      states.refused(null)
      await lease.hold(() => keep(statement, key, environment))
    },
    async finish() {
      const last = await kept.get()
      await note(last)
      if (last === null || isFinished(last)) {
        adopt(last)
        return null
      }
      let outcome: number | null = null
      const isMine = await lease.hold(async () => {
        // Another node may have applied the state in the meantime.
        const now = await kept.get()
        if (now !== null && !isFinished(now)) outcome = await apply(now)
      })
      if (!isMine) return OTHER_NODE_WAIT
      if (outcome === null) adopt(await kept.get())
      return outcome
    },
  }
}

function isFinished({ state, done }: KeptState): boolean {
  return done?.number === state.number
}

const FAILED = 'a version in the desired state was rejected: the previous version keeps running'
const UNFINISHED = 'the desired state from the control center is not applied yet: the host will retry'
