import { PlatformError } from '../../runtime/errors.ts'

/** Who follows a log: a person or an access token, and the ids of the environments that it shows. */
export type Follower = {
  readonly who: string
  readonly environments: readonly string[]
  /** For what he is told. */
  nameOf(environment: string): string
  /** Ends it. */
  end(): void
}

/** Those who follow logs now. Each is asked for new lines again and again, so there is a bound. */
export interface Followers {
  /**
   * @returns what gives the place back; calling it twice changes nothing
   * @throws ERR_THROTTLED where he follows too many already, or too many follow the same environment
   * @throws ERR_STOPPING after `stop`
   */
  enter(follower: Follower): () => void
  /** Ends all of them: the control center stops. */
  stop(): void
}

/** Chosen here: somebody has a page or two open, and a team looks at one environment. */
const MOST_OF_ONE = 10
const MOST_OF_ENVIRONMENT = 50
/** When a place may be free again, in seconds. */
const AGAIN = 30

export function createFollowers(): Followers {
  const followers = new Set<Follower>()
  let isStopped = false

  function needPlace({ who, environments, nameOf }: Follower): void {
    if (isStopped) throw new PlatformError('ERR_STOPPING', 'The control center is stopping.', { retryAfter: 5 })
    const all = [...followers]
    if (all.filter((one) => one.who === who).length >= MOST_OF_ONE) {
      throw refusal(
        `You follow ${MOST_OF_ONE} logs already: close a page or a program that follows one, and try again.`,
      )
    }
    const counts = new Map<string, number>()
    for (const one of all) for (const id of one.environments) counts.set(id, (counts.get(id) ?? 0) + 1)
    const full = environments.find((id) => (counts.get(id) ?? 0) >= MOST_OF_ENVIRONMENT)
    if (full === undefined) return
    throw refusal(
      `The log of "${nameOf(full)}" is followed ${MOST_OF_ENVIRONMENT} times already: follow the log of another ` +
        'environment, or read this one without following it, and try again later.',
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
