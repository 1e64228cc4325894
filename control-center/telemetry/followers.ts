import { PlatformError } from '../../runtime/errors.ts'

/**
 * A client that follows a log. `who` is a person or an API token; `environments` has the ids of the environments shown.
 */
export type Follower = {
  readonly who: string
  readonly environments: readonly string[]
  /** The name of an environment, for error messages. */
  nameOf(environment: string): string
  end(): void
}

/** The clients that are following logs. Each of them polls the database, so their number is limited. */
export interface Followers {
  /**
   * @returns a function that frees the slot; calling it again is a no-op
   * @throws ERR_THROTTLED if the client follows too many logs, or too many clients follow one environment
   * @throws ERR_STOPPING after `stop`
   */
  enter(follower: Follower): () => void
  /** Disconnects all followers because the control center is stopping. */
  stop(): void
}

/**
 * Maximum logs that one person or token follows, and maximum clients that follow one environment. Chosen here: a person
 * has one or two pages open, and a whole team may watch one environment.
 */
const MOST_OF_ONE = 10
const MOST_OF_ENVIRONMENT = 50
/** The value of `Retry-After`, in seconds. */
const AGAIN = 30

export function createFollowers(): Followers {
  const followers = new Set<Follower>()
  let isStopped = false

  function needPlace({ who, environments, nameOf }: Follower): void {
    if (isStopped)
      throw new PlatformError('ERR_STOPPING', 'The control center is stopping. Try again in a moment.', {
        retryAfter: 5,
      })
    const all = [...followers]
    if (all.filter((one) => one.who === who).length >= MOST_OF_ONE) {
      throw refusal(
        `You are already following ${MOST_OF_ONE} logs, which is the maximum. Close a log page, or stop a program that follows a log. Then try again.`,
      )
    }
    const counts = new Map<string, number>()
    for (const one of all) for (const id of one.environments) counts.set(id, (counts.get(id) ?? 0) + 1)
    const full = environments.find((id) => (counts.get(id) ?? 0) >= MOST_OF_ENVIRONMENT)
    if (full === undefined) return
    throw refusal(
      `${MOST_OF_ENVIRONMENT} clients are already following the log of "${nameOf(full)}", which is the maximum. ` +
        'Try again later, read the log without following it, or follow the log of another environment.',
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
