/**
 * A way of signing in, as a row of a table: what it does in each step, or why it has none. `walkSignIn` walks the steps
 * in this order, so no way can leave one out. A step that returns a `Refusal` is the last one.
 *
 * `Asked` is what the browser sent; `Attempt` the same from its own page. `SignedIn` is what the last step needs. The
 * walk returns `Answer`: void if it sets the response.
 */
export interface WayOfSigningIn<Asked, Attempt, Accepted, SignedIn extends User, Parts, Answer = void> {
  /** Checks that this browser sent the request from the service's own page (CSRF). */
  readonly ownPage: (asked: Asked, parts: Parts) => Next<Attempt, Answer>
  /** Counts the attempt before its credentials are checked, so that parallel guesses all count. */
  readonly throttle: None | ((attempt: Attempt, parts: Parts) => Next<null, Answer>)
  /** Asks the source of the accounts who signs in. */
  readonly source: (attempt: Attempt, parts: Parts) => Next<Accepted, Answer>
  /** Starts the session. */
  readonly accept: (attempt: Attempt, accepted: Accepted, parts: Parts) => Next<SignedIn, Answer>
  /** Records how the sign-in ended, also if an earlier step refused it. */
  readonly audit: None | ((asked: Asked, ended: Ended, parts: Parts) => void | Promise<void>)
  /** Answers a user who is signed in. */
  readonly redirect: (asked: Asked, signedIn: SignedIn, parts: Parts) => Answer | Promise<Answer>
  /** The refusal for an error of `throttle`, `source` or `accept`. Throws errors that it has none for; default: all. */
  readonly failed?: (attempt: Attempt, error: unknown, parts: Parts) => Refusal<Answer>
}

/** The way has no such step, for this reason. */
export type None = { readonly none: string }

type User = { readonly username: string }

/** How a sign-in ended, for the audit. `outcome`: `ok`, `refused`, `throttled` or a code. */
export type Ended = User & {
  readonly outcome: string
  /** Whether anyone can repeat it without limit, so that it is recorded once a minute. */
  readonly isRepeatable?: boolean
}

/** Ends a sign-in. `answer` tells the user, after the audit. */
export class Refusal<Answer = void> {
  readonly ended: Ended | null
  readonly answer: () => Answer | Promise<Answer>

  /** @param ended null if nobody tried to sign in, or if the user has to do something else first */
  constructor(ended: Ended | null, answer: () => Answer | Promise<Answer>) {
    this.ended = ended
    this.answer = answer
  }
}

type Next<Value, Answer> = Value | Refusal<Answer> | Promise<Value | Refusal<Answer>>

export async function walkSignIn<Asked, Attempt, Accepted, SignedIn extends User, Parts, Answer>(
  way: WayOfSigningIn<Asked, Attempt, Accepted, SignedIn, Parts, Answer>,
  asked: Asked,
  parts: Parts,
): Promise<Answer> {
  const attempt = await way.ownPage(asked, parts)
  const result = attempt instanceof Refusal ? attempt : await tried(way, attempt, parts)
  const ended = result instanceof Refusal ? result.ended : { outcome: 'ok', username: result.username }
  if (ended !== null && !('none' in way.audit)) await way.audit(asked, ended, parts)
  return result instanceof Refusal ? result.answer() : way.redirect(asked, result, parts)
}

async function tried<Attempt, Accepted, SignedIn extends User, Parts, Answer>(
  way: WayOfSigningIn<never, Attempt, Accepted, SignedIn, Parts, Answer>,
  attempt: Attempt,
  parts: Parts,
): Promise<SignedIn | Refusal<Answer>> {
  try {
    const throttled = 'none' in way.throttle ? null : await way.throttle(attempt, parts)
    if (throttled !== null) return throttled
    const accepted = await way.source(attempt, parts)
    return accepted instanceof Refusal ? accepted : await way.accept(attempt, accepted, parts)
  } catch (error) {
    if (way.failed === undefined) throw error
    return way.failed(attempt, error, parts)
  }
}
