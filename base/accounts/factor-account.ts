import { hash } from 'node:crypto'
import type { AccountSourceName } from './account-source-name.ts'

/**
 * The account that factors belong to. Accounts of the users table are the same in all solutions (`solution` is ''). All
 * other sources have separate accounts in each solution, because the solution's scripts choose the uids.
 */
export type FactorAccount = { readonly source: AccountSourceName; readonly solution: string; readonly uid: string }

export function factorAccount(source: AccountSourceName, solution: string, uid: string): FactorAccount {
  return { source, solution: source === 'users' ? '' : solution, uid }
}

/** The primary key of the account. It is a hash, because a uid can be too long for a key. */
export function accountId({ source, solution, uid }: FactorAccount): string {
  return hash('sha256', JSON.stringify([source, solution, uid]), 'hex')
}
