import { firstRows, put } from '../../base/database/portable.ts'
import { REPORT_EVERY, type Report } from '../../base/protocol/protocol.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'

/** A node's last report. `seenAt` is the time it arrived, in epoch ms. */
export type NodeReport = Report & { readonly seenAt: number }

/** Stores the reports from Satellites. */
export interface Reports {
  /** Stores a node's report, and updates the state of its environment from all nodes' reports. */
  take(environment: string, report: Report): Promise<void>
  /** Lists the environment's nodes that are considered running. The node that reported last is first. */
  live(environment: string): Promise<readonly NodeReport[]>
  /** Deletes reports that are older than a day. */
  sweep(): Promise<void>
}

/** How long a node is considered running after its last report, in ms. This is the time for three reports. */
const LIVE_FOR = 3 * REPORT_EVERY
/**
 * Maximum nodes per environment. Chosen here: an environment's nodes share one database, which couldn't serve more
 * nodes than this. The limit stops anyone with a token from filling our database with made-up nodes.
 */
const MOST_NODES = 50
const KEPT = 24 * 60 * 60_000

const HEALTH_RANKS = ['good', 'warning', 'bad'] as const

/**
 * @param taken called after each report is written
 * @param now returns the current time in epoch milliseconds
 */
export function createReports(
  db: CenterDatabase,
  taken: (environment: string) => void,
  now: () => number = Date.now,
): Reports {
  /** Selects columns from the reports of nodes that are considered running, newest first. */
  function rowsOf<Column extends keyof CenterTables['satellite_reports']>(
    environment: string,
    columns: readonly Column[],
  ) {
    const query = db
      .selectFrom('satellite_reports')
      .select(columns)
      .where('environment', '=', environment)
      .where('seen_at', '>=', now() - LIVE_FOR)
      // Reports from before the clock was set back. Their nodes report again if they are running.
      .where('seen_at', '<=', now() + LIVE_FOR)
      .orderBy('seen_at', 'desc')
    return firstRows(db, query, MOST_NODES).execute()
  }

  /** Deletes the reports of the nodes whose last report is oldest. */
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
    async live(environment) {
      const rows = await rowsOf(environment, ['seen_at', 'content'])
      return rows.map(({ seen_at, content }) => ({ ...(JSON.parse(content) as Report), seenAt: seen_at }))
    },
    async take(environment, report) {
      const seen = now()
      const { node, health: own } = report
      const findings = JSON.stringify(report.findings.map((text) => text.slice(0, LONGEST_FINDING).toWellFormed()))
      const row = { environment, node, seen_at: seen, content: JSON.stringify(report), health: own, findings }
      await put(db, 'satellite_reports', ['environment', 'node'], row)
      await makeRoom(environment)
      const state = { environment, last_seen_at: seen, version: report.version }
      // Select only these columns. The reports of all nodes together can be several megabytes, and anyone with a token
      // can send many.
      const health = JSON.stringify(healthOf(await rowsOf(environment, ['health', 'findings'])))
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

/** The content of `environment_states.health`: the worst health of any node, and the findings of all nodes. */
export type EnvironmentHealth = {
  readonly health: Report['health']
  readonly findings: readonly string[]
  /** The number of nodes that are considered running. */
  readonly nodes: number
}

const MOST_FINDINGS = 20
/** Maximum characters of a finding in the environment's state; the node's report has the whole text. */
const LONGEST_FINDING = 500

function healthOf(nodes: readonly Pick<CenterTables['satellite_reports'], 'health' | 'findings'>[]): EnvironmentHealth {
  const worst = Math.max(0, ...nodes.map(({ health }) => HEALTH_RANKS.indexOf(health as Report['health'])))
  const findings = new Set<string>()
  for (const node of nodes) {
    for (const finding of JSON.parse(node.findings ?? '[]') as string[]) {
      if (findings.size < MOST_FINDINGS) findings.add(finding)
    }
  }
  return { health: HEALTH_RANKS[worst] ?? 'bad', findings: [...findings], nodes: nodes.length }
}
