/** Pseudo-random numbers from a seed. With the same seed, a failed run can be reproduced. */
export type Random = {
  /** Returns a number from 0 up to, but not including, 1. */
  readonly next: () => number
  /** Returns an integer from 0 to `below` - 1. */
  readonly below: (below: number) => number
  readonly shuffled: <T>(items: readonly T[]) => T[]
}

/**
 * Creates a generator with the mulberry32 algorithm.
 * @param seed a 32-bit integer
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  function below(limit: number): number {
    return Math.floor(next() * limit)
  }

  function shuffled<T>(items: readonly T[]): T[] {
    const left = [...items]
    return items.map(() => left.splice(below(left.length), 1)[0] as T)
  }

  return { next, below, shuffled }
}
