import type { Context } from 'koa'

/** What a sign-in with the admin account's password needs in addition. */
export interface AdminSecondStep {
  /** Whether the password alone is not enough. */
  isNeeded(): Promise<boolean>
  /**
   * Starts the second step of a sign-in whose password was right.
   * @param to the path to go to afterwards
   * @returns the path of its page; null if the sign-in is complete
   */
  begin(ctx: Context, to: string): Promise<string | null>
}
