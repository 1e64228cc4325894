/** The size in bytes above which a body needs a turn. Smaller ones take a few ms. */
const LARGE = 64 * 1024

/**
 * Returns a function that runs synchronous work on a request body. Reading the values of a large body blocks the main
 * thread for up to 0.1 s. Large bodies are therefore read one at a time. Between two of them, the main thread is
 * free for at least as long as the first one took, so sign-ins and forms wait for at most one body.
 */
export function createBodyTurns(): <T>(bytes: number, work: () => T) => Promise<T> {
  let last: Promise<void> = Promise.resolve()

  return async (bytes, work) => {
    if (bytes <= LARGE) return work()
    const before = last
    const { promise, resolve } = Promise.withResolvers<void>()
    last = promise
    await before
    const start = performance.now()
    try {
      return work()
    } finally {
      setTimeout(resolve, performance.now() - start)
    }
  }
}
