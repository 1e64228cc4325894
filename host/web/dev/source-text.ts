import type { DevFinding } from '../frames.ts'

/**
 * Returns the line with the error and its surrounding lines, with line numbers and a mark below the error's position.
 */
export function sourceText({ lines, line, caret }: NonNullable<DevFinding['source']>): string {
  const width = Math.max(...lines.map(({ number }) => String(number).length))
  const rows = lines.flatMap(({ number, text }) => {
    const isIt = number === line
    const row = `${isIt ? '>' : ' '} ${String(number).padStart(width)} │ ${text}`
    return isIt && caret !== null ? [row, `  ${' '.repeat(width)} │ ${' '.repeat(caret)}^`] : [row]
  })
  return rows.join('\n')
}
