import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

const SHOWN = 20

/** Prints the slowest test files after each run. Changes that make tests slow are then easy to notice. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => {
      const { collectDuration, duration, setupDuration } = module.diagnostic()
      const tests = [...module.children.allTests()].length
      return {
        project: module.project.name,
        file: module.moduleId,
        tests,
        ms: collectDuration + setupDuration + duration,
      }
    })
    const rows = files
      .toSorted((a, b) => b.ms - a.ms)
      .slice(0, SHOWN)
      .map(({ project, file, tests, ms }) => {
        const seconds = (ms / 1000).toFixed(1).padStart(7)
        return `${seconds} s  ${project.padEnd(8)} ${relative(process.cwd(), file)} (${tests} tests)`
      })
    process.stdout.write(`\nSlowest ${rows.length} of ${files.length} files:\n${rows.join('\n')}\n\n${totals(files)}\n`)
  }
}

/** Lists each project's number of files, number of tests, and total time. */
function totals(files: readonly { readonly project: string; readonly tests: number; readonly ms: number }[]): string {
  return [...Map.groupBy(files, ({ project }) => project)]
    .map(([project, ones]) => {
      const tests = ones.reduce((sum, one) => sum + one.tests, 0)
      const seconds = ones.reduce((sum, { ms }) => sum + ms, 0) / 1000
      return `${project}: ${ones.length} files, ${tests} tests, ${seconds.toFixed(0)} s`
    })
    .join('\n')
}
