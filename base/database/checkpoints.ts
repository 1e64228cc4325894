import { Worker } from 'node:worker_threads'

/**
 * Does an SQLite database's checkpoints in a thread. A checkpoint copies the write-ahead log into the database file.
 */
export interface Checkpoints {
  /** Call this after each transaction that has written to the database. */
  wrote(): void
  close(): Promise<void>
}

/** For databases with few writes. Their connection does its own checkpoints. */
export const NO_CHECKPOINTS: Checkpoints = { wrote() {}, close: async () => {} }

/**
 * Default number of transactions between two checkpoints. On a host with many sign-ins, the log has grown to about 15
 * MB by then.
 */
const EVERY = 400
/** How long an idle thread is kept after its last checkpoint, in ms. */
const KEPT = 30_000

/**
 * Does checkpoints in a thread. A checkpoint writes many pages and syncs two files, which would block the event loop.
 * If the thread fails or can't keep up, the connection does its own checkpoints.
 * @param every the number of transactions between two checkpoints
 */
export function createCheckpoints(file: string, every = EVERY): Checkpoints {
  let thread: Worker | null = null
  let transactions = 0
  let isRunning = false
  let isClosed = false
  let idle: NodeJS.Timeout | undefined

  function start(): Worker {
    const started = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
      workerData: file,
      name: 'checkpoints',
    })
    started.unref()
    started.on('message', () => {
      isRunning = false
      idle = setTimeout(() => void started.terminate(), KEPT).unref()
    })
    // The disk may be full, for example. An error without a listener would terminate the process.
    started.on('error', () => {})
    started.once('exit', () => {
      if (thread === started) thread = null
      isRunning = false
    })
    return started
  }

  return {
    wrote() {
      if (++transactions < every || isRunning || isClosed) return
      transactions = 0
      isRunning = true
      clearTimeout(idle)
      try {
        thread ??= start()
        thread.postMessage(null)
      } catch {
        // This fails if the machine can't create another thread.
        isRunning = false
      }
    },
    async close() {
      isClosed = true
      clearTimeout(idle)
      await thread?.terminate()
    },
  }
}
