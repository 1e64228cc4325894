/**
 * Counts durations in fixed buckets, four per doubling, from 0.25 ms to about a minute. Adding a duration costs a
 * logarithm and an addition. A quantile is reported as the middle of its bucket, so within that range its error is at
 * most 9 % (2^(1/8) - 1).
 */
export class Histogram {
  private readonly buckets = new Uint32Array(BUCKETS)
  count = 0
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

  /**
   * @param part 0.5 for the median
   * @returns ms, or null if nothing was counted
   */
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
/** The upper bound of the first bucket is 2^-2 ms. */
const LOWEST = -2
/** The lower bound of the last bucket is 2^16 ms, a little more than a minute. */
const HIGHEST = 16
const BUCKETS = (HIGHEST - LOWEST) * PER_DOUBLING + 2

function bucketOf(milliseconds: number): number {
  const bucket = Math.ceil((Math.log2(milliseconds) - LOWEST) * PER_DOUBLING)
  return bucket > 0 ? Math.min(bucket, BUCKETS - 1) : 0
}

/** The geometric middle of the bucket, in ms. */
function middleOf(bucket: number): number {
  return 2 ** (LOWEST + (bucket - 0.5) / PER_DOUBLING)
}
