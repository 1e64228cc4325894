import type { Context } from 'koa'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { User } from '../../base/accounts/users.ts'

/** A sign-in that has passed its first step. */
export type FirstStep = {
  readonly methods: readonly SignInMethod[]
  /** The path of the page to show after the sign-in. */
  readonly to: string
  /** Whether the user may set up a factor without a mailed code. */
  readonly isProved?: boolean
}

/** Every sign-in passes this gate before its session starts. */
export interface SecondStepGate {
  /**
   * Checks whether the sign-in needs a second step. If so, sets the cookie that identifies the sign-in.
   * @returns the path of the page for the next step; null if the sign-in is complete
   */
  begin(ctx: Context, user: User, first: FirstStep): Promise<string | null>
}
