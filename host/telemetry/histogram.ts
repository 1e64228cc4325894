/**
 * Durations counted in fixed buckets, four to each doubling, from a quarter of a millisecond to a minute. To count one is a
 * logarithm and an addition. A quantile is told as the middle of its bucket: at most 9 % (2^(1/8) - 1) from the true one,
 * within that range.
 */
export class Histogram {
  private readonly buckets = new Uint32Array(BUCKETS)
  count = 0
  /** In ms, as it was. */
  largest = 0

  add(milliseconds: number): void {
    const bucket = bucketOf(milliseconds)
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1
    this.count++
    if (milliseconds > this.largest) this.largest = milliseconds
  }

  addAll(other: Histogram): void {
    for (const [bucket, count] of other.buckets.entries()) this.buckets[bucket] = (this.buckets[bucket] ?? 0) + count
    this.count += other.count
    this.largest = Math.max(this.largest, other.largest)
  }

  /** @param part 0.5 is the median. @returns ms, or null where nothing was counted */
  quantile(part: number): number | null {
    if (this.count === 0) return null
    let left = Math.max(1, Math.ceil(part * this.count))
    const bucket = this.buckets.findIndex((count) => {
      left -= count
      return left <= 0
    })
    return Math.min(this.largest, middleOf(bucket))
  }
}

const PER_DOUBLING = 4
/** 2^-2 ms is the upper edge of the first bucket. */
const LOWEST = -2
/** 2^16 ms, a little more than a minute, is the lower edge of the last one. */
const HIGHEST = 16
const BUCKETS = (HIGHEST - LOWEST) * PER_DOUBLING + 2

function bucketOf(milliseconds: number): number {
  const bucket = Math.ceil((Math.log2(milliseconds) - LOWEST) * PER_DOUBLING)
  return bucket > 0 ? Math.min(bucket, BUCKETS - 1) : 0
}

/** In ms, between the edges by ratio. */
function middleOf(bucket: number): number {
  return 2 ** (LOWEST + (bucket - 0.5) / PER_DOUBLING)
}
