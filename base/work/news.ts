/** Default window in ms during which a repeated event is suppressed. */
const QUIET_FOR = 60_000
/** Maximum number of events that are tracked. At this number, all of them are cleared. */
const MOST_REMEMBERED = 10_000

/**
 * Creates a function that returns true for each event at most once per minute.
 * @param now returns the current time in epoch milliseconds
 * @param quietFor another window, in ms
 */
export function createNews(now: () => number = Date.now, quietFor = QUIET_FOR): (thing: string) => boolean {
  const quietUntil = new Map<string, number>()
  return (thing) => {
    if ((quietUntil.get(thing) ?? 0) > now()) return false
    if (quietUntil.size >= MOST_REMEMBERED) quietUntil.clear()
    quietUntil.set(thing, now() + quietFor)
    return true
  }
}
