import type { ClientsParts, Visitor } from './clients.ts'

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

export function createLateSignOuts(onError: ClientsParts['onError']): LateSignOuts {
  const waiting = new Map<Visitor, NodeJS.Timeout>()

  function wait(visitor: Visitor, end: (visitor: Visitor) => void): void {
    clearTimeout(waiting.get(visitor))
    waiting.set(visitor, setTimeout(end, SIGN_OUT_TIME, visitor).unref())
  }

  /** @returns whether the session is over */
  async function end(visitor: Visitor, isTold = false): Promise<boolean> {
    try {
      await visitor.forget()
      waiting.delete(visitor)
      return true
    } catch (error) {
      if (!isTold) onError(error, { solution: visitor.solution.name })
      return false
    }
  }

  async function endLate(visitor: Visitor, isTold = false): Promise<void> {
    // The database may be away for a while.
    if (!(await end(visitor, isTold)) && waiting.has(visitor)) wait(visitor, (same) => void endLate(same, true))
  }

  return {
    add: (visitor) => wait(visitor, (same) => void endLate(same)),
    async endAll() {
      const all = [...waiting]
      waiting.clear()
      await Promise.all(
        all.map(([visitor, timer]) => {
          clearTimeout(timer)
          return end(visitor)
        }),
      )
    },
  }
}
