/**
 * Does `work` every `milliseconds`, never twice at once: where one takes longer, the next is left out. It keeps no process alive.
 * @param onError hears what `work` throws; without it, that is an error which nobody handles
 * @returns what ends it; resolves once the work under way is done
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
