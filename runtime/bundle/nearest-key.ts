/** Chosen here: nobody misspells a key of this length, and the time stays small for hostile ones. */
const MAX_LENGTH = 64

/**
 * The known key that is most similar to `key`; the first of equals. Ignores case, so `loginform` finds `loginForm`.
 * @param most the most typing errors between `key` and `candidate`; unlimited unless given
 */
export function nearestKey(
  key: string,
  known: readonly string[],
  most: (candidate: string) => number = () => Number.POSITIVE_INFINITY,
): string | null {
  if (key.length > MAX_LENGTH) return null
  let nearest: string | null = null
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const allowed = most(candidate)
    if (Math.abs(candidate.length - key.length) > allowed) continue
    const distance = editDistance(key.toLowerCase(), candidate.toLowerCase())
    if (distance < least && distance <= allowed) {
      least = distance
      nearest = candidate
    }
  }
  return nearest
}

/**
 * The typing errors that turn `a` into `b`: insertions, deletions, replacements, and two neighbours that changed places
 * (optimal string alignment, a restricted Damerau-Levenshtein distance).
 */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (before[j - 2] as number) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(replaced, swapped, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] as number
}
