/** Chosen here: nobody misspells a key of this length, and the time stays small for hostile ones. */
const MAX_LENGTH = 64

/** The known key that is most like `key`; the first of equals. Case counts for little, so `loginform` finds `loginForm`. */
export function nearestKey(key: string, known: readonly string[]): string | null {
  if (key.length > MAX_LENGTH) return null
  let nearest: string | null = null
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = editDistance(key.toLowerCase(), candidate.toLowerCase())
    if (distance < least) {
      least = distance
      nearest = candidate
    }
  }
  return nearest
}

/** Levenshtein's distance: the insertions, deletions and replacements that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
