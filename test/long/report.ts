import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus, platform } from 'node:os'

/** One row of the results table. `holds` is true if the requirement is met, and null if there is no requirement. */
export type Row = {
  readonly what: string
  readonly must: string
  readonly measured: number | string
  readonly holds: boolean | null
}

/** A long run's results. */
export type Report = { readonly name: string; readonly seconds: number; readonly rows: readonly Row[] }

export type Rows = ReturnType<typeof createRows>

/** Collects one run's table rows, in order. */
export function createRows() {
  const rows: Row[] = []
  return {
    rows: rows as readonly Row[],
    tell(what: string, measured: number | string) {
      rows.push({ what, must: '-', measured: rounded(measured), holds: null })
    },
    atMost(what: string, most: number, measured: number) {
      rows.push({ what, must: `≤ ${most}`, measured: rounded(measured), holds: measured <= most })
    },
    atLeast(what: string, least: number, measured: number) {
      rows.push({ what, must: `≥ ${least}`, measured: rounded(measured), holds: measured >= least })
    },
  }
}

/**
 * Prints a run's table of results, and a sentence for each requirement that is not met.
 * @returns whether all requirements are met
 */
export function printReport({ name, seconds, rows }: Report): boolean {
  const lines = rows.map(({ what, must, measured }) => `| ${what} | ${must} | ${measured} |`)
  const head = `\n## ${name} (${Math.round(seconds)} s)\n\n| what | must be | measured |\n|---|---|---|\n`
  process.stdout.write(`${head}${lines.join('\n')}\n`)
  const broken = rows.filter(({ holds }) => holds === false)
  for (const { what, must, measured } of broken) {
    process.stderr.write(`${name}: "${what}" must be ${must}, but is ${measured}.\n`)
  }
  return broken.length === 0
}

export function machine(): string {
  return `${availableParallelism()} cores, ${cpus()[0]?.model.trim()}, ${platform()} ${process.arch}, Node.js ${process.version}`
}

export function writeJson(file: string, reports: readonly Report[]): void {
  writeFileSync(file, `${JSON.stringify({ machine: machine(), date: new Date().toISOString(), reports }, null, 2)}\n`)
}

/** Returns a percentile of the values: for example, a percentage of 50 returns the median. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}

function rounded(value: number | string): number | string {
  return typeof value === 'string' ? value : Math.round(value * 10) / 10
}
