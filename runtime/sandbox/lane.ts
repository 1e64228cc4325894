/** Runs steps in the order in which they were added. Each step ends before the next one starts. */
export interface Lane {
  run(step: () => Promise<void>): void
  /** The number of running and queued steps. */
  readonly length: () => number
}

export function createLane(): Lane {
  let last: Promise<void> = Promise.resolve()
  let length = 0

  function shorten(): void {
    length--
  }

  return {
    run(step) {
      length++
      last = last.then(step).then(shorten, shorten)
    },
    length: () => length,
  }
}
