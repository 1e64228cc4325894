import { type FactorAccount, factorAccount } from '../../base/accounts/factor-account.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { Session } from '../../base/accounts/sessions.ts'
import { hasSecondStep } from '../../base/accounts/sign-in-methods.ts'
import type { Limits } from '../../runtime/limits.ts'

/** Decides whether users must confirm their identity before a sensitive change. */
export interface Confirmations {
  /**
   * Whether the user must confirm their identity now. A recent sign-in or confirmation is sufficient. Users with a
   * second factor must also have used one in this session.
   */
  isNeeded(session: Pick<Session, 'uid' | 'methods' | 'confirmedAt'>): Promise<boolean>
  /**
   * Whether the user has a second factor. Chosen here: this includes factors that can't be used on this server, such as
   * a passkey for another domain.
   */
  hasFactor(uid: string): Promise<boolean>
}

/** The account that a person's second factors belong to. A person has the same account in all organisations. */
export function personsFactors(uid: string): FactorAccount {
  return factorAccount('users', '', uid)
}

export function createConfirmations(
  factors: Pick<Factors, 'counts'>,
  limits: Pick<Limits, 'CONFIRMED_FOR'>,
): Confirmations {
  const hasFactor = async (uid: string) => (await factors.counts([personsFactors(uid)])).size > 0
  return {
    hasFactor,
    async isNeeded({ uid, methods, confirmedAt }) {
      if (confirmedAt === null || confirmedAt + limits.CONFIRMED_FOR <= Date.now()) return true
      return !hasSecondStep(methods) && (await hasFactor(uid))
    },
  }
}
