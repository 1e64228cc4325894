/** Lets several callers wait briefly for the same event. The event releases all of them. */
export interface WaitingRoom {
  /** @returns the value passed to `answer`; false on timeout, or immediately if too many callers are already waiting */
  wait(): Promise<boolean>
  answer(given: boolean): void
}

/** @param most the maximum number of waiting callers @param time the maximum wait of each caller, in ms */
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
