import type { Owner } from './shares.ts'

/**
 * A queue for work that is done one item at a time. The next item belongs to the organisation that has recently used
 * the least time, and to the environment within it that has used the least. So senders of large amounts don't delay
 * senders of small amounts.
 */
export interface FairQueue<T extends { readonly owner: Owner }> {
  add(item: T): void
  /** Removes and returns the next item; null if the queue is empty or `wanted` rejects the next item. */
  next(wanted?: (item: T) => boolean): T | null
  /** Records how much time this owner's work took. @param time in ms */
  used(owner: Owner, time: number): void
  /** Empties the queue and returns its items. */
  clear(): readonly T[]
}

/** Interval in ms at which the recorded usage is halved. */
const HALF_LIFE = 60_000

/** @param now returns the current time in epoch milliseconds */
export function createFairQueue<T extends { readonly owner: Owner }>(now: () => number = Date.now): FairQueue<T> {
  /** Items by environment, in order of arrival. */
  const lanes = new Map<string, { readonly owner: Owner; readonly items: T[] }>()
  const times = new Map<string, number>()
  let period = periodOf(now())

  function forgetOld(): void {
    const current = periodOf(now())
    if (current === period) return
    const part = 0.5 ** Math.max(0, current - period)
    period = current
    for (const [id, time] of times) {
      if (time * part < 1) times.delete(id)
      else times.set(id, time * part)
    }
  }

  const timeOf = (id: string) => times.get(id) ?? 0

  function least(one: Owner, other: Owner): boolean {
    const organisations = timeOf(one.organisation) - timeOf(other.organisation)
    return organisations < 0 || (organisations === 0 && timeOf(one.id) < timeOf(other.id))
  }

  return {
    add(item) {
      const { owner } = item
      const lane = lanes.get(owner.id) ?? { owner, items: [] }
      lanes.set(owner.id, lane)
      lane.items.push(item)
    },
    next(wanted = () => true) {
      forgetOld()
      let first: { readonly owner: Owner; readonly items: T[] } | null = null
      for (const lane of lanes.values()) if (first === null || least(lane.owner, first.owner)) first = lane
      const item = first?.items[0]
      if (first === null || item === undefined || !wanted(item)) return null
      first.items.shift()
      lanes.delete(first.owner.id)
      // Move the environment to the end. Among environments with the same usage, the one that has waited longest is
      // next.
      if (first.items.length > 0) lanes.set(first.owner.id, first)
      return item
    },
    used({ id, organisation }, time) {
      times.set(id, timeOf(id) + time)
      times.set(organisation, timeOf(organisation) + time)
    },
    clear() {
      const all = [...lanes.values()].flatMap(({ items }) => items)
      lanes.clear()
      return all
    },
  }
}

function periodOf(time: number): number {
  return Math.floor(time / HALF_LIFE)
}
