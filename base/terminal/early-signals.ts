import { constants } from 'node:os'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

const end = (signal: (typeof SIGNALS)[number]) => process.exit(128 + constants.signals[signal])

/**
 * Handles signals that arrive while the command line is loading. Process 1, as in a container, gets only the signals
 * that it listens for. Without these handlers, such a signal would be lost, and the container would be killed 10 s
 * later. Nothing has started yet, so the process exits immediately, with the code that a shell reports for that signal.
 * For all other processes, the kernel does this.
 */
export function heedEarlySignals(): void {
  if (process.pid !== 1) return
  for (const signal of SIGNALS) process.on(signal, end)
}

/** Removes these signal handlers. Call this before other code handles the signals. */
export function leaveEarlySignals(): void {
  for (const signal of SIGNALS) process.off(signal, end)
}
