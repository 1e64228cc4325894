import { setTimeout as wait } from 'node:timers/promises'
import { vi } from 'vitest'
import { PATIENCE } from './patience.ts'

/** Waits until `look` no longer throws. By default, it waits as long as `expect.poll` (vitest.config.ts). */
export function waitUntil<T>(
  look: () => T | Promise<T>,
  options: { readonly timeout?: number; readonly interval?: number } = {},
): Promise<T> {
  const { timeout = PATIENCE, interval = 50 } = options
  // Vitest's function advances fake timers, but works only in tests. Long runs (test/long) are not tests.
  if (process.env.VITEST === undefined) return pollUntil(look, performance.now() + timeout, interval)
  return vi.waitFor(look, { timeout, interval })
}

async function pollUntil<T>(look: () => T | Promise<T>, end: number, interval: number): Promise<T> {
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (performance.now() > end) throw error
    }
    await wait(interval)
  }
}
