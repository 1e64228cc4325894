import { adviceFor } from '../base/bundles/advice.ts'
import { counted } from '../base/program/counted.ts'
import { printable, type Terminal } from '../base/terminal/terminal.ts'
import { WHOLE_BUNDLE } from '../runtime/bundle/findings.ts'
import { PlatformError } from '../runtime/errors.ts'

/** An error or warning with its position, found by the CLI or a host. A newer host can report codes unknown here. */
export type Finding = {
  readonly file: string
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly code: string
  readonly message: string
}

export type Findings = { readonly faults: readonly Finding[]; readonly warnings: readonly Finding[] }

/** Returns the errors of a rejected upload; null if it failed for another reason. */
export function findingsOf(error: unknown): Findings | null {
  if (!(error instanceof PlatformError) || !Array.isArray(error.details.faults)) return null
  const { faults = [], warnings = [] } = error.details as Partial<Findings>
  return { faults, warnings }
}

/** Maximum characters shown of a source line. */
const LINE_WIDTH = 100

/** Formats each error or warning: position, code and message, then the line with a caret, then how to fix it. */
export function findingsText(
  { faults, warnings }: Findings,
  files: ReadonlyMap<string, Buffer>,
  terminal: Pick<Terminal, 'styled'>,
): string {
  const text = (style: 'red' | 'yellow', word: string) => (one: Finding) =>
    `${terminal.styled('bold', placeOf(one))}  ${terminal.styled(style, `${word} ${printable(one.code)}`)}  ${printable(one.message)}\n` +
    excerpt(one, files, terminal) +
    `${advice(one.code, terminal)}\n`
  return [...faults.map(text('red', 'error')), ...warnings.map(text('yellow', 'warning'))].join('')
}

function advice(code: string, terminal: Pick<Terminal, 'styled'>): string {
  const text = adviceFor(code)
  return text === null ? '' : `    ${terminal.styled('cyan', '→')} ${text}\n`
}

/** Describes the number of findings, for example `2 errors, 1 warning`. */
export function countText({ faults, warnings }: Findings): string {
  return `${counted(faults.length, 'error')}, ${counted(warnings.length, 'warning')}`
}

/** `file:line:column`, a format that terminals and editors recognise as a link. */
export function placeOf({ file, line, column }: Pick<Finding, 'file' | 'line' | 'column'>): string {
  const name = file === '' || file === WHOLE_BUNDLE ? 'the solution' : printable(file)
  return [name, ...(line === undefined ? [] : [line, ...(column === undefined ? [] : [column])])].join(':')
}

/** Returns the source line with a caret; '' if there is no position or no such file. */
export function excerpt(
  { file, line, column }: Pick<Finding, 'file' | 'line' | 'column'>,
  files: ReadonlyMap<string, Buffer>,
  terminal: Pick<Terminal, 'styled'>,
): string {
  const written =
    line === undefined
      ? undefined
      : files
          .get(file)
          ?.toString('utf8')
          .split(/\r\n|\n|\r/)[line - 1]
  if (written === undefined) return ''
  const start = Math.max(0, Math.min((column ?? 1) - 1 - LINE_WIDTH / 2, written.length - LINE_WIDTH))
  const shown = printable(written.slice(start, start + LINE_WIDTH)).replaceAll('\t', ' ')
  const gutter = `    ${line} │ `
  const first = `${terminal.styled('dim', gutter)}${shown.trimEnd()}\n`
  if (column === undefined) return first
  const blank = `    ${' '.repeat(String(line).length)} │ `
  const caret = `${' '.repeat(Math.max(0, column - 1 - start))}^`
  return `${first}${terminal.styled('dim', blank)}${terminal.styled('red', caret)}\n`
}
