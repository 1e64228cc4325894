/**
 * Maximum length of a key for which a suggestion is made, in characters. Chosen here: longer than any real key, and
 * short enough that comparing malicious keys doesn't take long.
 */
const MAX_LENGTH = 64

/**
 * Returns the known key most similar to `key`; if several are equally similar, the first. Ignores case, so `loginform`
 * finds `loginForm`.
 * @param most returns the maximum number of typos between `key` and `candidate`; default: unlimited
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

/** For `nearestKey`: allows one typo for every three characters, and at least one. */
export function fewTypos(candidate: string): number {
  return Math.max(1, Math.floor(candidate.length / 3))
}

/**
 * Returns the number of typos that turn `a` into `b`: insertions, deletions, replacements, and swapped neighbours
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
