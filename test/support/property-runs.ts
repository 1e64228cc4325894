/**
 * Returns how many times a property test runs: the full number in CI, and a tenth of it elsewhere, which keeps `npm
 * test` fast.
 */
export function propertyRuns(full: number): number {
  return process.env.CI ? full : Math.ceil(full / 10)
}
