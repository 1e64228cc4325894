import type { DevFinding } from '../frames.ts'

/** The line with an error and those around it, as text with line numbers and a mark below the position. */
export function sourceText({ lines, line, caret }: NonNullable<DevFinding['source']>): string {
  const width = Math.max(...lines.map(({ number }) => String(number).length))
  const rows = lines.flatMap(({ number, text }) => {
    const isIt = number === line
    const row = `${isIt ? '>' : ' '} ${String(number).padStart(width)} │ ${text}`
    return isIt && caret !== null ? [row, `  ${' '.repeat(width)} │ ${' '.repeat(caret)}^`] : [row]
  })
  return rows.join('\n')
}
