import { SOLHOST } from '../../base/program/program-name.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { CommandError, command, EXIT_CODES, type Exit, JSON_OPTION } from '../../base/terminal/command.ts'
import type { Terminal } from '../../base/terminal/terminal.ts'
import type { FileResult } from '../../host/solution-tests/run-tests.ts'
import type { Stage } from '../../host/solution-tests/stage.ts'
import { createLimits } from '../../runtime/limits.ts'
import { renewEditorFiles } from '../editor-files.ts'
import { type Findings, findingsOf } from '../findings-text.ts'
import { readSolutionFolder, readTestFiles, type SolutionFolder } from '../solution-folder.ts'
import { createTestReport } from '../test-report.ts'
import { refuseFaults } from './check.ts'

/**
 * Timeout for one test, in seconds. Chosen here: a test makes several calls of up to 2 s each, so a test that takes
 * longer than this is stuck.
 */
const TEST_TIME = 10
const LONGEST_TIME = 300

const EXAMPLE = `test('opens the welcome form', async () => {
  const client = await solution.open()
  assert.equal(client.form, 'welcome')
})`

export const testCommand = command({
  summary: 'run a solution’s tests (*.test.js) in real sandbox processes',
  arguments: { folder: { what: 'folder that contains solution.json', default: '.' } },
  options: {
    filter: { type: 'string', value: '<text>', what: 'run only tests whose name or file name contains this text' },
    timeout: { type: 'string', value: '<seconds>', what: `time limit for each test (default: ${TEST_TIME})` },
    ...JSON_OPTION,
  },
  notes: () => `Write tests next to the scripts, in files such as globals.test.js. Tests are never uploaded. An example:

${EXAMPLE.replaceAll(/^/gm, '  ')}

docs/testing-solutions.md describes what tests can use. They run in a sandbox, without access to files or the network.
`,
  async run({ arguments: { folder: shown }, options }, terminal) {
    const timeLimit = readTime(options.timeout) * 1000
    const folder = readSolutionFolder(shown)
    const files = needTestFiles(folder)
    renewEditorFiles(folder)
    const report = createTestReport(new Map([...folder.files, ...files]), terminal, options.json === true)
    const { packSolution } = await import('../check-solution.ts')
    const packed = await packSolution(folder)
    if (packed.manifest === null || packed.faults.length > 0) return refuseSolution(folder, packed, report, terminal)
    using _ = endOnSignals()
    // Load these modules on demand. They are half of the command line's code, and only this command needs them.
    const [{ createTestStage }, { runTests }] = await Promise.all([
      import('../../host/solution-tests/test-stage.ts'),
      import('../../host/solution-tests/run-tests.ts'),
    ])
    let stage: Stage
    try {
      stage = await createTestStage(packed.packed, packed.manifest.name, createLimits())
    } catch (error) {
      const findings = findingsOf(error)
      if (findings === null) throw error
      return refuseSolution(folder, findings, report, terminal)
    }
    let results: readonly FileResult[]
    try {
      const sources = [...files].map(([file, content]) => ({ file, source: content.toString('utf8') }))
      const { filter = '' } = options
      results = await runTests(sources, { stage, timeLimit, filter, onFile: report.file, onTest: report.test })
    } finally {
      await stage.stop()
    }
    needAny(results, options.filter)
    const isSound = report.end(results)
    if (options.json !== true) terminal.out(next(isSound, shown))
    return isSound ? 'done' : 'faults'
  },
})

/**
 * Exits the process on a signal, so that exit handlers stop the test hosts. By default, a signal would skip these
 * handlers.
 */
function endOnSignals(): Disposable {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const end = () => process.exit(EXIT_CODES.interrupted.code)
  // Don't use `once`. Ctrl-C arrives from the terminal and from the launcher, and the second signal must not interrupt
  // the cleanup.
  for (const signal of signals) process.on(signal, end)
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, end)
    },
  }
}

function next(isSound: boolean, shown: string): string {
  const word = shellWord(shown)
  return `Next: ${isSound ? `${SOLHOST} deploy ${word} <url>` : `fix the problems above, then run ${SOLHOST} test ${word}`}\n`
}

function readTime(text: string | undefined): number {
  if (text === undefined) return TEST_TIME
  const seconds = Number(text)
  if (/^\d{1,3}$/.test(text) && seconds >= 1 && seconds <= LONGEST_TIME) return seconds
  throw new CommandError('usage', `--timeout must be a number of seconds from 1 to ${LONGEST_TIME}, not "${text}".`)
}

function needTestFiles({ path, shown }: SolutionFolder): ReadonlyMap<string, Buffer> {
  const files = readTestFiles(path)
  const { SCRIPT_SIZE } = createLimits()
  for (const [file, { length }] of files) {
    if (length > SCRIPT_SIZE)
      throw new CommandError('usage', `${file} is larger than ${SCRIPT_SIZE} bytes. Split it into several test files.`)
  }
  if (files.size > 0) return files
  const advice = `Write one next to the scripts, such as globals.test.js:\n\n${EXAMPLE}\n\nNext: ${SOLHOST} test ${shellWord(shown)}`
  throw new CommandError('usage', `"${shown}" has no tests. ${advice}`)
}

/** Throws a CommandError if no test ran, which means that the filter matches none. */
function needAny(results: readonly FileResult[], filter: string | undefined): void {
  const isAny = results.some(({ tests, failure }) => tests.length > 0 || failure !== null)
  if (!isAny)
    throw new CommandError('usage', `No test name or file name contains ${JSON.stringify(filter)}. Change --filter.`)
}

/** Reports the errors because of which a host would reject the solution. Such a solution can't be tested. */
function refuseSolution(
  folder: SolutionFolder,
  findings: Findings,
  report: ReturnType<typeof createTestReport>,
  terminal: Terminal,
): Exit {
  if (report.refused(findings)) return 'faults'
  return refuseFaults(folder, findings, terminal)
}
