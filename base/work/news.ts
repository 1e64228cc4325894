/** Window in ms during which a repeated event is suppressed. */
const TOLD_FOR = 60_000
/** Most events that are remembered; then all are forgotten. */
const MOST_TOLD = 10_000

/** Returns true for each event once per minute. @param now the clock, in epoch milliseconds */
export function createNews(now: () => number = Date.now): (thing: string) => boolean {
  const told = new Map<string, number>()
  return (thing) => {
    if ((told.get(thing) ?? 0) > now()) return false
    if (told.size >= MOST_TOLD) told.clear()
    told.set(thing, now() + TOLD_FOR)
    return true
  }
}
