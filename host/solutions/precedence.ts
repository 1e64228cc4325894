/** Gives one kind of work precedence over another kind. */
export interface Precedence {
  /** Runs work that has precedence. */
  first<T>(work: () => Promise<T>): Promise<T>
  /** Resolves once no work with precedence is running. */
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
      // Work with precedence may have started before this function resumes, so check again.
      while (running > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}
