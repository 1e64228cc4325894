/**
 * Pauses solutions whose sandbox processes have to be killed again and again, so that they cost their own users an
 * error message and nobody else anything.
 */
export interface Quarantine {
  /**
   * Notes that a process of the version was killed or crashed through one of its calls.
   * @returns when the pause that this led to ends, in epoch ms; null when it led to none
   */
  killed(key: string): number | null
  /** When the version may run again, in epoch ms; null when it may now. */
  retryAt(key: string): number | null
  /** Whether a process of it had to be killed not long ago. */
  isSuspect(key: string): boolean
  /** Forgets what is long over. */
  sweep(): void
}

/** So many kills within `WINDOW` ms lead to a pause. */
const KILLS = 3
const WINDOW = 60_000
/** The first pause, in ms; each next one is twice as long, up to the longest. */
const FIRST_PAUSE = 5_000
const LONGEST_PAUSE = 5 * 60_000
/** After so long without a kill, in ms, it is like any other again. */
const FORGIVEN_AFTER = 10 * 60_000

type Record = { kills: number[]; pauses: number; until: number }

/** @param now the clock, in epoch ms */
export function createQuarantine(now: () => number = Date.now): Quarantine {
  const records = new Map<string, Record>()
  const isForgiven = ({ kills }: Record) => (kills.at(-1) ?? 0) < now() - FORGIVEN_AFTER

  return {
    killed(key) {
      const before = records.get(key)
      const record = before === undefined || isForgiven(before) ? { kills: [], pauses: 0, until: 0 } : before
      records.set(key, record)
      record.kills = [...record.kills.filter((time) => time > now() - WINDOW), now()]
      // Once it was paused, one kill more is enough: the pause was its chance.
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
