/** Runs of a property test: all of them in CI, a tenth elsewhere, so that `npm test` stays fast. */
export function propertyRuns(full: number): number {
  return process.env.CI ? full : Math.ceil(full / 10)
}
