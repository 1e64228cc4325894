import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import type { LogLevel } from '../config/properties.ts'
import { diskFull, isDiskFull } from '../database/disk-full.ts'
import type { Exit } from './command.ts'
import { leaveEarlySignals } from './early-signals.ts'
import { printableJson } from './terminal.ts'

/** The platform's own log, with one line per event. The format is JSON, or readable text on a terminal. */
export async function createLog(level: LogLevel, isTerminal: boolean): Promise<Logger> {
  const { pino } = await import('pino')
  const options = { level, base: null }
  if (!isTerminal) return pino(options)
  const { default: pretty } = await import('pino-pretty')
  const shown = pretty({ sync: true, translateTime: 'SYS:HH:MM:ss' })
  // Escape control characters: errors may quote untrusted input.
  return pino(options, { write: (line) => void shown.write(printableJson(line)) })
}

/**
 * Window in ms within which several signals are treated as one. If a signal is sent to the whole process group, the
 * launcher also passes it on to this process.
 */
const SAME_SIGNAL = 500

/**
 * Calls `stop` on a signal, or when the launcher's exit closes the IPC channel.
 * @param stop called again for each further signal, which means that the user doesn't want to wait
 */
export function stopOnSignals(stop: () => Promise<void>, stopped: (exit: Exit) => void): void {
  let since: number | null = null
  const end = () => {
    if (since !== null) {
      // Ignore errors here, because the first call already reports them.
      if (performance.now() - since > SAME_SIGNAL) stop().catch(() => {})
      return
    }
    since = performance.now()
    stop().then(
      () => stopped('done'),
      () => stopped('failed'),
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)
  leaveEarlySignals()
  process.on('disconnect', end)
  // If the IPC channel from the launcher is already closed, the launcher has exited.
  if (process.env.SOLHOST_LAUNCHER !== undefined && !process.connected) end()
}

/** The system's error contains the port number, but not which of these settings it is from. */
const PORTS = 'PORT, ADMIN_PORT, METRICS_PORT or HTTP_REDIRECT_PORT'

/** Explains to the operator why a host could not start. */
export function whyNot(error: unknown): string {
  if (error instanceof PlatformError) return error.message
  const { code, port, address, syscall } = error as NodeJS.ErrnoException & { port?: number; address?: string }
  if (code === 'EADDRINUSE') {
    return `Port ${port} on ${address} is already in use. Stop the process that uses it, or change the setting that contains this port: ${PORTS}.`
  }
  if (code === 'EACCES' && syscall === 'listen') {
    return `Listening on port ${port} of ${address} requires extra privileges. Change the setting that contains this port (${PORTS}) to 1024 or higher.`
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return `Cannot use the folder PLATFORM_HOME: ${(error as Error).message}. ${whoseFolder(code)}`
  }
  if (isDiskFull(error)) return diskFull('PLATFORM_HOME', error).message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The owner of a folder mounted into a container is determined by its UID on the host machine. */
function whoseFolder(code: string): string {
  if (code === 'EROFS') return 'The folder is on a read-only file system. Mount it as writable.'
  const user = process.getuid?.()
  return `Make the account that runs Solhost${user === undefined ? '' : ` (user ID ${user})`} the owner of the folder.`
}
