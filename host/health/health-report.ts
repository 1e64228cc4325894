import { answeredWithin } from '../../base/database/answered-within.ts'
import type { KindName } from '../../base/database/kind.ts'
import type { Database } from '../../base/database/open.ts'
import type { SenderState } from '../../base/outbound/sender.ts'
import type { HostCertificate } from '../../base/tls/watch-certificate.ts'
import type { MemoryState } from '../../runtime/memory-bound.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Audit, OutcomeCount } from '../access/audit.ts'
import type { CloudLoginProblem } from '../cloud/login/problems.ts'
import type { CloudState } from '../cloud/managed/cloud-state.ts'
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
  /** In epoch ms, see `CertificateState`; null: the host serves no TLS. */
  readonly certificate: ReturnType<HostCertificate['state']> | null
  /** What is sent to a collector, by signal; empty: nothing is. */
  readonly telemetry: readonly SenderState[]
  /** In bytes; `used` has what the databases' processes hold as well. */
  readonly memory: { readonly host: number; readonly processes: number } & MemoryState
  /** Open on this host. */
  readonly clients: number
  readonly processes: readonly SeenProcess[]
  /** Solutions whose scripts pause; null: the database did not say which solutions there are. */
  readonly quarantined: readonly { readonly solution: string; readonly retryAt: number }[] | null
  /** What keeps users of PLATFORM_CLOUD from signing in, or their page from them, as this host saw it last. */
  readonly cloudLogins: readonly { readonly solution: string; readonly problem: CloudLoginProblem }[]
  /** How it stands with its control center; null: it has none. */
  readonly cloud: CloudState | null
  readonly series: { readonly range: Range; readonly step: number; readonly points: readonly Point[] }
  /** Of all hosts, from the audit, by the steps of the series; null: the database did not answer. */
  readonly signIns: readonly OutcomeCount[] | null
  readonly entries: readonly EntryFigures[]
}

export type HealthParts = {
  /** Null: the host serves no TLS. */
  readonly certificate?: HostCertificate['state'] | null
  readonly figures: Figures
  readonly supervisor: Pick<Supervisor, 'processes' | 'retryAt' | 'memory'>
  readonly telemetry?: Pick<Telemetry, 'states'>
  readonly store: Pick<SolutionStore, 'list'>
  readonly audit: Pick<Audit, 'countOutcomes'>
  readonly db: Database
  readonly kind: KindName
  readonly version: string
  /** Absent: the host has no control center. */
  readonly cloud?: (() => CloudState) | undefined
  /** Absent: the host is connected to no control center. */
  readonly cloudLoginProblems?: (() => HealthReport['cloudLogins']) | undefined
}

/** How this host is, for the page and the API. It answers while the database is away. */
export type Health = (asked: { readonly range: Range; readonly hours: number }) => Promise<HealthReport>

/** The database is asked for so long, in ms. */
const PATIENCE = 2000

/** @param now the clock, in epoch milliseconds */
export function createHealth(parts: HealthParts, now: () => number = Date.now): Health {
  const { figures, supervisor, store, audit, db, kind, version } = parts
  const startedAt = now()

  async function quarantined(): Promise<NonNullable<HealthReport['quarantined']>> {
    return (await store.list()).flatMap(({ name, active }) => {
      const retryAt = retryAtOf(supervisor, { name, active })
      return retryAt === null ? [] : [{ solution: name, retryAt }]
    })
  }

  /** Without those of solutions that were removed, or sign their users in otherwise now. */
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
    const [paused, signIns, cloud] = await Promise.all([
      isThere ? orNull(quarantined()) : null,
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
      cloudLogins: cloud ?? parts.cloudLoginProblems?.() ?? [],
      cloud: parts.cloud?.() ?? null,
      series: { range, step, points: figures.points(range) },
      signIns,
      entries: figures.entries(hours),
    }
  }
}

const SIGN_INS = ['sign-in', 'remembered-sign-in'] as const

/** In ms, with a tenth; null: it did not answer in time. */
async function latencyOf(db: Database): Promise<number | null> {
  const begun = performance.now()
  const asked = db.selectFrom('platform').select('key').where('key', '=', 'examples').executeTakeFirst()
  const answer = await orNull(asked.then(() => true))
  return answer === null ? null : Math.round((performance.now() - begun) * 10) / 10
}

/** What the database does not answer is left out: the rest is told all the same. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answeredWithin(PATIENCE, answer)
  } catch {
    return null
  }
}
