/** Runs a client's tasks sequentially. */
export interface Lane {
  /**
   * Queues a task. Errors in it are reported only to `onError`.
   * @returns once the task is done
   */
  enqueue(task: () => Promise<void>): Promise<void>
  /** Resolves when all currently queued tasks are done. */
  done(): Promise<void>
  /** The number of queued tasks, including the running one. */
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
