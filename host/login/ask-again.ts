import type { Series } from '../../base/accounts/remembered.ts'
import { noEffects } from '../../base/bundles/host-call.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { Asking } from './arrival.ts'
import type { AuthenticatorQuestion } from './ask-authenticator.ts'
import { queryParams, withoutCustom } from './query-params.ts'
import type { SignInAnswer } from './sign-in-answer.ts'

/** A user's earlier sign-in, as passed to scripts in `last_login`. */
export type EarlierSignIn = Pick<Series, 'uid' | 'username' | 'permissions' | 'tenant'> & { readonly locale: string }

export function earlierOf({ locale: asked }: Pick<Asking, 'locale'>, series: EarlierSeries): EarlierSignIn {
  const { uid, username, permissions, tenant, locale } = series
  return { uid, username, permissions, tenant, locale: locale ?? asked }
}

type EarlierSeries = Pick<Series, 'uid' | 'username' | 'permissions' | 'custom' | 'tenant' | 'locale'>

/**
 * Calls the authenticator for a remembered user, with the `custom_*` fields of the original sign-in. `custom_*` fields
 * in the current URL are ignored, so that a link can't move a remembered user to another tenant. The script can sign in
 * only the same uid: the passkey or the password of the original sign-in is valid only for that account.
 */
export async function askAgain(
  ask: AuthenticatorQuestion,
  asking: Asking,
  series: EarlierSeries,
  lastLogin: Json,
): Promise<SignInAnswer> {
  const { username, custom } = series
  // Earlier releases did not store the custom fields. In that case, use the fields in the URL.
  const url = custom === null ? asking.url : withoutCustom(asking.url)
  const fields = new Map(Object.entries(custom ?? {}))
  const params = { ...queryParams(url, fields), username, last_login: lastLogin }
  const answer = await ask({ ...asking, locale: series.locale ?? asking.locale }, params, fields)
  if (answer.kind !== 'accepted') return answer
  const { login, effects } = answer
  if (login.uid !== series.uid) return { kind: 'refused', effects: noEffects(), values: {} }
  const { tenant, locale } = series
  return { ...answer, effects: { ...effects, tenant: effects.tenant ?? tenant, locale: effects.locale ?? locale } }
}
