import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Rows } from './report.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

type TestReport = { readonly numTotalTests: number; readonly numPassedTests: number }

/** Runs the tests that the normal suite scales down (test/support/scale.ts) at full scale. */
export async function fullScale(rows: Rows): Promise<void> {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).filter((file) => usesScale(file))
  const folder = mkdtempSync(join(tmpdir(), 'solhost-full-scale-'))
  const report = join(folder, 'report.json')
  try {
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const tests = spawn(process.execPath, [vitest, 'run', ...reporters, ...files], {
      cwd: ROOT,
      env: { ...process.env, SOLHOST_FULL_SCALE: 'true' },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    await once(tests, 'exit')
    const { numTotalTests, numPassedTests } = JSON.parse(readFileSync(report, 'utf8')) as TestReport
    rows.tell('files', files.length)
    rows.atLeast('tests', 1, numTotalTests)
    rows.atMost('tests that did not pass', 0, numTotalTests - numPassedTests)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether the test file uses `test/support/scale.ts`, directly or through a shared file named `*contract.ts`. */
function usesScale(file: string): boolean {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const shared = [...text.matchAll(/'([^']*contract\.ts)'/g)].map(([, path = '']) => join(file, '..', path))
  return text.includes('/support/scale.ts') || shared.some(usesScale)
}
