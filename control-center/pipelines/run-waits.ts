/** Wakes up code that is waiting for a queued run to start, or for another control center to cancel a run. */
export interface RunWaits {
  /** Waits until a run ends in this process, `signal` aborts, or `WAIT_EVERY` ms have passed. */
  wait(signal: AbortSignal): Promise<void>
  /** Resolves all pending waits. Call this when a run has ended in this process. */
  wake(): void
}

/** Polling interval in ms while a run is queued, or while another control center cancels a run. */
const WAIT_EVERY = 500

export function createRunWaits(): RunWaits {
  /** The resolve functions of pending waits. */
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
