import { adviceFor } from '../../base/bundles/advice.ts'
import { printable } from '../../base/terminal/terminal.ts'
import type { DevFinding, DevLine, DevReport } from '../../host/web/frames.ts'
import { FAILURES, type Failure } from '../../runtime/outcome.ts'
import { type Finding, type Findings, placeOf } from '../findings-text.ts'
import type { LogLine } from '../log-line-text.ts'

/**
 * The report about a solution in development, which open pages show. All strings in it have a maximum length, because
 * they come from scripts and files.
 */
export interface PageReport {
  /** Call this before the files are sent to the host. Errors that scripts log from then on are about these files. */
  saving(files: ReadonlyMap<string, Buffer>): void
  /** Call this when the host has rejected the files. */
  refused(found: Findings): void
  /**
   * Call this when the files have become the active version. Errors from earlier versions disappear from the report.
   */
  active(warnings: Findings['warnings']): void
  /** Call this for each new line in the solution's log. */
  logged(line: LogLine): void
}

/** Maximum number of errors in a report. Chosen here: any further errors are shown only on the terminal. */
const MOST_FINDINGS = 20
const MOST_LINES = 50
/** Maximum characters of a text in a report. */
const MOST_TEXT = 1000
const MOST_PLACE = 200
const MOST_SOURCE = 200
/** Lines shown before and after the line with the error. */
const AROUND = 2
/** Batching delay in ms. Lines that a script writes within this time are sent together. */
const PAUSE = 100

/** How to fix a script that failed while a page was open. For errors while a script loads, see `adviceFor`. */
const ADVICE: Readonly<Record<Failure, string>> = {
  script_error: 'Fix the script at this position, or catch the error.',
  script_timeout: 'Make sure that loops end, or split the work into several calls with application.executeLater.',
  script_memory: 'Store less in variables, and read large data from a database in parts.',
  script_crashed: 'Remove code from the function until you find the line that crashes the process.',
  script_quota: 'Do less work in one call. The error message states the limit that was exceeded.',
  sandbox_busy: 'Wait a moment and try again.',
}

/** @param send called with each new state */
export function createPageReport(send: (report: DevReport) => void): PageReport {
  let activeFiles: ReadonlyMap<string, Buffer> = new Map()
  let files = activeFiles
  let refusals: readonly DevFinding[] = []
  let warnings: readonly DevFinding[] = []
  let failures: DevFinding[] = []
  /** The number of errors that are from earlier versions. */
  let earlier = 0
  let lines: DevLine[] = []
  let timer: NodeJS.Timeout | null = null

  function sendNow(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    send({ faults: [...refusals, ...failures].slice(0, MOST_FINDINGS), warnings, lines })
  }

  function findings(found: readonly Finding[]): readonly DevFinding[] {
    return found.slice(0, MOST_FINDINGS).map((one) => shown(one, adviceFor(one.code), files))
  }

  return {
    saving(saved) {
      files = saved
      earlier = failures.length
    },
    refused(found) {
      refusals = findings(found.faults)
      warnings = findings(found.warnings)
      failures = []
      earlier = 0
      files = activeFiles
      sendNow()
    },
    active(found) {
      refusals = []
      warnings = findings(found)
      failures = failures.slice(earlier)
      earlier = 0
      activeFiles = files
      sendNow()
    },
    logged(line) {
      const { code, level, file = '', line: row, column, message, time } = line
      if (code !== undefined && Object.hasOwn(FAILURES, code)) {
        const one = shown({ file, line: row, column, code, message }, ADVICE[code as Failure], files)
        // Don't list an error twice, because a timer, or a user who tries again, can cause the same error repeatedly.
        const isKnown = failures.slice(earlier).some((other) => isSame(one, other))
        if (!isKnown && failures.length - earlier < MOST_FINDINGS) failures = [...failures, one]
      }
      const place = file === '' ? '' : cut(placeOf({ file, line: row, column }), MOST_PLACE)
      const known = (['debug', 'info', 'warn', 'error'] as const).find((one) => one === level) ?? 'info'
      lines = [...lines, { time, level: known, place, text: printable(cut(message, MOST_TEXT)) }].slice(-MOST_LINES)
      timer ??= setTimeout(sendNow, PAUSE)
    },
  }
}

function shown(one: Finding, advice: string | null, files: ReadonlyMap<string, Buffer>): DevFinding {
  return {
    place: cut(placeOf(one), MOST_PLACE),
    code: printable(cut(one.code, MOST_PLACE)),
    message: printable(cut(one.message, MOST_TEXT)),
    source: sourceOf(one, files),
    advice,
  }
}

/** The line with the error and those around it; null if there is no position or no such file. */
function sourceOf(
  { file, line, column }: Pick<Finding, 'file' | 'line' | 'column'>,
  files: ReadonlyMap<string, Buffer>,
): DevFinding['source'] {
  const written = files
    .get(file)
    ?.toString('utf8')
    .split(/\r\n|\n|\r/)
  if (line === undefined || written?.[line - 1] === undefined) return null
  const length = (written[line - 1] as string).length
  // Shortens a long line to the part around the error.
  const from = Math.max(0, Math.min((column ?? 1) - 1 - MOST_SOURCE / 2, length - MOST_SOURCE))
  const first = Math.max(1, line - AROUND)
  const lines = written.slice(first - 1, line + AROUND).map((text, index) => {
    const number = first + index
    const start = number === line ? from : 0
    return { number, text: printable(text.slice(start, start + MOST_SOURCE)).replaceAll(/[\t\n]/g, ' ') }
  })
  return { lines, line, caret: column === undefined ? null : Math.max(0, column - 1 - from) }
}

function isSame(one: DevFinding, other: DevFinding): boolean {
  return one.place === other.place && one.message === other.message
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`
}
