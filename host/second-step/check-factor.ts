import type { AuthenticatorApps } from '../../base/accounts/authenticator-app.ts'
import { accountId, type FactorAccount } from '../../base/accounts/factor-account.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { RecoveryCodes } from '../../base/accounts/recovery-codes.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import type { FactorThrottle } from '../../base/accounts/throttle.ts'
import type { Arrival } from '../login/arrival.ts'
import type { PasskeyPurpose, PasskeyRequests } from '../login/passkey-requests.ts'

export type FactorParts = {
  readonly factors: Factors
  readonly apps: AuthenticatorApps
  readonly recoveryCodes: RecoveryCodes
  readonly factorThrottle: FactorThrottle
  readonly passkeyRequests: PasskeyRequests
}

/** What the user entered. */
export type Entered = { readonly kind: 'totp' | 'recovery-code'; readonly code: string }

/**
 * `throttled`: seconds until the next try. `locked`: the app's codes don't count until the account is unlocked.
 * `passkey`: the passkey was refused. `copied`: it was refused because there is a copy of it.
 */
export type FactorAnswer =
  | { readonly kind: 'right'; readonly method: SignInMethod; readonly recoveryCodesLeft: number | null }
  | { readonly kind: 'wrong' | 'locked' | 'passkey' | 'copied' }
  | { readonly kind: 'throttled'; readonly seconds: number }

/** The factor that a form contains. */
export function enteredMethod(fields: ReadonlyMap<string, string>): 'passkey' | Entered['kind'] {
  if ((fields.get('passkey') ?? '') !== '') return 'passkey'
  return fields.has('recovery') ? 'recovery-code' : 'totp'
}

/** Checks the form of a page that asks for a factor. */
export async function checkForm(
  arrival: Arrival,
  purpose: PasskeyPurpose,
  account: FactorAccount,
  fields: ReadonlyMap<string, string>,
  parts: FactorParts,
): Promise<FactorAnswer> {
  const kind = enteredMethod(fields)
  if (kind === 'passkey') {
    const used = await parts.passkeyRequests.use(arrival, purpose, account, fields.get('passkey') ?? '')
    if (used.kind !== 'right') return { kind: used.kind === 'copied' ? 'copied' : 'passkey' }
    return { kind: 'right', method: used.isVerified ? 'passkey' : 'security-key', recoveryCodesLeft: null }
  }
  return checkFactor(account, { kind, code: fields.get('code') ?? '' }, parts)
}

/** Checks a code. The try is counted first, so that parallel guesses all count. */
export async function checkFactor(
  account: FactorAccount,
  { kind, code }: Entered,
  { factors, apps, recoveryCodes, factorThrottle }: Omit<FactorParts, 'passkeyRequests'>,
): Promise<FactorAnswer> {
  const id = accountId(account)
  const seconds = await factorThrottle.count(id)
  if (seconds !== null) return { kind: 'throttled', seconds }
  if (kind === 'totp' && (await factors.of(account)).isAppLocked) return { kind: 'locked' }
  const left = kind === 'totp' ? null : await recoveryCodes.use(account, code)
  const isRight = kind === 'totp' ? await apps.use(account, code) : left !== null
  if (!isRight) {
    await factors.noteWrong(account)
    return { kind: 'wrong' }
  }
  await factorThrottle.succeeded(id)
  await factors.unlock(account)
  return { kind: 'right', method: kind, recoveryCodesLeft: left }
}
