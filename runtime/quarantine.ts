/** Pauses solutions whose sandbox processes are killed repeatedly. Users of other solutions are not affected. */
export interface Quarantine {
  /**
   * Records that one of the version's processes was killed or crashed because of one of its calls.
   * @returns when the resulting pause ends, in epoch ms; null if the kill did not cause a pause
   */
  killed(key: string): number | null
  /** Returns when the version may run again, in epoch ms; null if it is not paused. */
  retryAt(key: string): number | null
  /** Whether one of the version's processes was killed recently. */
  isSuspect(key: string): boolean
  /** Drops expired entries. */
  sweep(): void
}

/** The number of kills within `WINDOW` ms that causes the first pause. */
const KILLS = 3
const WINDOW = 60_000
/** The first pause, in ms. Each further pause is twice as long, up to the maximum. */
const FIRST_PAUSE = 5_000
const LONGEST_PAUSE = 5 * 60_000
/** The time in ms without a kill after which the version's history is cleared. */
const FORGIVEN_AFTER = 10 * 60_000

type Record = { kills: number[]; pauses: number; until: number }

/** @param now returns the current time, in epoch ms */
export function createQuarantine(now: () => number = Date.now): Quarantine {
  const records = new Map<string, Record>()
  const isForgiven = ({ kills }: Record) => (kills.at(-1) ?? 0) < now() - FORGIVEN_AFTER

  return {
    killed(key) {
      const before = records.get(key)
      const record = before === undefined || isForgiven(before) ? { kills: [], pauses: 0, until: 0 } : before
      records.set(key, record)
      record.kills = [...record.kills.filter((time) => time > now() - WINDOW), now()]
      // After the first pause, a single kill causes the next one.
      if (record.pauses === 0 && record.kills.length < KILLS) return null
      record.until = now() + Math.min(FIRST_PAUSE * 2 ** record.pauses, LONGEST_PAUSE)
      record.pauses++
      return record.until
    },
    retryAt(key) {
      const until = records.get(key)?.until ?? 0
      return until > now() ? until : null
    },
    isSuspect(key) {
      const record = records.get(key)
      return record !== undefined && !isForgiven(record)
    },
    sweep() {
      for (const [key, record] of records) if (isForgiven(record)) records.delete(key)
    },
  }
}
