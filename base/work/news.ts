/** How long a thing is no news after it was told, in ms. */
const TOLD_FOR = 60_000
/** Things that are remembered at once. */
const MOST_TOLD = 10_000

/** Says of each thing once a minute that it is new. @param now the clock, in epoch milliseconds */
export function createNews(now: () => number = Date.now): (thing: string) => boolean {
  const told = new Map<string, number>()
  return (thing) => {
    if ((told.get(thing) ?? 0) > now()) return false
    if (told.size >= MOST_TOLD) told.clear()
    told.set(thing, now() + TOLD_FOR)
    return true
  }
}
