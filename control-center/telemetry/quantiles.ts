/** Counts of a histogram by their upper edges; `Infinity` for what is over the last one. */
export type Buckets = ReadonlyMap<number, number>

/**
 * A quantile of what fell into buckets, taken as spread evenly within each; what is over the last edge is told as that edge.
 * @param part 0.5 is the median
 * @param edges all upper edges in order: where a bucket begins
 * @returns null where nothing was counted
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
