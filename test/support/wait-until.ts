import { setTimeout as wait } from 'node:timers/promises'
import { vi } from 'vitest'
import { PATIENCE } from './patience.ts'

/**
 * Calls `look` repeatedly until it no longer throws. By default, the timeout is that of `expect.poll`
 * (vitest.config.ts).
 */
export function waitUntil<T>(
  look: () => T | Promise<T>,
  options: { readonly timeout?: number; readonly interval?: number } = {},
): Promise<T> {
  const { timeout = PATIENCE, interval = 50 } = options
  // In tests, use vitest's function, because it advances fake timers. It doesn't work in long runs (test/long), because
  // those aren't tests.
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
