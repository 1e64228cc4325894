import { constants } from 'node:os'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

const end = (signal: (typeof SIGNALS)[number]) => process.exit(128 + constants.signals[signal])

/**
 * Process 1, as in a container, gets only signals that it asked for: without this one that comes while the command line is
 * being loaded would be lost, and the container be killed 10 s later. Nothing has begun yet, so it ends at once, by the
 * code that a shell gives to an end by that signal. All other processes have that from the system.
 */
export function heedEarlySignals(): void {
  if (process.pid !== 1) return
  for (const signal of SIGNALS) process.on(signal, end)
}

/** For whoever asked for the signals itself. */
export function leaveEarlySignals(): void {
  for (const signal of SIGNALS) process.off(signal, end)
}
