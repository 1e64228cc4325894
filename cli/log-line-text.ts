import { printable, type Terminal } from '../base/terminal/terminal.ts'
import { z } from '../runtime/zod.ts'

/** A line of a solution's log, as the API returns it. */
export const LogLine = z.object({
  time: z.number(),
  level: z.string(),
  message: z.string(),
  code: z.string().optional(),
  file: z.string().optional(),
  line: z.number().optional(),
  column: z.number().optional(),
  correlationId: z.string().optional(),
})
export type LogLine = z.infer<typeof LogLine>

const STYLES = { error: 'red', warn: 'yellow', warning: 'yellow', debug: 'dim' } as const

/**
 * Formats a log entry: time, level, position, message. The message's other lines are indented, so that they can't be
 * mistaken for log entries.
 */
export function logLineText(
  { time, level, message, code, file, line, column, correlationId }: LogLine,
  terminal: Pick<Terminal, 'styled'>,
): string {
  const at = file === undefined ? '' : ` ${[file, line, column].filter((part) => part !== undefined).join(':')}`
  const style = Object.hasOwn(STYLES, level) ? STYLES[level as keyof typeof STYLES] : 'reset'
  const [first = '', ...rest] = printable(message).split('\n')
  const reference = correlationId === undefined ? '' : ` (${correlationId})`
  const head = `${new Date(time).toISOString()} ${level.padEnd(5)}${printable(at)}${code === undefined ? '' : ` ${code}`}`
  const text = [`${printable(head)}  ${first}${printable(reference)}`, ...rest.map((more) => `    ${more}`)].join('\n')
  return `${style === 'reset' ? text : terminal.styled(style, text)}\n`
}
