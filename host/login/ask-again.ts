import type { Series } from '../../base/accounts/remembered.ts'
import type { Effects } from '../../base/bundles/host-call.ts'
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
 * in the current URL are ignored, so that a link can't move a remembered user to another tenant.
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
  return answer.kind === 'accepted' ? { ...answer, effects: withEarlier(answer.effects, series) } : answer
}

/**
 * Adds the tenant and locale of the earlier sign-in. Chosen here: they are added only if the uid is the same, so that
 * another account doesn't inherit the tenant.
 */
function withEarlier(effects: Effects, { uid, tenant, locale }: EarlierSeries): Effects {
  if (effects.login?.uid !== uid) return effects
  return { ...effects, tenant: effects.tenant ?? tenant, locale: effects.locale ?? locale }
}
