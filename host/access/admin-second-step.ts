import type { Context } from 'koa'

/** The second step of a sign-in with the admin account's password. */
export interface AdminSecondStep {
  /** Whether a sign-in needs a second step after the password. */
  isNeeded(): Promise<boolean>
  /**
   * Starts the second step of a sign-in after the password was accepted.
   * @param to the path to go to afterwards
   * @returns the path of the page for the second step; null if the sign-in is complete
   */
  begin(ctx: Context, to: string): Promise<string | null>
}
