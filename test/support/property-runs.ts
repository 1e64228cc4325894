/** The number of runs of a property test: the full number in CI, a tenth elsewhere, so that `npm test` stays fast. */
export function propertyRuns(full: number): number {
  return process.env.CI ? full : Math.ceil(full / 10)
}
