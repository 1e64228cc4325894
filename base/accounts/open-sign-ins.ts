import { randomBytes } from 'node:crypto'
import type { Limits } from '../../runtime/limits.ts'
import type { PlatformKey } from '../config/platform-key.ts'
import type { Database } from '../database/open.ts'
import { storedHash } from '../database/stored-hash.ts'
import { accountId, type FactorAccount } from './factor-account.ts'

export type FoundSignIn<Open> = {
  readonly idHash: string
  readonly solution: string
  readonly open: Open
}

/**
 * Sign-ins that have passed their first step but have no session yet. They are stored separately from sessions: a
 * browser with an open sign-in can only open the pages for its next steps.
 */
export interface OpenSignIns<Open> {
  /** @returns the cookie's value: 256 random bits. Only their hash is stored. */
  start(solution: string, open: Open): Promise<string>
  /** @returns null if it expired, was completed or had too many failed attempts, or belongs to another solution */
  find(solution: string, cookies: readonly string[]): Promise<FoundSignIn<Open> | null>
  /** Stores the progress of a sign-in. */
  change(found: FoundSignIn<Open>, open: Open): Promise<FoundSignIn<Open>>
  /** Counts a failed attempt. @returns the number of attempts left; at 0, the sign-in has ended */
  noteWrong(found: FoundSignIn<Open>): Promise<number>
  /** Ends a sign-in. If several callers try, even on different hosts, exactly one of them gets true. */
  finish(found: FoundSignIn<Open>): Promise<boolean>
  /** Ends the account's sign-ins, except one. */
  endOfAccount(account: FactorAccount, except: FoundSignIn<Open> | null): Promise<void>
  /** Deletes expired sign-ins. */
  sweep(): Promise<void>
}

/** @param now returns the current time in epoch milliseconds */
export function createOpenSignIns<Open extends { readonly account: FactorAccount }>(
  db: Database,
  key: PlatformKey,
  limits: Limits,
  now: () => number = Date.now,
): OpenSignIns<Open> {
  const purposeOf = (solution: string, idHash: string) => `open-sign-in ${solution} ${idHash}`

  async function read(solution: string, cookie: string): Promise<FoundSignIn<Open> | null> {
    const idHash = storedHash(cookie)
    const row = await db.selectFrom('open_sign_ins').selectAll().where('id_hash', '=', idHash).executeTakeFirst()
    const isOver = row === undefined || row.ended_at !== null || row.expires_at <= now()
    if (isOver || row.solution !== solution || row.wrong_tries >= limits.SECOND_STEP_TRIES) return null
    const content = key.decrypt(purposeOf(solution, idHash), row.content)
    return content === null ? null : { idHash, solution, open: JSON.parse(content) as Open }
  }

  return {
    async start(solution, open) {
      const cookie = randomBytes(32).toString('base64url')
      const idHash = storedHash(cookie)
      await db
        .insertInto('open_sign_ins')
        .values({
          id_hash: idHash,
          solution,
          account: accountId(open.account),
          content: key.encrypt(purposeOf(solution, idHash), JSON.stringify(open)),
          wrong_tries: 0,
          expires_at: now() + limits.SECOND_STEP_TIME,
          ended_at: null,
        })
        .execute()
      return cookie
    },
    async find(solution, cookies) {
      for (const cookie of cookies) {
        const found = await read(solution, cookie)
        if (found !== null) return found
      }
      return null
    },
    async change({ idHash, solution }, open) {
      const content = key.encrypt(purposeOf(solution, idHash), JSON.stringify(open))
      const update = db.updateTable('open_sign_ins').set({ content }).where('id_hash', '=', idHash)
      await update.where('ended_at', 'is', null).execute()
      return { idHash, solution, open }
    },
    async noteWrong({ idHash }) {
      await db
        .updateTable('open_sign_ins')
        .set((row) => ({ wrong_tries: row('wrong_tries', '+', 1) }))
        .where('id_hash', '=', idHash)
        .execute()
      const row = await db
        .selectFrom('open_sign_ins')
        .select('wrong_tries')
        .where('id_hash', '=', idHash)
        .executeTakeFirst()
      return Math.max(limits.SECOND_STEP_TRIES - (row?.wrong_tries ?? limits.SECOND_STEP_TRIES), 0)
    },
    async finish({ idHash }) {
      const { numUpdatedRows } = await db
        .updateTable('open_sign_ins')
        // The content is no longer needed and may include personal data, so it is erased.
        .set({ ended_at: now(), content: '' })
        .where('id_hash', '=', idHash)
        .where('ended_at', 'is', null)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },
    endOfAccount: (account, except) => endOpenSignIns(db, account, except?.idHash),
    async sweep() {
      await db.deleteFrom('open_sign_ins').where('expires_at', '<', now()).execute()
    },
  }
}

/** Ends the account's sign-ins. @param except the id of a sign-in to keep */
export async function endOpenSignIns(db: Database, account: FactorAccount, except?: string): Promise<void> {
  const all = db.deleteFrom('open_sign_ins').where('account', '=', accountId(account))
  await (except === undefined ? all : all.where('id_hash', '!=', except)).execute()
}
