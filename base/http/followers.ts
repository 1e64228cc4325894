import { PlatformError } from '../../runtime/errors.ts'

/** A client that follows logs. `who` is a person, the admin account or an API token; `logs` has the logs' ids. */
export type Follower = {
  readonly who: string
  readonly logs: readonly string[]
  /** The name of a log, for error messages. */
  nameOf(log: string): string
  end(): void
}

/**
 * The clients that are following logs. Each new line causes work and uses memory for each of them, so their number is
 * limited.
 */
export interface Followers {
  /**
   * @returns a function that frees the slot; calling it again is a no-op
   * @throws ERR_THROTTLED if the client follows too many logs, or too many clients follow one log
   * @throws ERR_STOPPING after `stop`
   */
  enter(follower: Follower): () => void
  /** Disconnects all followers because the server is stopping. */
  stop(): void
}

/**
 * Maximum logs that one person or token follows, and maximum clients that follow one log. Chosen here: a person has one
 * or two pages open, and a whole team may watch one log.
 */
const MOST_OF_ONE = 10
const MOST_OF_LOG = 50
/** The value of `Retry-After`, in seconds. */
const AGAIN = 30

/** @param mostOfOne the maximum for one `who`. Set it higher if several people share an account */
export function createFollowers(mostOfOne = MOST_OF_ONE): Followers {
  const followers = new Set<Follower>()
  let isStopped = false

  function needPlace({ who, logs, nameOf }: Follower): void {
    if (isStopped)
      throw new PlatformError('ERR_STOPPING', 'The server is stopping. Try again in a moment.', { retryAfter: 5 })
    const all = [...followers]
    if (all.filter((one) => one.who === who).length >= mostOfOne) {
      throw refusal(
        `You are already following ${mostOfOne} logs, which is the maximum. Close a log page, or stop a program that follows a log. Then try again.`,
      )
    }
    const counts = new Map<string, number>()
    for (const one of all) for (const id of one.logs) counts.set(id, (counts.get(id) ?? 0) + 1)
    const full = logs.find((id) => (counts.get(id) ?? 0) >= MOST_OF_LOG)
    if (full === undefined) return
    throw refusal(
      `${MOST_OF_LOG} clients are already following the log of "${nameOf(full)}", which is the maximum. ` +
        'Try again later, or read the log without following it.',
    )
  }

  return {
    enter(follower) {
      needPlace(follower)
      followers.add(follower)
      return () => void followers.delete(follower)
    },
    stop() {
      isStopped = true
      for (const follower of [...followers]) follower.end()
    },
  }
}

function refusal(message: string): PlatformError {
  return new PlatformError('ERR_THROTTLED', message, { retryAfter: AGAIN })
}
