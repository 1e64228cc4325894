/** Waits of runs that are queued, or that another control center cancels. */
export interface RunWaits {
  /** Waits until a run ends here, `signal` aborts, or `WAIT_EVERY` ms have passed. */
  wait(signal: AbortSignal): Promise<void>
  /** A run ended here: ends all waits. */
  wake(): void
}

/** Poll interval in ms while a run is queued, or while another control center cancels one. */
const WAIT_EVERY = 500

export function createRunWaits(): RunWaits {
  /** The resolve functions of the waits. */
  const waiting = new Set<() => void>()
  return {
    async wait(signal) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, WAIT_EVERY)
      const resume = () => resolve()
      waiting.add(resume)
      signal.addEventListener('abort', resume, { once: true })
      await promise
      clearTimeout(timer)
      waiting.delete(resume)
      signal.removeEventListener('abort', resume)
    },
    wake() {
      for (const resume of waiting) resume()
    },
  }
}
