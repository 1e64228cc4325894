/** Returns how many random cases a property test checks: the full number in CI, and a tenth of it elsewhere. */
export function propertyRuns(full: number): number {
  return process.env.CI ? full : Math.ceil(full / 10)
}
