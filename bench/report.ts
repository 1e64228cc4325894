import { writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform } from 'node:os'

/** One metric of docs/performance.md, measured in one run. */
export type Row = {
  readonly work: string
  readonly against: string
  /** The target; null if the metric is only informational. */
  readonly reach: { readonly atMost?: number; readonly atLeast?: number } | null
  readonly unit: 'ratio' | 'ms' | 'MB' | 'KB' | 'logins'
  readonly measured: number
  /** The absolute values that `measured` was computed from. */
  readonly details: string
}

/** `subject`: the name that selects this measurement on the command line. */
export type Measured = Row & { readonly subject: string }

export type Report = {
  readonly date: string
  readonly machine: { readonly cores: number; readonly model: string; readonly platform: string }
  /** Load average in the minute before the run. If it is above 1, other programs may have distorted the results. */
  readonly loadBefore: number
  readonly node: string
  readonly rows: readonly (Measured & { readonly reached: boolean })[]
  /** Contestants that could not be measured, with the reason. */
  readonly failed: readonly { readonly subject: string; readonly reason: string }[]
}

const loadBefore = rounded(loadavg()[0] ?? 0)

export function reportOf(rows: readonly Measured[], failed: Report['failed']): Report {
  return {
    date: new Date().toISOString(),
    machine: {
      cores: availableParallelism(),
      model: cpus()[0]?.model.trim() ?? 'unknown',
      platform: `${platform()} ${arch()}`,
    },
    loadBefore,
    node: process.version,
    rows: rows.map((row) => ({ ...row, measured: rounded(row.measured), reached: isReached(row) })),
    failed,
  }
}

export function tableOf({ date, machine, loadBefore, node, rows, failed }: Report): string {
  const head = `${date.slice(0, 10)}, ${machine.cores} cores, ${machine.model}, ${machine.platform}, Node.js ${node}, load average before the run ${loadBefore}`
  const lines = rows.map(({ work, against, reach, unit, measured, reached, details }) => {
    const suffix = unit === 'ratio' ? '' : ` ${unit}`
    const isReached = reach === null ? '-' : reached ? 'yes' : 'no'
    return `| ${work} | ${against} | ${boundOf(reach, suffix)} | ${measured}${suffix} | ${isReached} | ${details} |`
  })
  const columns = '| work | compared with | target | measured | target met | details |\n|---|---|---|---|---|---|'
  const failures = failed.map(({ subject, reason }) => `\nThe measurement "${subject}" failed: ${reason}`)
  return `${head}\n\n${columns}\n${lines.join('\n')}\n${failures.join('')}${failures.length > 0 ? '\n' : ''}`
}

function boundOf(reach: Row['reach'], suffix: string): string {
  if (reach === null) return '-'
  const { atMost, atLeast } = reach
  const bounds = [
    atLeast === undefined ? '' : `≥ ${atLeast}${suffix}`,
    atMost === undefined ? '' : `≤ ${atMost}${suffix}`,
  ]
  return bounds.filter((bound) => bound !== '').join(', ')
}

export function writeJson(report: Report, file: string): void {
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`)
}

/** Compares the unrounded value, so that a result can't meet the target just by rounding. */
function isReached({ reach, measured }: Row): boolean {
  if (reach === null) return true
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = reach
  return measured <= atMost && measured >= atLeast
}

/** Formats with three significant digits, for both small ratios and large sizes. */
function rounded(figure: number): number {
  return Number(figure.toPrecision(3))
}
