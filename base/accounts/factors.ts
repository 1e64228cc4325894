import { randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { Limits } from '../../runtime/limits.ts'
import { deletedAny } from '../database/deleted-any.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'
import { prepareQuery } from '../database/prepared-query.ts'
import type { Tables } from '../database/tables.ts'
import { accountId, type FactorAccount } from './factor-account.ts'

/** A factor as its owner and the operator see it. Times are in epoch ms. */
export type Factor = {
  readonly id: string
  readonly kind: 'app' | 'passkey'
  readonly name: string
  /** The domain where a passkey works; null for an authenticator app. */
  readonly rpId: string | null
  /** Whether a passkey is synced to the user's other devices. */
  readonly isSynced: boolean
  readonly createdAt: number
  readonly lastUsedAt: number | null
  /** When the host stopped accepting the passkey, because it seems to have been copied; otherwise null. */
  readonly refusedAt: number | null
}

export type FactorSet = {
  readonly factors: readonly Factor[]
  /** Whether too many wrong codes in a row locked the authenticator app. */
  readonly isAppLocked: boolean
  readonly recoveryCodesLeft: number
  /** When the user was first asked to set up a factor; null if never. */
  readonly firstAskedAt: number | null
}

/** Stores which accounts have which factors. Contains the operations that all kinds of factors share. */
export interface Factors {
  of(account: FactorAccount): Promise<FactorSet>
  /** @returns the number of factors by account id; accounts without factors are left out */
  counts(accounts: readonly FactorAccount[]): Promise<ReadonlyMap<string, number>>
  /** Returns the account's id and its WebAuthn user handle, a random id. Creates the account if it is new. */
  open(account: FactorAccount): Promise<{ readonly id: string; readonly userHandle: string }>
  /** Records that the user was asked to set up a factor. @returns when they were first asked, in epoch ms */
  noteAsked(account: FactorAccount): Promise<number>
  /** Counts a wrong code. */
  noteWrong(account: FactorAccount): Promise<void>
  /** Resets the count of wrong codes, which also unlocks the authenticator app. */
  unlock(account: FactorAccount): Promise<void>
  /**
   * Removes one factor. Removing the last factor also removes the recovery codes. @returns false if it doesn't exist
   */
  remove(account: FactorAccount, id: string): Promise<boolean>
  /** Removes all factors and recovery codes, and ends the grace period, as if the account had never had any. */
  reset(account: FactorAccount): Promise<void>
}

const EMPTY: FactorSet = { factors: [], isAppLocked: false, recoveryCodesLeft: 0, firstAskedAt: null }

/** @param now returns the current time in epoch milliseconds */
export function createFactors(db: Database, limits: Limits, now: () => number = Date.now): Factors {
  // Every sign-in runs this query, so it is prepared.
  const stateOf = prepareQuery(['id'], ({ id }) =>
    db.selectFrom('factor_accounts').select(['first_asked_at', 'wrong_tries']).where('id', '=', id),
  )

  async function open(account: FactorAccount): ReturnType<Factors['open']> {
    const id = accountId(account)
    const fresh = {
      id,
      ...account,
      user_handle: randomBytes(32).toString('base64url'),
      first_asked_at: null,
      wrong_tries: 0,
      last_login_at: null,
      created_at: now(),
    }
    if (await insertOnce(db, 'factor_accounts', fresh)) return { id, userHandle: fresh.user_handle }
    const row = await db.selectFrom('factor_accounts').select('user_handle').where('id', '=', id).executeTakeFirst()
    // Another request may have reset the account in the meantime.
    return row === undefined ? open(account) : { id, userHandle: row.user_handle }
  }

  async function change(account: FactorAccount, set: Partial<Tables['factor_accounts']>): Promise<void> {
    await db.updateTable('factor_accounts').set(set).where('id', '=', accountId(account)).execute()
  }

  return {
    async of(account) {
      const id = accountId(account)
      const [row] = (await stateOf.run(db, { id })).rows
      if (row === undefined) return EMPTY
      const factors = await db
        .selectFrom('factors')
        .select(['id', 'kind', 'name', 'rp_id', 'synced', 'created_at', 'last_used_at', 'refused_at'])
        .where('account', '=', id)
        .orderBy('created_at')
        .execute()
      const left = await db
        .selectFrom('recovery_codes')
        .select(({ fn }) => fn.countAll<number>().as('left'))
        .where('account', '=', id)
        .where('used_at', 'is', null)
        .executeTakeFirstOrThrow()
      return {
        factors: factors.map(factorOf),
        isAppLocked: row.wrong_tries >= limits.FACTOR_LOCK,
        recoveryCodesLeft: Number(left.left),
        firstAskedAt: row.first_asked_at,
      }
    },
    async counts(accounts) {
      if (accounts.length === 0) return new Map()
      const rows = await db
        .selectFrom('factors')
        .select(({ fn }) => ['account', fn.countAll<number>().as('count')])
        .where('account', 'in', accounts.map(accountId))
        .groupBy('account')
        .execute()
      return new Map(rows.map(({ account, count }) => [account, Number(count)]))
    },
    open,
    async noteAsked(account) {
      const { id } = await open(account)
      const asked = db.updateTable('factor_accounts').set({ first_asked_at: now() })
      await asked.where('id', '=', id).where('first_asked_at', 'is', null).execute()
      const row = await db
        .selectFrom('factor_accounts')
        .select('first_asked_at')
        .where('id', '=', id)
        .executeTakeFirst()
      return row?.first_asked_at ?? now()
    },
    async noteWrong(account) {
      await db
        .updateTable('factor_accounts')
        .set((row) => ({ wrong_tries: row('wrong_tries', '+', 1) }))
        .where('id', '=', accountId(account))
        .execute()
    },
    unlock: (account) => change(account, { wrong_tries: 0 }),
    async remove(account, factor) {
      const id = accountId(account)
      const isRemoved = await deletedAny(db.deleteFrom('factors').where('account', '=', id).where('id', '=', factor))
      const rest = await db.selectFrom('factors').select('id').where('account', '=', id).execute()
      // Recovery codes are a substitute for a lost factor. If an account has no factors, no page accepts its recovery
      // codes.
      if (rest.length === 0) await db.deleteFrom('recovery_codes').where('account', '=', id).execute()
      return isRemoved
    },
    async reset(account) {
      await db.deleteFrom('factor_accounts').where('id', '=', accountId(account)).execute()
    },
  }
}

type FactorRow = Pick<
  Selectable<Tables['factors']>,
  'id' | 'kind' | 'name' | 'rp_id' | 'synced' | 'created_at' | 'last_used_at' | 'refused_at'
>

function factorOf(row: FactorRow): Factor {
  return {
    id: row.id,
    kind: row.kind as Factor['kind'],
    name: row.name,
    rpId: row.rp_id,
    isSynced: row.synced === 1,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    refusedAt: row.refused_at,
  }
}
