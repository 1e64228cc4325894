/** Lets one kind of work go before another. */
export interface Precedence {
  /** Runs work that goes first. */
  first<T>(work: () => Promise<T>): Promise<T>
  /** Resolves while no such work is running. */
  over(): Promise<void>
}

export function createPrecedence(): Precedence {
  let running = 0
  let waiting: (() => void)[] = []
  return {
    async first(work) {
      running++
      try {
        return await work()
      } finally {
        running--
        if (running === 0) {
          for (const go of waiting) go()
          waiting = []
        }
      }
    },
    async over() {
      // Work that starts while this function resumes goes first too.
      while (running > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}
