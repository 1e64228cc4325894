/** A semaphore. At most `width` callers are inside at a time; the others wait. */
export interface Gate {
  /**
   * Waits for a free place, for at most `patience` ms.
   * @returns false on timeout; otherwise the caller must call `leave`
   */
  enter(patience?: number): Promise<boolean>
  /** Enters immediately, even if the gate is full. Other callers then wait longer. The caller must call `leave`. */
  force(): void
  leave(): void
}

export function createGate(width: number): Gate {
  /** One function per waiting caller. It takes the free place, or returns false if its caller has given up. */
  const waiting: (() => boolean)[] = []
  let inside = 0

  return {
    async enter(patience) {
      if (inside < width) {
        inside++
        return true
      }
      const { promise, resolve } = Promise.withResolvers<boolean>()
      let isWaiting = true
      const timer = patience === undefined ? undefined : setTimeout(giveUp, patience)
      function giveUp(): void {
        isWaiting = false
        resolve(false)
      }
      waiting.push(() => {
        if (!isWaiting) return false
        clearTimeout(timer)
        resolve(true)
        return true
      })
      return promise
    },
    force() {
      inside++
    },
    leave() {
      inside--
      while (inside < width && waiting.length > 0) if (waiting.shift()?.()) inside++
    },
  }
}
