import type { Context } from 'koa'
import type { FactorParts } from '../../base/accounts/check-factor.ts'
import type { FactorAccount } from '../../base/accounts/factor-account.ts'
import type { FoundSignIn, OpenSignIns } from '../../base/accounts/open-sign-ins.ts'
import { stateOf } from '../../base/http/request.ts'
import type { AdminAccount } from '../access/account.ts'
import type { AdminSecondStep } from '../access/admin-second-step.ts'
import type { Audit, AuditAction } from '../access/audit.ts'
import { readStepCookies, setStepCookie } from '../access/page-cookie.ts'
import type { AdminFactorMode } from '../config/settings.ts'

/**
 * The admin account's factors. They are the same on all hosts of the platform. Changing the password doesn't remove
 * them.
 */
export const ADMIN_FACTORS: FactorAccount = { source: 'admin', solution: '', uid: 'admin' }

/**
 * The realm of sign-ins to the admin pages. Other sign-ins store their solution's name there. No solution can have this
 * name, because solutions' names are in lower case.
 */
export const REALM = 'Admin-Pages'

/** A sign-in to the admin pages after the correct password was entered. */
export type AdminSignIn = {
  readonly account: FactorAccount
  /** The fingerprint of the admin account whose password was entered. */
  readonly fingerprint: string
  /** The path to go to afterwards. */
  readonly to: string
  /** Whether the operator has set up a factor or passed the second step during this sign-in. */
  readonly isDone: boolean
}

export type FoundAdminSignIn = FoundSignIn<AdminSignIn>

export interface AdminFactors extends AdminSecondStep {
  readonly mode: AdminFactorMode
  hasFactor(): Promise<boolean>
  /** The sign-in that this browser started. Null if there is none, or the password has changed since. */
  find(ctx: Context): Promise<FoundAdminSignIn | null>
}

export type AdminFactorsParts = Pick<FactorParts, 'factors'> & {
  readonly mode: AdminFactorMode
  readonly admin: Pick<AdminAccount, 'fingerprint'>
  readonly openSignIns: OpenSignIns<AdminSignIn>
}

export function createAdminFactors({ mode, admin, factors, openSignIns }: AdminFactorsParts): AdminFactors {
  const hasFactor = async () => (await factors.of(ADMIN_FACTORS)).factors.length > 0

  return {
    mode,
    hasFactor,
    isNeeded: async () => mode !== 'off' && (await hasFactor()),
    async begin(ctx, to) {
      if (mode === 'off') return null
      const has = await hasFactor()
      if (mode === 'optional' && !has) return null
      const open = { account: ADMIN_FACTORS, fingerprint: admin.fingerprint, to, isDone: false }
      setStepCookie(ctx, await openSignIns.start(REALM, open))
      return has ? '/admin/second-step' : '/admin/set-up'
    },
    async find(ctx) {
      const found = await openSignIns.find(REALM, readStepCookies(ctx))
      return found?.open.fingerprint === admin.fingerprint ? found : null
    },
  }
}

/** Records in the audit log that a factor of the admin account was used or changed. */
export function noteAdmin(
  ctx: Context,
  action: AuditAction,
  outcome: string,
  { audit }: { readonly audit: Audit },
  target?: string,
): void {
  const { client, correlationId } = stateOf(ctx)
  const facts = { actor: 'admin', action, outcome, address: client.address, correlationId }
  audit.note(target === undefined ? facts : { ...facts, target })
}
