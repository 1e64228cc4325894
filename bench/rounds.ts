import { setTimeout as pause } from 'node:timers/promises'
/** Number of rounds. Contestants alternate so that disturbances affect all of them; medians are reported. */
export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9)

/** Runs the work sequentially. @returns milliseconds per unit of work */
export async function each(count: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let done = 0; done < count; done++) await work()
  return (performance.now() - start) / count
}

/** Like `each`, but with pauses between the units of work, like between real logins. Pauses are not timed. */
export async function paced(count: number, work: () => Promise<unknown>): Promise<number> {
  let sum = 0
  for (let done = 0; done < count; done++) {
    await pause(5)
    sum += await each(1, work)
  }
  return sum / count
}

/** Runs eight units of work concurrently. @returns milliseconds per unit of work */
export async function burst(count: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  let left = count
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (left-- > 0) await work()
    }),
  )
  return (performance.now() - start) / count
}

export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

/** A percentile: the smallest value that at least `percent` % of the values do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN
}

/** Formats a value for the details of a row, with three digits. */
export function figure(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en')
}
