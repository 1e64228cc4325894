import { counted } from '../base/program/counted.ts'
import { jsonText, printable, type Terminal } from '../base/terminal/terminal.ts'
import type { FileResult, TestFailure, TestResult } from '../host/solution-tests/run-tests.ts'
import { excerpt, type Findings, placeOf } from './findings-text.ts'

/** Reports test results: line by line for people, or once at the end for machines. */
export interface TestReport {
  file(file: string): void
  test(result: TestResult): void
  /** @returns true if it printed the report for machines; nothing else may be printed then */
  refused(findings: Findings): boolean
  /** @returns whether all passed */
  end(results: readonly FileResult[]): boolean
}

/** @param files the solution's files and test files, whose source lines the report shows */
export function createTestReport(
  files: ReadonlyMap<string, Buffer>,
  terminal: Pick<Terminal, 'out' | 'styled'>,
  isForMachines: boolean,
): TestReport {
  const began = performance.now()
  const say = (text: string) => {
    if (!isForMachines) terminal.out(text)
  }

  function failureText(failure: TestFailure): string {
    const { message, script } = failure
    const [first = '', ...rest] = printable(message).split('\n')
    const shown = `    ${terminal.styled('bold', placeOf(failure))}  ${terminal.styled('red', first)}\n`
    const more = rest.map((line) => `    ${line}\n`).join('')
    const why = script === undefined ? '' : scriptText(script)
    return `${shown}${more}${inset(excerpt(failure, files, terminal))}${why}`
  }

  function scriptText(script: NonNullable<TestFailure['script']>): string {
    const place = terminal.styled('bold', placeOf(script))
    return `    in the solution: ${place}  ${printable(script.message)}\n${inset(excerpt(script, files, terminal))}`
  }

  return {
    file: (file) => say(`${printable(file)}\n`),
    test({ name, milliseconds, failure, log }) {
      const mark = failure === null ? terminal.styled('green', '✓') : terminal.styled('red', '✗')
      say(`  ${mark} ${printable(name)}  ${terminal.styled('dim', `${milliseconds} ms`)}\n`)
      for (const { level, message } of log) say(`    ${terminal.styled('dim', level)} ${printable(message)}\n`)
      if (failure !== null) say(failureText(failure))
    },
    refused(findings) {
      if (isForMachines) terminal.out(jsonText({ ok: false, passed: 0, failed: 0, ...findings, files: [] }))
      return isForMachines
    },
    end(results) {
      const tests = results.flatMap((file) => file.tests)
      const broken = results.filter(({ failure }) => failure !== null)
      const failed = tests.filter(({ failure }) => failure !== null).length
      const passed = tests.length - failed
      const isSound = failed === 0 && broken.length === 0
      if (isForMachines) {
        terminal.out(jsonText({ ok: isSound, passed, failed, faults: [], warnings: [], files: results }))
        return isSound
      }
      for (const { failure } of broken) if (failure !== null) say(failureText(failure))
      const counts = [
        `${passed} passed`,
        ...(failed > 0 ? [`${failed} failed`] : []),
        ...(broken.length > 0 ? [`${counted(broken.length, 'file')} could not be loaded`] : []),
      ]
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      say(`${terminal.styled(isSound ? 'green' : 'red', counts.join(', '))} in ${seconds} s.\n`)
      return isSound
    },
  }
}

function inset(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}
