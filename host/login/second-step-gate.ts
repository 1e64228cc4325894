import type { AccountSourceName } from '../../base/accounts/account-source-name.ts'
import type { FactorAccount } from '../../base/accounts/factor-account.ts'
import type { RememberedUser, Series } from '../../base/accounts/remembered.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { Refusal } from '../../base/accounts/sign-in-steps.ts'
import type { User } from '../../base/accounts/users.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
import type { Login, Tenant } from '../../plugins/security/host.ts'
import type { Arrival, Asking } from './arrival.ts'
import type { Accepted } from './sign-in-answer.ts'

/** A sign-in whose first step succeeded, with everything that is needed to complete it in a later request. */
export type FirstStep = {
  readonly account: FactorAccount
  readonly login: Login
  readonly tenant: Tenant | null
  readonly locale: string
  /** The URL that a script set for the redirect after the sign-in: see `SignedIn`. */
  readonly showUrl: string | null
  readonly page: string
  readonly source: AccountSourceName
  readonly providerLogin: string | null
  readonly methods: readonly SignInMethod[]
  /** If not null, a remembered login is started. */
  readonly remember: Pick<RememberedUser, 'custom'> | null
  /** The account that this browser will be known for at the next sign-in, or null. */
  readonly knownAs: { readonly source: string; readonly username: string } | null
  /** The state of the user's password when it was checked; null if it isn't in the users table. */
  readonly password: Pick<User, 'passwordChangedAt' | 'mustChangePassword'> | null
  /** Whether the solution's script required a second step. */
  readonly isRaised: boolean
}

/**
 * Returns the state of the password that a script has checked; null unless the script also signed in this user of the
 * users table. Chosen here: `mustChangePassword` applies only to
 * sign-ins without a script, because a solution with an authenticator may not offer the page for a new password.
 */
export function passwordOf(
  { authenticated }: { readonly authenticated?: Effects['authenticated'] | null },
  { uid }: Pick<Login, 'uid'>,
): FirstStep['password'] {
  if (authenticated?.uid !== uid) return null
  return { passwordChangedAt: authenticated.passwordChangedAt, mustChangePassword: false }
}

/**
 * Decides whether a second step is needed. This happens after the first step of every sign-in, before a session starts.
 */
export interface SecondStepGate {
  /** @returns null if the sign-in is complete; otherwise a response that opens the page for the next step */
  check(arrival: Arrival, first: FirstStep): Promise<Refusal | null>
  /**
   * Whether a remembered login may be used again. The original sign-in must satisfy the policy that now applies to the
   * user. The account's source has already accepted the user.
   */
  allowsAgain(asking: Asking, series: Series, accepted: Pick<Accepted, 'login' | 'effects'>): Promise<boolean>
}
