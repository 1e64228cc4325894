import { createSingleUseTokens } from '../../base/accounts/single-use-token.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Login } from '../../plugins/security/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import type { HostDatabase } from '../database/tables.ts'

/** A token that lets anyone who has it sign in to one solution. It can be used only once. */
export interface LoginTokens {
  /**
   * @param expiresInMs default `LOGIN_TOKEN_LIFETIME`, at most `LONGEST_LIFETIME`
   * @throws ERR_REQUEST_INVALID if the user and permissions are too long for a token
   */
  issue(solution: string, login: Login, expiresInMs?: number): { readonly token: string; readonly expiresAt: number }
  /**
   * Marks a token as used, on all hosts. The caller must check the token's permissions against those in the solution's
   * manifest.
   * @returns null if the token was not issued by this platform, is expired or was already used. Also null if the token
   *   is for another solution; it then remains unused
   */
  consume(solution: string, token: string): Promise<Login | null>
  /** Deletes expired records of used tokens of all kinds. */
  sweep(): Promise<void>
}

/** Maximum lifetime in ms. It is short, because a token is for a single sign-in, not a long-term credential. */
export const LONGEST_LIFETIME = 24 * 3_600_000
/** Maximum characters of a token. Tokens are sent in URLs and forms. */
const LONGEST = 4096

const Content = z.strictObject({ username: z.string(), uid: z.string(), permissions: z.array(z.string()) })

/** @param now returns the current time in epoch milliseconds */
export function createLoginTokens(
  db: HostDatabase,
  key: PlatformKey,
  limits: Pick<Limits, 'LOGIN_TOKEN_LIFETIME'>,
  now: () => number = Date.now,
): LoginTokens {
  const kind = { purpose: 'login-token', content: Content satisfies z.ZodType<Login>, longest: LONGEST }
  const tokens = createSingleUseTokens<Login>(db, key, kind, now)
  return {
    issue(solution, { username, uid, permissions }, expiresInMs = limits.LOGIN_TOKEN_LIFETIME) {
      return tokens.issue(solution, { username, uid, permissions }, Math.min(expiresInMs, LONGEST_LIFETIME))
    },
    consume: (solution, token) => tokens.consume(solution, token),
    sweep: () => tokens.sweep(),
  }
}
