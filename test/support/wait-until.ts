import { vi } from 'vitest'
import { PATIENCE } from './patience.ts'

/** Waits until `look` no longer throws, for as long as `expect.poll` does here (vitest.config.ts). */
export function waitUntil<T>(
  look: () => T | Promise<T>,
  options: { readonly timeout?: number; readonly interval?: number } = {},
): Promise<T> {
  return vi.waitFor(look, { timeout: PATIENCE, ...options })
}
