import { answeredWithin } from '../../base/database/answered-within.ts'
import type { KindName } from '../../base/database/kind.ts'
import type { SenderState } from '../../base/outbound/sender.ts'
import type { HostCertificate } from '../../base/tls/watch-certificate.ts'
import type { MemoryState } from '../../runtime/memory-bound.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Audit, OutcomeCount } from '../access/audit.ts'
import type { CloudLoginProblem } from '../cloud/login/problems.ts'
import type { CloudState } from '../cloud/managed/cloud-state.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { Pauses } from '../jobs/pauses.ts'
import { retryAtOf } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { type EntryFigures, type Figures, type Point, RANGES, type Range } from '../telemetry/figures.ts'
import { lookAtProcesses, type SeenProcess } from '../telemetry/look-at-processes.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

export type HealthReport = {
  /** Epoch ms. */
  readonly now: number
  readonly startedAt: number
  /** In ms. */
  readonly uptime: number
  readonly version: string
  readonly node: string
  readonly database: { readonly kind: KindName; readonly ok: boolean; readonly latency: number | null }
  /** The state of the host's certificate; null if TLS is off. */
  readonly certificate: ReturnType<HostCertificate['state']> | null
  /** State of the export to the collector, by signal; empty if nothing is exported. */
  readonly telemetry: readonly SenderState[]
  /** In bytes. `used` also includes the memory of database processes. */
  readonly memory: { readonly host: number; readonly processes: number } & MemoryState
  /** Number of clients open on this host. */
  readonly clients: number
  readonly processes: readonly SeenProcess[]
  /** Solutions whose scripts are paused; null if the database did not respond. */
  readonly quarantined: readonly { readonly solution: string; readonly retryAt: number }[] | null
  /**
   * Solutions with schedules or unfinished runs whose jobs an administrator or a restore has paused; null if the
   * database did not respond.
   */
  readonly pausedJobs: readonly string[] | null
  /** The latest problems on this host with PLATFORM_CLOUD sign-ins or their login pages. */
  readonly cloudLogins: readonly { readonly solution: string; readonly problem: CloudLoginProblem }[]
  /** State of the control center connection; null if there is no control center. */
  readonly cloud: CloudState | null
  readonly series: { readonly range: Range; readonly step: number; readonly points: readonly Point[] }
  /**
   * Sign-ins on all hosts, counted from the audit log for each step of the series; null if the database did not
   * respond.
   */
  readonly signIns: readonly OutcomeCount[] | null
  readonly entries: readonly EntryFigures[]
}

export type HealthParts = {
  /** Null if TLS is off. */
  readonly certificate?: HostCertificate['state'] | null
  readonly figures: Figures
  readonly supervisor: Pick<Supervisor, 'processes' | 'retryAt' | 'memory'>
  readonly telemetry?: Pick<Telemetry, 'states'>
  readonly store: Pick<SolutionStore, 'list'>
  readonly pauses: Pick<Pauses, 'holding'>
  readonly audit: Pick<Audit, 'countOutcomes'>
  readonly db: HostDatabase
  readonly kind: KindName
  readonly version: string
  /** Absent if there is no control center. */
  readonly cloud?: (() => CloudState) | undefined
  /** Absent if there is no control center. */
  readonly cloudLoginProblems?: (() => HealthReport['cloudLogins']) | undefined
}

/** Reports the state of this host, for the page and the API. Responds even if the database is down. */
export type Health = (asked: { readonly range: Range; readonly hours: number }) => Promise<HealthReport>

/** Timeout of database queries, in ms. */
const PATIENCE = 2000

/** @param now returns the current time in epoch milliseconds */
export function createHealth(parts: HealthParts, now: () => number = Date.now): Health {
  const { figures, supervisor, store, pauses, audit, db, kind, version } = parts
  const startedAt = now()

  async function quarantined(): Promise<NonNullable<HealthReport['quarantined']>> {
    return (await store.list()).flatMap(({ name, active }) => {
      const retryAt = retryAtOf(supervisor, { name, active })
      return retryAt === null ? [] : [{ solution: name, retryAt }]
    })
  }

  /**
   * Returns the problems with PLATFORM_CLOUD sign-ins. Omits solutions that were removed or now use another sign-in
   * mode.
   */
  async function cloudLogins(): Promise<HealthReport['cloudLogins']> {
    const found = parts.cloudLoginProblems?.() ?? []
    if (found.length === 0) return []
    const solutions = await store.list()
    const isOne = (solution: string) =>
      solutions.some(({ name, authenticator }) => name === solution && authenticator === 'PLATFORM_CLOUD')
    return found.filter(({ solution }) => isOne(solution))
  }

  return async ({ range, hours }) => {
    const { step, points } = RANGES[range]
    const to = (Math.floor(now() / step) + 1) * step
    const latency = await latencyOf(db)
    const isThere = latency !== null
    const [paused, withoutJobs, signIns, cloud] = await Promise.all([
      isThere ? orNull(quarantined()) : null,
      isThere ? orNull(pauses.holding()) : null,
      isThere ? orNull(audit.countOutcomes({ actions: SIGN_INS, from: to - points * step, to, step })) : null,
      isThere ? orNull(cloudLogins()) : null,
    ])
    const { list, clients, processMemory, hostMemory } = lookAtProcesses(supervisor.processes())
    return {
      now: now(),
      startedAt,
      uptime: now() - startedAt,
      version,
      node: process.version,
      database: { kind, ok: isThere, latency },
      certificate: parts.certificate?.() ?? null,
      telemetry: parts.telemetry?.states() ?? [],
      memory: { host: hostMemory, processes: processMemory, ...supervisor.memory() },
      clients,
      processes: list,
      quarantined: paused,
      pausedJobs: withoutJobs,
      cloudLogins: cloud ?? parts.cloudLoginProblems?.() ?? [],
      cloud: parts.cloud?.() ?? null,
      series: { range, step, points: figures.points(range) },
      signIns,
      entries: figures.entries(hours),
    }
  }
}

const SIGN_INS = ['sign-in', 'remembered-sign-in'] as const

/** Measures the database's response time in ms, to one decimal place. Returns null after a timeout. */
async function latencyOf(db: HostDatabase): Promise<number | null> {
  const begun = performance.now()
  const asked = db.selectFrom('platform').select('key').where('key', '=', 'examples').executeTakeFirst()
  const answer = await orNull(asked.then(() => true))
  return answer === null ? null : Math.round((performance.now() - begun) * 10) / 10
}

/** Runs a query. Returns null if it fails or times out, so that the rest of the report is still sent. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answeredWithin(PATIENCE, answer)
  } catch {
    return null
  }
}
