import { platformText } from '../web/texts.ts'
import type { AddedFactor } from './add-passkey.ts'
import type { AuthenticatorApps } from './authenticator-app.ts'
import type { FactorAccount } from './factor-account.ts'

/**
 * Adds an authenticator app if the code is correct, which proves that the user has set up the app.
 * @param isReplacing whether the new app may replace the account's current one
 * @returns `taken` if the account already has an app
 */
export async function addApp(
  account: FactorAccount,
  { secret, code, locale }: { readonly secret: string; readonly code: string; readonly locale: string },
  { apps }: { readonly apps: Pick<AuthenticatorApps, 'add'> },
  isReplacing = false,
): Promise<AddedFactor | { readonly kind: 'taken' }> {
  const text = (key: string) => platformText(locale, key)
  const added = await apps.add(account, secret, code, text('platform.factor.app'), isReplacing)
  if (added === 'wrong') return { kind: 'refused', refusal: text('platform.step.wrong') }
  return added === 'taken' ? { kind: 'taken' } : { kind: 'added', method: 'totp' }
}
