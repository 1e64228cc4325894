import type { Visitor } from './visitor.ts'

/**
 * Ends users' sessions after a script has signed them out. The page first gets some time to do this itself, because
 * only its request can remove the cookies. If the page does nothing, the user is signed out anyway.
 */
export interface LateSignOuts {
  add(visitor: Visitor): void
  /**
   * Call this when the host stops: ends the sessions of all waiting users immediately.
   * @returns once they have ended
   */
  endAll(): Promise<void>
}

/** Time in ms that the page has to end the session with its own request. */
export const SIGN_OUT_TIME = 5000

export function createLateSignOuts(onError: (error: unknown, of: { readonly solution: string }) => void): LateSignOuts {
  const waiting = new Map<Visitor, NodeJS.Timeout>()

  function wait(visitor: Visitor, isNews: boolean): void {
    clearTimeout(waiting.get(visitor))
    waiting.set(visitor, setTimeout(end, SIGN_OUT_TIME, visitor, isNews).unref())
  }

  /**
   * @param isNews whether to report a failure. Failures of retries are not reported, since the database may be down for
   *   a while.
   */
  async function end(visitor: Visitor, isNews: boolean): Promise<void> {
    try {
      await visitor.forget()
      waiting.delete(visitor)
    } catch (error) {
      if (isNews) onError(error, { solution: visitor.solution.name })
      if (waiting.has(visitor)) wait(visitor, false)
    }
  }

  return {
    add: (visitor) => wait(visitor, true),
    async endAll() {
      const all = [...waiting]
      waiting.clear()
      for (const [, timer] of all) clearTimeout(timer)
      await Promise.all(all.map(([visitor]) => end(visitor, true)))
    },
  }
}
