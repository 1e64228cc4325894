import { keys, SafeError, stringify } from './builtins.guest.ts'
import type { ContextState, Limits, Thrown } from './types.guest.ts'
import { cut, describe, record } from './values.guest.ts'

/** The solution's log: lines from `console` and from bindings. */
export function createLog(state: ContextState, limits: Limits, readThrown: (error: unknown) => Thrown) {
  let logLines = 0
  let logSize = 0

  function forgetLines(): void {
    logLines = 0
    logSize = 0
  }

  function log(level: string, message: string): void {
    const stack = new SafeError().stack
    writeLog(level, message, typeof stack === 'string' ? stack : '')
  }

  /**
   * Drops output above the quota and reports this once. The call never fails because of the quota. Only lines that were
   * sent are counted. If the stack is nearly exhausted, sending a line throws.
   */
  function writeLog(level: string, message: string, stack: string): void {
    const text = cut(message, 8192)
    const allowed = limits.LOG_LINES as number
    const lines = logLines + 1
    const size = logSize + text.length
    if (lines > allowed + 1) return
    if (lines > allowed || size > (limits.LOG_SIZE as number)) {
      state.host(
        'log',
        '{"level":"warn","message":"further log lines of this call are dropped, because it exceeded LOG_LINES or LOG_SIZE","stack":""}',
      )
      logLines = allowed + 1
      return
    }
    state.host(
      'log',
      `{"level":${stringify(level)},"message":${stringify(text)},"stack":${stringify(cut(stack, 2048))}}`,
    )
    logLines = lines
    logSize = size
  }

  function report(error: unknown, what: string): void {
    const thrown = readThrown(error)
    writeLog('error', `${what}: ${thrown.name}: ${thrown.message}`, thrown.stack)
  }

  function consoleOf(): Record<string, unknown> {
    const created: Record<string, unknown> = record()
    const write =
      (level: string) =>
      (...args: unknown[]): void => {
        let text = ''
        for (let index = 0; index < args.length && index < 20; index++) {
          text += `${index === 0 ? '' : ' '}${cut(describe(args[index]), 8192)}`
        }
        log(level, text)
      }
    const levels = { debug: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error', trace: 'debug' }
    for (const name of keys(levels)) created[name] = write(levels[name as keyof typeof levels])
    return created
  }

  return { log, report, consoleOf, forgetLines }
}
