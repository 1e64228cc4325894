/**
 * A sign-in method: a function for each step, or the reason why the method doesn't have that step. `walkSignIn` runs
 * the steps in this order, so that no method can skip one. A step that returns a `Refusal` ends the sign-in.
 * - `Asked`: the data that the browser sent.
 * - `Attempt`: the same data, after `ownPage` has checked it.
 * - `SignedIn`: the input for the last step.
 * - `Answer`: the result of the whole sign-in; void if the method sets the response itself.
 */
export interface WayOfSigningIn<Asked, Attempt, Accepted, SignedIn extends User, Parts, Answer = void> {
  /** Checks that this browser sent the request from the service's own page (CSRF). */
  readonly ownPage: (asked: Asked, parts: Parts) => Next<Attempt, Answer>
  /** Counts the attempt before its credentials are checked, so that parallel guesses are all counted. */
  readonly throttle: None | ((attempt: Attempt, parts: Parts) => Next<null, Answer>)
  /** Finds out from the account's source who the user is. */
  readonly source: (attempt: Attempt, parts: Parts) => Next<Accepted, Answer>
  /**
   * Requests a second step if the policy requires one, before anything is stored. Returns null if the sign-in may
   * continue.
   */
  readonly secondStep: None | ((attempt: Attempt, accepted: Accepted, parts: Parts) => Next<null, Answer>)
  /** Starts the session. */
  readonly accept: (attempt: Attempt, accepted: Accepted, parts: Parts) => Next<SignedIn, Answer>
  /** Records the outcome in the audit log, even if an earlier step rejected the sign-in. */
  readonly audit: None | ((asked: Asked, ended: Ended, parts: Parts) => void | Promise<void>)
  /** Responds to a user who is now signed in. */
  readonly redirect: (asked: Asked, signedIn: SignedIn, parts: Parts) => Answer | Promise<Answer>
  /**
   * Maps an error thrown by `throttle`, `source` or `accept` to a refusal. Rethrows unexpected errors. If this function
   * is absent, no error is caught.
   */
  readonly failed?: (attempt: Attempt, error: unknown, parts: Parts) => Refusal<Answer>
}

/** Why the method doesn't have this step. */
export type None = { readonly none: string }

type User = { readonly username: string }

/** The outcome of a sign-in, for the audit log. `outcome`: `ok`, `refused`, `throttled` or a code. */
export type Ended = User & {
  readonly outcome: string
  /** Whether anyone can cause this outcome repeatedly. The audit log then records it at most once a minute. */
  readonly isRepeatable?: boolean
}

/** Ends a sign-in. `answer` responds to the user after the outcome is recorded. */
export class Refusal<Answer = void> {
  readonly ended: Ended | null
  readonly answer: () => Answer | Promise<Answer>

  /** @param ended null if no sign-in was attempted, or if the user has to do something else first */
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
    if (accepted instanceof Refusal) return accepted
    const waits = 'none' in way.secondStep ? null : await way.secondStep(attempt, accepted, parts)
    return waits ?? (await way.accept(attempt, accepted, parts))
  } catch (error) {
    if (way.failed === undefined) throw error
    return way.failed(attempt, error, parts)
  }
}
