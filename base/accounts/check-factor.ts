import type { Context } from 'koa'
import { platformText } from '../web/texts.ts'
import type { AuthenticatorApps } from './authenticator-app.ts'
import { accountId, type FactorAccount } from './factor-account.ts'
import type { Factors } from './factors.ts'
import type { PasskeyPage, PasskeyPurpose, PasskeyRequests } from './passkey-requests.ts'
import type { RecoveryCodes } from './recovery-codes.ts'
import type { SignInMethod } from './sign-in-methods.ts'
import type { FactorThrottle } from './throttle.ts'

export type FactorParts = {
  readonly factors: Factors
  readonly apps: AuthenticatorApps
  readonly recoveryCodes: RecoveryCodes
  readonly factorThrottle: FactorThrottle
  readonly passkeyRequests: PasskeyRequests
}

/** The code that the user entered, and its kind. */
export type Entered = { readonly kind: 'totp' | 'recovery-code'; readonly code: string }

/**
 * - `throttled`: too many attempts. `seconds` is the time until the next one is allowed.
 * - `wrong`, `wrongrecovery`: the app's code or the recovery code is wrong or was used before.
 * - `locked`: the app's codes are rejected until the account is unlocked.
 * - `passkey`: the passkey was rejected.
 * - `copied`: the passkey was rejected because it seems to have been copied.
 */
export type FactorAnswer =
  | { readonly kind: 'right'; readonly method: SignInMethod; readonly recoveryCodesLeft: number | null }
  | { readonly kind: 'wrong' | 'wrongrecovery' | 'locked' | 'passkey' | 'copied' }
  | { readonly kind: 'throttled'; readonly seconds: number }

export function outcomeOf({ kind }: FactorAnswer): 'ok' | 'throttled' | 'refused' {
  if (kind === 'right') return 'ok'
  return kind === 'throttled' ? 'throttled' : 'refused'
}

/** Returns the kind of factor that the user submitted. */
export function enteredMethod(fields: ReadonlyMap<string, string>): 'passkey' | Entered['kind'] {
  if ((fields.get('passkey') ?? '') !== '') return 'passkey'
  return fields.has('recovery') ? 'recovery-code' : 'totp'
}

/** Checks the submitted form of a page that requests a factor. */
export async function checkForm(
  page: PasskeyPage,
  purpose: PasskeyPurpose,
  account: FactorAccount,
  fields: ReadonlyMap<string, string>,
  parts: FactorParts,
): Promise<FactorAnswer> {
  const kind = enteredMethod(fields)
  if (kind === 'passkey') {
    const used = await parts.passkeyRequests.use(page, purpose, account, fields.get('passkey') ?? '')
    if (used.kind !== 'right') return { kind: used.kind === 'copied' ? 'copied' : 'passkey' }
    return { kind: 'right', method: used.isVerified ? 'passkey' : 'security-key', recoveryCodesLeft: null }
  }
  return checkFactor(account, { kind, code: fields.get('code') ?? '' }, parts)
}

/** Checks a code. Counts the attempt first, so that parallel guesses are all counted. */
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
    return { kind: kind === 'totp' ? 'wrong' : 'wrongrecovery' }
  }
  await factorThrottle.succeeded(id)
  await factors.unlock(account)
  return { kind: 'right', method: kind, recoveryCodesLeft: left }
}

/** Returns the message that explains to the user why a factor was rejected. */
export function refusalOf(
  { ctx, locale }: { readonly ctx: Context; readonly locale: string },
  answer: Exclude<FactorAnswer, { kind: 'right' }>,
): { readonly status: number; readonly text: string } {
  if (answer.kind !== 'throttled') return { status: 401, text: platformText(locale, `platform.step.${answer.kind}`) }
  ctx.set('Retry-After', String(answer.seconds))
  const minutes = Math.ceil(answer.seconds / 60)
  return { status: 429, text: platformText(locale, 'platform.step.throttled', [minutes]) }
}
