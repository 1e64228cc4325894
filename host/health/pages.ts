import type { Context } from 'koa'
import { wholeMegabytes } from '../../runtime/memory-bound.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import type { PageRouter } from '../pages/page.ts'
import { queryText } from '../pages/page-query.ts'
import { certificateFindings } from './certificate-findings.ts'
import { cloudFindings } from './cloud-findings.ts'
import type { Finding } from './finding.ts'
import { healthCharts, rangeOf, type Span } from './health-charts.ts'
import type { Health, HealthReport } from './health-report.ts'

export type HealthPageParts = { readonly health: Health; readonly maintenance: Pick<Maintenance, 'isOn'> }

/** If sandbox processes use more than this fraction of RUNTIME_XMX, some are terminated to free memory. */
const MEMORY_FULL = 0.9
/** Maximum number of entry functions and handlers on the page. */
const SHOWN_ENTRIES = 15

/** The health page. Its script reloads the content from the same URL, with `.json`. */
export function addHealthPages(pages: PageRouter, parts: HealthPageParts): void {
  pages.get('/health', async (ctx, text) => {
    return { template: 'health', heading: text('admin.part.health'), part: 'health', model: await modelOf(ctx, parts) }
  })

  pages.part('/health.json', async (ctx, text) => {
    return { template: 'health-now', heading: text('admin.part.health'), model: await modelOf(ctx, parts) }
  })
}

async function modelOf(ctx: Context, { health, maintenance }: HealthPageParts) {
  const span: Span = queryText(ctx, 'range') === 'day' ? 'day' : 'hour'
  const report = await health({ range: rangeOf(span), hours: span === 'day' ? 24 : 1 })
  const { series: _, signIns: __, entries, ...facts } = report
  return {
    ...facts,
    span,
    // While the database is down, the maintenance state is unknown, and the page reports the outage instead.
    findings: allFindings(report, report.database.ok && (await maintenance.isOn())),
    charts: healthCharts(report, span),
    entries: entries.slice(0, SHOWN_ENTRIES),
  }
}

/** Returns all findings, most urgent first. */
export function allFindings(report: HealthReport, isInMaintenance: boolean): Finding[] {
  return [
    ...findingsOf(report, isInMaintenance),
    ...certificateFindings(report.certificate),
    ...telemetryFindings(report.telemetry),
    ...cloudLoginFindings(report.cloudLogins),
    ...cloudFindings(report.cloud),
  ]
}

/** How long the page shows that data was dropped, in ms. */
const DROPS_SHOWN = 60 * 60_000

/**
 * Returns a single finding for all signals, since they usually share one collector. If the collector rejects them,
 * returns one finding for each property that must be corrected.
 */
export function telemetryFindings(telemetry: HealthReport['telemetry'], now = Date.now()): Finding[] {
  const barred = Map.groupBy(
    telemetry.filter(({ correct }) => correct !== null),
    ({ correct }) => correct ?? '',
  )
  if (barred.size > 0) {
    return [...barred].map(([correct, signals]) => {
      return { key: 'telemetry.barred', values: [signals.map(({ signal }) => signal).join(', '), correct] }
    })
  }
  const away = telemetry.filter(({ state }) => state === 'away').map(({ signal }) => signal)
  if (away.length > 0) return [{ key: 'telemetry.away', values: [away.join(', ')] }]
  const dropping = telemetry.filter(({ droppedAt }) => droppedAt !== null && now - droppedAt < DROPS_SHOWN)
  const dropped = dropping.reduce((sum, one) => sum + one.dropped, 0)
  const signals = dropping.map(({ signal }) => signal)
  return dropping.length === 0 ? [] : [{ key: 'telemetry.dropped', values: [signals.join(', '), dropped] }]
}

function cloudLoginFindings(problems: HealthReport['cloudLogins']): Finding[] {
  return problems.map(({ solution, problem }) => {
    return { key: `cloud-login.${problem}`, values: [solution], href: `/admin/solutions/${solution}/log` }
  })
}

/** Returns a single finding for all solutions, because a restore pauses the jobs of each one. */
function pausedJobsFindings(solutions: readonly string[]): Finding[] {
  const [first] = solutions
  if (first === undefined) return []
  const href = solutions.length === 1 ? `/admin/solutions/${first}/jobs` : '/admin/solutions'
  return [{ key: 'jobs-paused', values: [solutions.join(', ')], href }]
}

/** Returns the findings about the database, maintenance mode, paused solutions and jobs, and memory. */
export function findingsOf(
  {
    database,
    quarantined,
    pausedJobs,
    memory,
  }: Pick<HealthReport, 'database' | 'quarantined' | 'pausedJobs' | 'memory'>,
  isInMaintenance: boolean,
): Finding[] {
  const used = memory.used / memory.maximum
  return [
    ...(database.ok ? [] : [{ key: 'database', values: [] }]),
    ...(isInMaintenance ? [{ key: 'maintenance', values: [], href: '/admin/maintenance' }] : []),
    ...(quarantined ?? []).map(({ solution }) => {
      return { key: 'quarantined', values: [solution], href: `/admin/solutions/${solution}` }
    }),
    ...pausedJobsFindings(pausedJobs ?? []),
    ...(used < MEMORY_FULL ? [] : [{ key: 'memory', values: [Math.round(used * 100)] }]),
    ...(memory.configured <= memory.maximum
      ? []
      : [
          {
            key: 'memory.group',
            values: [memory.configured, memory.groupLimit ?? 0, memory.maximum].map(wholeMegabytes),
          },
        ]),
  ]
}
