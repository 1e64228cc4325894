/** Those who wait a moment for something that all of them can have together. */
export interface WaitingRoom {
  /** @returns false at once if too many wait already, or after the time; else what they are answered */
  wait(): Promise<boolean>
  answer(given: boolean): void
}

/** @param most may wait at the same time. @param time how long each waits, in ms */
export function createWaitingRoom(most: number, time: number): WaitingRoom {
  const waiting = new Set<(given: boolean) => void>()
  return {
    async wait() {
      if (waiting.size >= most) return false
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const timer = setTimeout(resolve, time, false)
      waiting.add(resolve)
      const given = await promise
      clearTimeout(timer)
      waiting.delete(resolve)
      return given
    },
    answer(given) {
      for (const resolve of [...waiting]) resolve(given)
    },
  }
}
