/**
 * Runs `work` every `milliseconds`, never in parallel: while one run takes longer, the next ones are skipped. The timer
 * doesn't keep the process alive.
 * @param onError called with the errors of `work`; without it, an error becomes an unhandled rejection
 * @returns a function that stops the timer; its promise resolves once the current run is done
 */
export function repeat(
  milliseconds: number,
  work: () => unknown,
  onError?: (error: Error) => void,
): () => Promise<void> {
  let running: Promise<void> | null = null
  const once = async () => {
    await work()
  }
  const timer = setInterval(() => {
    running ??= once()
      .catch(onError)
      .finally(() => {
        running = null
      })
  }, milliseconds)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
