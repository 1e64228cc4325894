import { randomBytes } from 'node:crypto'
import { isSameSecret } from '../../base/accounts/same-secret.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { firstRows } from '../../base/database/portable.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { OAuthConfiguration } from './configuration.ts'
import type { Provider } from './provider.ts'

/** A sign-in in progress: the data that the host needs when the browser returns from the provider. */
export type Transaction = {
  /** This id is also sent as the parameter `state`. A cookie binds the transaction to the browser. */
  readonly id: string
  readonly solution: string
  /** Path and query of the requested page. */
  readonly returnTo: string
  /** When the sign-in started, in epoch ms. */
  readonly startedAt: number
  readonly content: TransactionContent
}

export type TransactionContent = {
  readonly configuration: OAuthConfiguration
  /**
   * The provider as discovered when the sign-in started, so that a change in the discovery document doesn't affect a
   * sign-in in progress.
   */
  readonly provider: Provider
  readonly redirectUri: string
  readonly nonce: string
  /** PKCE's code verifier (RFC 7636). */
  readonly verifier: string | null
}

/** The result of `take`. `used` means that the transaction has already been used, by this browser or another one. */
export type TakenTransaction =
  | { readonly kind: 'taken'; readonly transaction: Transaction }
  | { readonly kind: 'used'; readonly returnTo: string }
  | { readonly kind: 'unknown' }

/** OAuth sign-ins in progress, shared by all hosts. They expire after `OAUTH_TRANSACTION`. */
export interface Transactions {
  /**
   * If a network has more than `OAUTH_OPEN_NETWORK` transactions in a solution, the oldest ones are deleted.
   * @returns the id, and the value of the cookie that binds it to the browser
   */
  start(begun: NewTransaction): Promise<{ readonly id: string; readonly cookie: string }>
  /** Marks a transaction as used on all hosts. Has no effect without the right cookie. */
  take(solution: string, id: string, cookie: string | undefined): Promise<TakenTransaction>
  sweep(): Promise<void>
}

export type NewTransaction = {
  readonly solution: string
  readonly network: string
  readonly returnTo: string
  readonly content: TransactionContent
}

/** Ids start with the time: sorting the cookies by name finds the browser's oldest transaction. */
function newTransactionId(now: number): string {
  return `${Math.floor(now / 1000)
    .toString(36)
    .padStart(7, '0')}${randomBytes(18).toString('base64url')}`
}

/** @param now returns the current time in epoch milliseconds */
export function createTransactions(
  db: HostDatabase,
  key: PlatformKey,
  limits: Pick<Limits, 'OAUTH_TRANSACTION' | 'OAUTH_OPEN_NETWORK'>,
  now: () => number = Date.now,
): Transactions {
  const purposeOf = (solution: string, id: string) => `oauth-transaction ${solution} ${id}`

  async function dropOldest(solution: string, network: string): Promise<void> {
    const { count } = await db
      .selectFrom('oauth_transactions')
      .select(({ fn }) => fn.countAll<number | string>().as('count'))
      .where('solution', '=', solution)
      .where('network', '=', network)
      .executeTakeFirstOrThrow()
    const surplus = Number(count) - limits.OAUTH_OPEN_NETWORK
    if (surplus <= 0) return
    const oldest = db
      .selectFrom('oauth_transactions')
      .select('id')
      .where('solution', '=', solution)
      .where('network', '=', network)
      .orderBy('created_at')
    const ids = (await firstRows(db, oldest, surplus).execute()).map(({ id }) => id)
    if (ids.length > 0) await db.deleteFrom('oauth_transactions').where('id', 'in', ids).execute()
  }

  return {
    async start({ solution, network, returnTo, content }) {
      const id = newTransactionId(now())
      const cookie = randomBytes(32).toString('base64url')
      await db
        .insertInto('oauth_transactions')
        .values({
          id,
          solution,
          network,
          browser_hash: storedHash(cookie),
          return_to: returnTo,
          content: key.encrypt(purposeOf(solution, id), JSON.stringify(content)),
          created_at: now(),
          used_at: null,
        })
        .execute()
      await dropOldest(solution, network)
      return { id, cookie }
    },
    async take(solution, id, cookie) {
      const row = await db
        .selectFrom('oauth_transactions')
        .selectAll()
        .where('id', '=', id)
        .where('solution', '=', solution)
        .executeTakeFirst()
      if (row === undefined || row.created_at + limits.OAUTH_TRANSACTION <= now()) return { kind: 'unknown' }
      // Return the page without checking the cookie, which the browser no longer has. The page is not a secret: any
      // link can open pages of the solution.
      if (row.used_at !== null) return { kind: 'used', returnTo: row.return_to }
      if (cookie === undefined || !isSameSecret(storedHash(cookie), row.browser_hash)) return { kind: 'unknown' }
      const { numUpdatedRows } = await db
        .updateTable('oauth_transactions')
        .set({ used_at: now(), content: '' })
        .where('id', '=', id)
        .where('used_at', 'is', null)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return { kind: 'used', returnTo: row.return_to }
      const content = key.decrypt(purposeOf(solution, id), row.content)
      if (content === null) return { kind: 'unknown' }
      const transaction = { id, solution, returnTo: row.return_to, startedAt: row.created_at }
      return { kind: 'taken', transaction: { ...transaction, content: JSON.parse(content) as TransactionContent } }
    },
    async sweep() {
      await db
        .deleteFrom('oauth_transactions')
        .where('created_at', '<', now() - limits.OAUTH_TRANSACTION)
        .execute()
    },
  }
}
