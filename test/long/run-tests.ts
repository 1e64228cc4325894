import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export type TestReport = { readonly numTotalTests: number; readonly numFailedTests: number }

/**
 * Runs test files in a separate process and prints what the test runner prints.
 * @param paths the test files; by default, all of them
 * @returns the process's id (undefined if the process didn't start), and a promise for the report
 */
export function runTests(
  paths: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): { readonly pid: number | undefined; readonly report: Promise<TestReport> } {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-long-'))
  const file = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const tests = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...paths], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const report = once(tests, 'exit')
    .then(() => JSON.parse(readFileSync(file, 'utf8')) as TestReport)
    .finally(() => rmSync(folder, { recursive: true, force: true }))
  return { pid: tests.pid, report }
}
