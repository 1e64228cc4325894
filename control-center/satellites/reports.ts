import { REPORT_EVERY, Report } from '../../host/cloud/protocol.ts'
import { firstRows, put } from '../database/portable.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** What a node last said of itself, and when, in epoch ms. */
export type NodeReport = Report & { readonly seenAt: number }

/** What the Satellites of environments say of themselves. */
export interface Reports {
  /** Keeps the report of one node, and what its environment is by the reports of all. */
  take(environment: string, report: Report): Promise<void>
  /** The nodes of an environment that reported lately, the last one first. */
  live(environment: string): Promise<readonly NodeReport[]>
  /** Removes what nodes said that were not heard of for a day. */
  sweep(): Promise<void>
}

/** A node counts as running until it missed three reports. */
const LIVE_FOR = 3 * REPORT_EVERY
/** Chosen here: far above what one database serves. Who holds a token cannot fill our database by making nodes up. */
const MOST_NODES = 50
const KEPT = 24 * 60 * 60_000

const HEALTH_RANKS = ['good', 'warning', 'bad'] as const

/**
 * @param taken hears of each report when it is written
 * @param now the clock, in epoch milliseconds
 */
export function createReports(
  db: CenterDatabase,
  taken: (environment: string) => void,
  now: () => number = Date.now,
): Reports {
  async function read(environment: string): Promise<readonly NodeReport[]> {
    const query = db
      .selectFrom('satellite_reports')
      .select(['seen_at', 'content'])
      .where('environment', '=', environment)
      .where('seen_at', '>=', now() - LIVE_FOR)
      .orderBy('seen_at', 'desc')
    const rows = await firstRows(db, query, MOST_NODES).execute()
    return rows.flatMap(({ seen_at, content }) => {
      const report = Report.safeParse(JSON.parse(content))
      return report.success ? [{ ...report.data, seenAt: seen_at }] : []
    })
  }

  /** Those that were silent for longest make room. */
  async function makeRoom(environment: string): Promise<void> {
    const rows = await db
      .selectFrom('satellite_reports')
      .select('node')
      .where('environment', '=', environment)
      .orderBy('seen_at', 'desc')
      .execute()
    const nodes = rows.slice(MOST_NODES).map(({ node }) => node)
    if (nodes.length === 0) return
    await db.deleteFrom('satellite_reports').where('environment', '=', environment).where('node', 'in', nodes).execute()
  }

  return {
    live: read,
    async take(environment, report) {
      const seen = now()
      const row = { environment, node: report.node, seen_at: seen, content: JSON.stringify(report) }
      await put(db, 'satellite_reports', ['environment', 'node'], row)
      await makeRoom(environment)
      const state = { environment, last_seen_at: seen, version: report.version }
      const health = JSON.stringify(healthOf(await read(environment)))
      await put(db, 'environment_states', ['environment'], { ...state, health })
      taken(environment)
    },
    async sweep() {
      await db
        .deleteFrom('satellite_reports')
        .where('seen_at', '<', now() - KEPT)
        .execute()
    },
  }
}

/** What `environment_states.health` holds: the worst of the nodes, and what all of them say. */
export type EnvironmentHealth = {
  readonly health: Report['health']
  readonly findings: readonly string[]
  /** Nodes that reported lately. */
  readonly nodes: number
}

const MOST_FINDINGS = 20

function healthOf(reports: readonly NodeReport[]): EnvironmentHealth {
  const worst = Math.max(0, ...reports.map(({ health }) => HEALTH_RANKS.indexOf(health)))
  const findings = [...new Set(reports.flatMap((report) => report.findings))].slice(0, MOST_FINDINGS)
  return { health: HEALTH_RANKS[worst] ?? 'bad', findings, nodes: reports.length }
}
