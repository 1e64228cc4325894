import type { LoggerProvider, Logger as OtelLogger } from '@opentelemetry/api'
import { type Logger, symbols } from 'pino'
import type { LogLevel } from '../../runtime/outcome.ts'
import type { NewLogLine, SolutionLog } from '../solutions/solution-log.ts'
import type { Spans } from './spans.ts'

/** Converts log lines to OpenTelemetry records. */
export interface LogRecords {
  /** Returns a log that also exports each line, exactly as it is printed. */
  tapPlatform(log: Logger): Logger
  /** Returns a log that also exports each line, unless TELEMETRY_SOLUTION_LOGS is off. */
  tapSolutions(log: SolutionLog): SolutionLog
  begin(provider: LoggerProvider): void
}

/** @see https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber */
const SEVERITIES = { debug: 5, info: 9, warn: 13, error: 17, fatal: 21 } as const
/** Keyed by pino's level numbers. */
const LEVELS: Readonly<Record<number, keyof typeof SEVERITIES>> = {
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
/** Maximum length of a line in characters; longer lines are cut. */
const LONGEST = 4096

export function createLogRecords(spans: Pick<Spans, 'context'>, solutionLogs: boolean): LogRecords {
  let platform: OtelLogger | null = null
  let solutions: OtelLogger | null = null

  function emit(
    to: OtelLogger,
    level: keyof typeof SEVERITIES,
    body: string,
    attributes: Record<string, string | number>,
  ) {
    const context = spans.context()
    to.emit({
      severityNumber: SEVERITIES[level] as number,
      severityText: level,
      body: body.slice(0, LONGEST),
      attributes,
      timestamp: Date.now(),
      ...(context === undefined ? {} : { context }),
    })
  }

  function platformLine(line: string): void {
    if (platform === null) return
    const { level, time: _, msg = '', ...rest } = JSON.parse(line) as { level: number; time: number; msg?: string }
    const attributes: Record<string, string | number> = {}
    for (const [name, value] of Object.entries(rest)) {
      const isPlain = typeof value === 'string' || typeof value === 'number'
      attributes[`solhost.${name}`] = isPlain ? value : JSON.stringify(value).slice(0, LONGEST)
    }
    emit(platform, LEVELS[level] ?? 'info', msg, attributes)
  }

  return {
    tapPlatform(log) {
      const child = log.child({})
      const stream = (log as Logger & Streaming)[symbols.streamSym]
      // pino uses a child logger's own stream if it has one. It exports this symbol so that others can set it.
      ;(child as Logger & Streaming)[symbols.streamSym] = {
        write(line) {
          stream.write(line)
          try {
            platformLine(line)
          } catch {
            // The line is not JSON. It has already been printed, but can't be exported.
          }
        },
      }
      return child
    },
    tapSolutions(log) {
      if (!solutionLogs) return log
      return {
        ...log,
        write(solution, line) {
          log.write(solution, line)
          if (solutions !== null) emit(solutions, line.level as LogLevel, line.message, attributesOf(solution, line))
        },
      }
    },
    begin(provider) {
      platform = provider.getLogger('solhost')
      solutions = provider.getLogger('solhost.solution')
    },
  }
}

type Streaming = { [symbols.streamSym]: { write(line: string): void } }

function attributesOf(
  solution: string,
  { code, position, correlationId }: NewLogLine,
): Record<string, string | number> {
  return {
    'solhost.solution': solution,
    ...(code === undefined ? {} : { 'solhost.code': code }),
    ...(correlationId === undefined ? {} : { 'solhost.correlation_id': correlationId }),
    ...(position === undefined ? {} : { 'code.file.path': position.file, 'code.line.number': position.line }),
  }
}
