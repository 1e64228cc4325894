/** Starts the writes of a queue: one batch at a time, so that entries wait in the queue while the database hangs. */
export interface BatchWriter {
  /** Starts a batch within 50 ms, or when the running one has ended. After an error, within 1 s. */
  wake(): void
  /** Resolves when an attempt to write everything that was queued before the call has ended. Never rejects. */
  flush(): Promise<void>
}

/** Batching delay in ms, so that many entries cause one transaction instead of a hundred. */
const BATCH_TIME = 50
/** Delay after an error, in ms. */
const RETRY_TIME = 1000

/**
 * @param write takes everything from the queue and writes it. If that fails, it puts the entries back and rejects. Never
 *   called in parallel
 */
export function createBatchWriter(write: () => Promise<void>): BatchWriter {
  let timer: NodeJS.Timeout | null = null
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  function startTimer(after: number): void {
    timer ??= setTimeout(() => void flush(), after)
    timer.unref()
  }

  async function writeAfter(before: Promise<void>): Promise<void> {
    await before
    next = null
    await write().catch(() => startTimer(RETRY_TIME))
  }

  function flush(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    if (next === null) {
      next = writeAfter(last)
      last = next
    }
    return next
  }

  return { wake: () => startTimer(BATCH_TIME), flush }
}
