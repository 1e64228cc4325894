/** All that a client does, one thing after the other. */
export interface Lane {
  /** Does it when its turn comes. @returns once it is done; what it throws is told to `onError` alone */
  enqueue(task: () => Promise<void>): Promise<void>
  /** Resolves when all that waits now is done. */
  done(): Promise<void>
  /** How many wait, with the one that runs. */
  waiting(): number
}

export function createLane(onError: (error: unknown) => void): Lane {
  let last: Promise<void> = Promise.resolve()
  let waiting = 0
  return {
    enqueue(task) {
      waiting += 1
      last = last
        .then(task)
        .catch(onError)
        .finally(() => {
          waiting -= 1
        })
      return last
    },
    done: () => last,
    waiting: () => waiting,
  }
}
