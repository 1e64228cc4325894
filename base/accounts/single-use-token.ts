import { randomBytes } from 'node:crypto'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { PlatformKey } from '../config/platform-key.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'
import { readSigned, writeSigned } from './signed-text.ts'

/**
 * Signed tokens of one kind. Each is valid for one solution and a limited time, and can be used only once across all
 * hosts.
 */
export interface SingleUseTokens<Content extends object> {
  /**
   * @param lifetime in ms
   * @throws ERR_REQUEST_INVALID if the content is too long for a token
   */
  issue(solution: string, content: Content, lifetime: number): { readonly token: string; readonly expiresAt: number }
  /**
   * Marks a token as used.
   * @param isMeant a further condition. If it returns false, the token is not marked as used.
   * @returns null if the token is of another kind, has expired, was used before, or is for another solution. A token
   * for another solution is not marked as used.
   */
  consume(solution: string, token: string, isMeant?: (content: Content) => boolean): Promise<Content | null>
  /** Deletes the records of used tokens of all kinds that have expired. */
  sweep(): Promise<void>
}

export type TokenKind<Content extends object> = {
  /** Distinguishes the kinds of tokens: it is part of the signature, and of the id of a used token's record. */
  readonly purpose: string
  /** The schema must reject unknown keys. */
  readonly content: z.ZodType<Content>
  /** Maximum length of a token, in characters. */
  readonly longest: number
}

/** How long the record of a used token is kept after the token expires, in ms, because the hosts' clocks differ. */
const CLOCK_SKEW = 3_600_000

const Frame = z.looseObject({ id: z.string(), solution: z.string(), expiresAt: z.int() })

/** @param now returns the current time in epoch milliseconds */
export function createSingleUseTokens<Content extends object>(
  db: Database,
  key: PlatformKey,
  { purpose, content: contents, longest }: TokenKind<Content>,
  now: () => number = Date.now,
): SingleUseTokens<Content> {
  function read(token: string) {
    const frame = Frame.safeParse(readSigned(key, purpose, token, longest))
    if (!frame.success) return null
    const { id, solution, expiresAt, ...rest } = frame.data
    const content = contents.safeParse(rest)
    return content.success ? { id, solution, expiresAt, content: content.data } : null
  }

  return {
    issue(solution, content, lifetime) {
      const expiresAt = now() + lifetime
      const id = randomBytes(18).toString('base64url')
      const token = writeSigned(key, purpose, { ...content, id, solution, expiresAt })
      if (token.length <= longest) return { token, expiresAt }
      throw new PlatformError(
        'ERR_REQUEST_INVALID',
        `The token would have ${token.length} characters, but at most ${longest} are allowed. Send fewer permissions.`,
      )
    },
    async consume(solution, token, isMeant = () => true) {
      const found = read(token)
      if (found === null || found.solution !== solution || found.expiresAt <= now()) return null
      if (!isMeant(found.content)) return null
      const used = { id: `${purpose} ${found.id}`, expires_at: found.expiresAt }
      return (await insertOnce(db, 'used_tokens', used)) ? found.content : null
    },
    async sweep() {
      await db
        .deleteFrom('used_tokens')
        .where('expires_at', '<', now() - CLOCK_SKEW)
        .execute()
    },
  }
}
