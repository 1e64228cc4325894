import type { Context } from 'koa'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { User } from '../../base/accounts/users.ts'

/** A sign-in that has passed its first step. */
export type FirstStep = {
  readonly methods: readonly SignInMethod[]
  /** The page to go to afterwards. */
  readonly to: string
  /** Whether the user may set up a factor without a mailed code. */
  readonly isProved?: boolean
}

/** Every sign-in passes this gate before its session starts. */
export interface SecondStepGate {
  /**
   * @returns null if the sign-in is complete; otherwise the path of the page for the next step, after setting the
   *   browser's cookie for that step
   */
  begin(ctx: Context, user: User, first: FirstStep): Promise<string | null>
}
