import { test } from 'vitest'

/** True in the full-scale run (`npm run long -- full-scale`), which runs the test files that import this module. */
export const IS_FULL_SCALE = process.env.SOLHOST_FULL_SCALE === 'true'

/**
 * Selects a test's number of rounds, rows or requests. Returns `few` in normal test runs, and `full` in the full-scale
 * run.
 */
export function scaled(few: number, full: number): number {
  return IS_FULL_SCALE ? full : few
}

/** Defines a test that runs only in `npm run long -- full-scale`, for example because it waits for the real clock. */
export const testAtFullScale: (name: string, work: () => Promise<void>, timeout?: number) => void = IS_FULL_SCALE
  ? test
  : () => {}
