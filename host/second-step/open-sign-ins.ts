import type { MailedCode } from '../../base/accounts/mailed-code.ts'
import type { FoundSignIn as Found, OpenSignIns as Store } from '../../base/accounts/open-sign-ins.ts'
import type { FirstStep } from '../login/second-step-gate.ts'

/** A sign-in that waits for its next step. `isPostponed`: the user chose "Not now" at the set-up. */
export type OpenSignIn = FirstStep & {
  readonly isPostponed: boolean
  /** Whether the user has given the proof that setting up a factor requires: see set-up-proof.ts. */
  readonly isProved?: boolean
  /** The code for this proof, which was mailed to the user. */
  readonly code?: MailedCode | null
}

export type FoundSignIn = Found<OpenSignIn>
export type OpenSignIns = Store<OpenSignIn>
