/** Histogram counts by upper bound; `Infinity` is the overflow bucket. */
export type Buckets = ReadonlyMap<number, number>

/**
 * Estimates a quantile by linear interpolation within a bucket. In the overflow bucket, it returns the last bound.
 * @param part 0.5 for the median
 * @param edges the buckets' upper bounds in ascending order; each is also the lower bound of the next bucket
 * @returns null if the histogram is empty
 */
export function quantileOf(part: number, buckets: Buckets, edges: readonly number[]): number | null {
  let left = part * [...buckets.values()].reduce((sum, count) => sum + count, 0)
  if (left === 0) return null
  for (const [index, edge] of [...edges, Infinity].entries()) {
    const count = buckets.get(edge) ?? 0
    const below = edges[index - 1] ?? 0
    if (count > 0 && left <= count) return edge === Infinity ? below : below + (edge - below) * (left / count)
    left -= count
  }
  return edges.at(-1) ?? null
}
