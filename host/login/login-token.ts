import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import type { Login } from '../../plugins/security/host.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { PlatformKey } from '../config/platform-key.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'

/** A token that signs its bearer in to one solution, once. */
export interface LoginTokens {
  /**
   * @param expiresInMs default `LOGIN_TOKEN_LIFETIME`, at most `LONGEST_LIFETIME`
   * @throws ERR_REQUEST_INVALID when user and permissions are too much for a token
   */
  issue(solution: string, login: Login, expiresInMs?: number): { readonly token: string; readonly expiresAt: number }
  /**
   * Uses a token up, on all hosts. The caller checks the permissions against those of the solution's manifest.
   * @returns null when the token is none of this platform's, expired, used before, or for another solution: the last does
   *   not use it up
   */
  consume(solution: string, token: string): Promise<Login | null>
  /** Forgets used tokens that nobody could use any more. */
  sweep(): Promise<void>
}

/** In ms: a token is a way to hand over a sign-in, not a lasting right. */
export const LONGEST_LIFETIME = 24 * 3_600_000
/** Characters: it travels in an address and in a form. */
const LONGEST = 4096
/** Clocks of hosts differ: what was used is remembered for this long after its time, in ms. */
const CLOCK_SKEW = 3_600_000
const PURPOSE = 'login-token'

const Content = z.strictObject({
  id: z.string(),
  solution: z.string(),
  username: z.string(),
  uid: z.string(),
  permissions: z.array(z.string()),
  expiresAt: z.int(),
})

/** @param now the clock, in epoch milliseconds */
export function createLoginTokens(
  db: Database,
  key: PlatformKey,
  limits: Pick<Limits, 'LOGIN_TOKEN_LIFETIME'>,
  now: () => number = Date.now,
): LoginTokens {
  function read(token: string): z.infer<typeof Content> | null {
    if (token.length > LONGEST) return null
    const [, text = '', signature = ''] = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(token) ?? []
    // Checked before it is read: only what this platform wrote is parsed. Another version may have written other things.
    if (!key.verify(PURPOSE, text, signature)) return null
    const content = Content.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
    return content.success ? content.data : null
  }

  return {
    issue(solution, { username, uid, permissions }, expiresInMs = limits.LOGIN_TOKEN_LIFETIME) {
      const expiresAt = now() + Math.min(expiresInMs, LONGEST_LIFETIME)
      const id = randomBytes(18).toString('base64url')
      const content = { id, solution, username, uid, permissions: [...permissions], expiresAt }
      const text = Buffer.from(JSON.stringify(content satisfies z.infer<typeof Content>)).toString('base64url')
      const token = `${text}.${key.sign(PURPOSE, text)}`
      if (token.length <= LONGEST) return { token, expiresAt }
      throw new PlatformError(
        'ERR_REQUEST_INVALID',
        `The token would have ${token.length} characters; ${LONGEST} are possible. Give fewer permissions.`,
      )
    },
    async consume(solution, token) {
      const content = read(token)
      if (content === null || content.solution !== solution || content.expiresAt <= now()) return null
      const isFirst = await insertOnce(db, 'used_tokens', {
        id: `${PURPOSE} ${content.id}`,
        expires_at: content.expiresAt,
      })
      const { username, uid, permissions } = content
      return isFirst ? { username, uid, permissions } : null
    },
    async sweep() {
      await db
        .deleteFrom('used_tokens')
        .where('expires_at', '<', now() - CLOCK_SKEW)
        .execute()
    },
  }
}
