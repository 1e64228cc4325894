import { test } from 'vitest'

/** Set by `npm run long -- full-scale`, which runs the files that use this module. */
const IS_FULL = process.env.SOLHOST_FULL_SCALE === 'true'

/**
 * Chooses the number of rounds, rows or requests in a test. The normal suite uses few, and `npm run long -- full-scale`
 * uses all.
 */
export function scaled(few: number, full: number): number {
  return IS_FULL ? full : few
}

/** Defines a test that only `npm run long -- full-scale` runs, for example because it waits for the real clock. */
export const testAtFullScale: (name: string, work: () => Promise<void>, timeout?: number) => void = IS_FULL
  ? test
  : () => {}
