/** Lets so much at once through; the rest waits in line. */
export interface Gate {
  /**
   * Waits for its turn, for at most `patience` ms.
   * @returns false when it did not come in that time; else `leave` has to follow
   */
  enter(patience?: number): Promise<boolean>
  /** Goes in at once, whether there is room or not: others wait the longer for it. `leave` has to follow. */
  force(): void
  leave(): void
}

export function createGate(width: number): Gate {
  /** Each takes the turn that it is offered, or says that it has gone away. */
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
