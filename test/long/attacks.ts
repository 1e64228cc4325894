import type { Rows } from './report.ts'
import { runTests } from './run-tests.ts'

/** The tests that usually run only some of the attack scripts. */
const FILES = [
  'test/attack/hardened.parts.test.ts',
  'test/attack/hardened-loops.parts.test.ts',
  'test/flows/drafts-try.test.ts',
]

/** Runs every attack script in every place. */
export async function attacks(rows: Rows): Promise<void> {
  const { numTotalTests, numFailedTests } = await runTests(FILES, { LONG_ATTACKS: 'all' }).report
  rows.tell('tests', numTotalTests)
  rows.atMost('tests that failed', 0, numFailedTests)
}
