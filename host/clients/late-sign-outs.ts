import type { Visitor } from './visitor.ts'

/**
 * Ends the sessions that scripts signed out. The page gets some time to do it itself, since only its request can take the cookies
 * away; whatever it does, the user is signed out.
 */
export interface LateSignOuts {
  add(visitor: Visitor): void
  /** The host stops: none of them waits any longer. @returns once they have ended */
  endAll(): Promise<void>
}

/** The page of a user whom a script signed out gets so many ms to end the session by its own request. */
export const SIGN_OUT_TIME = 5000

export function createLateSignOuts(onError: (error: unknown, of: { readonly solution: string }) => void): LateSignOuts {
  const waiting = new Map<Visitor, NodeJS.Timeout>()

  function wait(visitor: Visitor, isNews: boolean): void {
    clearTimeout(waiting.get(visitor))
    waiting.set(visitor, setTimeout(end, SIGN_OUT_TIME, visitor, isNews).unref())
  }

  /** @param isNews a failure is told; the database may be away for a while, so those that follow are not */
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
