import type { Limits } from '../../runtime/limits.ts'
import { agentOf } from '../http/request.ts'
import { platformText } from '../web/texts.ts'
import { browserName } from './browser-name.ts'
import type { FactorAccount } from './factor-account.ts'
import type { PasskeyPage, PasskeyPurpose, PasskeyRequests } from './passkey-requests.ts'
import type { PasskeyUser } from './passkeys.ts'
import type { SignInMethod } from './sign-in-methods.ts'

/** `refusal`: why the passkey was not added, in the user's language. */
export type AddedFactor =
  | { readonly kind: 'added'; readonly method: SignInMethod }
  | { readonly kind: 'refused'; readonly refusal: string }

/**
 * Registers the passkey that the browser has just created. The passkey is named after the browser, so that users can
 * tell their passkeys apart.
 */
export async function addPasskey(
  page: PasskeyPage & { readonly locale: string },
  purpose: PasskeyPurpose,
  account: FactorAccount,
  { username, permissions, tenant, locale: userLocale }: PasskeyUser,
  answer: string,
  { passkeyRequests, limits }: { readonly passkeyRequests: PasskeyRequests; readonly limits: Limits },
): Promise<AddedFactor> {
  const { ctx, locale } = page
  const text = (key: string, values: readonly (string | number)[] = []) => platformText(locale, key, values)
  const browser = browserName(agentOf(ctx))
  const name = browser === null ? text('platform.factor.passkey') : text('platform.factor.passkeyof', [browser])
  const user = { username, permissions, tenant, locale: userLocale }
  const added = await passkeyRequests.add(page, purpose, account, answer, { name, user })
  if (added.kind === 'added') return { kind: 'added', method: added.isVerified ? 'passkey' : 'security-key' }
  if (added.kind === 'full') {
    return { kind: 'refused', refusal: text('platform.passkey.full', [limits.PASSKEYS_ACCOUNT]) }
  }
  const reason = added.kind === 'taken' ? 'platform.passkey.taken' : 'platform.step.passkey'
  return { kind: 'refused', refusal: text(reason) }
}
