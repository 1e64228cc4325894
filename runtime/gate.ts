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

/**
 * Creates one gate per key, such as the name of a solution. A gate exists only while it has callers.
 * @param most maximum callers per key, both inside and waiting
 * @returns a function that waits for a free place, for at most `patience` ms, and then runs `work`. If there is none,
 *   it returns what `refused` returns: `full` if the key has too many callers, `late` on timeout
 */
export function createGates(width: number, most: number) {
  const gates = new Map<string, { readonly gate: Gate; callers: number }>()

  return async <T, R>(
    key: string,
    patience: number,
    work: () => Promise<T>,
    refused: (why: 'full' | 'late') => R,
  ): Promise<T | R> => {
    const own = gates.get(key) ?? { gate: createGate(width), callers: 0 }
    if (own.callers >= most) return refused('full')
    gates.set(key, own)
    own.callers++
    try {
      if (!(await own.gate.enter(patience))) return refused('late')
      try {
        return await work()
      } finally {
        own.gate.leave()
      }
    } finally {
      own.callers--
      if (own.callers === 0) gates.delete(key)
    }
  }
}
