import { STEPS, type Step } from './metric-store.ts'

/**
 * Time ranges for metrics. `length` is the total length and `slot` the slot length, both in ms. `step` is the length in
 * seconds of the stored slots that are aggregated.
 */
export const RANGES = {
  '15m': { length: 15 * 60_000, slot: 10_000, step: STEPS.raw },
  '1h': { length: 3_600_000, slot: 60_000, step: STEPS.minute },
  '24h': { length: 86_400_000, slot: 600_000, step: STEPS.minute },
  '7d': { length: 7 * 86_400_000, slot: 3_600_000, step: STEPS.hour },
  '30d': { length: 30 * 86_400_000, slot: 6 * 3_600_000, step: STEPS.hour },
} as const satisfies Record<string, { readonly length: number; readonly slot: number; readonly step: Step }>
export type Range = keyof typeof RANGES
export const RANGE_NAMES = Object.keys(RANGES) as Range[]

/** The time slots of a chart, one per point. */
export type Slots = {
  /** The start of each slot, in epoch ms. The last slot is still being filled. */
  readonly times: readonly number[]
  /** The start of the first slot. */
  readonly from: number
  /** Slot length in ms. */
  readonly slot: number
  readonly step: Step
}

/** @param now in epoch ms */
export function slotsOf(range: Range, now: number): Slots {
  const { length, slot, step } = RANGES[range]
  const from = now - (now % slot) - length + slot
  const times = Array.from({ length: Math.round(length / slot) }, (_, index) => from + index * slot)
  return { times, from, slot, step }
}
