import type { FactorAccount } from '../../base/accounts/factor-account.ts'
import type { PasskeyUser } from '../../base/accounts/passkeys.ts'
import type { SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { agentOf } from '../../base/http/request.ts'
import { platformText } from '../../base/web/texts.ts'
import type { Arrival } from '../login/arrival.ts'
import type { PasskeyPurpose } from '../login/passkey-requests.ts'
import { browserName } from './browser-name.ts'
import type { SecondStepParts } from './second-step-parts.ts'

/** `refusal`: why it was not added, in the user's language. */
export type AddedFactor =
  | { readonly kind: 'added'; readonly method: SignInMethod }
  | { readonly kind: 'refused'; readonly refusal: string }

/** Registers the passkey that the browser has just created. Its name says where, as users can't see which one it is. */
export async function addPasskey(
  arrival: Arrival,
  purpose: PasskeyPurpose,
  account: FactorAccount,
  { username, permissions, tenant, locale: userLocale }: PasskeyUser,
  answer: string,
  { passkeyRequests, limits }: Pick<SecondStepParts, 'passkeyRequests' | 'limits'>,
): Promise<AddedFactor> {
  const { ctx, locale } = arrival
  const text = (key: string, values: readonly (string | number)[] = []) => platformText(locale, key, values)
  const browser = browserName(agentOf(ctx))
  const name = browser === null ? text('platform.factor.passkey') : text('platform.factor.passkeyof', [browser])
  const user = { username, permissions, tenant, locale: userLocale }
  const added = await passkeyRequests.add(arrival, purpose, account, answer, { name, user })
  if (added.kind === 'added') return { kind: 'added', method: added.isVerified ? 'passkey' : 'security-key' }
  if (added.kind === 'full') {
    return { kind: 'refused', refusal: text('platform.passkey.full', [limits.PASSKEYS_ACCOUNT]) }
  }
  const reason = added.kind === 'taken' ? 'platform.passkey.taken' : 'platform.step.passkey'
  return { kind: 'refused', refusal: text(reason) }
}
