import type { FoundSignIn as Found, OpenSignIns as Store } from '../../base/accounts/open-sign-ins.ts'
import type { FirstStep } from '../login/second-step-gate.ts'

/** A sign-in that waits for its next step. `isPostponed`: the user chose "Not now" at the set-up. */
export type OpenSignIn = FirstStep & {
  readonly isPostponed: boolean
  /** Whether the user has shown what the set-up of a factor needs: see set-up-proof.ts. */
  readonly isProved?: boolean
  /** The code for that, which was mailed to the user. */
  readonly code?: { readonly text: string; readonly expiresAt: number } | null
}

export type FoundSignIn = Found<OpenSignIn>
export type OpenSignIns = Store<OpenSignIn>
