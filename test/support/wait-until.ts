import { vi } from 'vitest'

/**
 * Waits until nothing is thrown any more. Its patience is that of `expect.poll` here (vitest.config.ts): machines that run
 * the tests do other work too, and how fast something is is asked of the benchmarks.
 */
export function waitUntil<T>(
  look: () => T | Promise<T>,
  options: { readonly timeout?: number; readonly interval?: number } = {},
): Promise<T> {
  return vi.waitFor(look, { timeout: 60_000, ...options })
}
