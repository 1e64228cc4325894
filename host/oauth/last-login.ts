import type { Json } from '../../runtime/plugin.ts'
import type { EarlierSignIn } from '../login/ask-again.ts'
import type { Claims } from './provider.ts'

/**
 * Members of `last_login` that the platform sets. Claims from a provider must not replace them. `locale` is not listed:
 * it is a standard claim (OpenID Connect Core, 5.1) that grants nothing. The claim is used until the platform has its
 * own value.
 */
const OURS = ['last_login', 'uid', 'permissions', 'username', 'tenant', 'claims']

/**
 * Returns `queryParams.last_login` for an authenticator: the verified claims, such as `email`, and the platform's own
 * members. `claims` contains all claims. If a claim has the name of a platform member, only `claims` contains it.
 * @param lastLoginAt when the user last signed in at the provider, in epoch ms
 * @param earlier null at the first sign-in
 */
export function lastLoginOf(
  claims: Readonly<Record<string, unknown>>,
  lastLoginAt: number,
  earlier: EarlierSignIn | null,
): Json {
  const all = claims as Record<string, Json>
  const shown = Object.create(null) as Record<string, Json>
  for (const [name, value] of Object.entries(all)) if (!OURS.includes(name)) shown[name] = value
  shown.last_login = lastLoginAt
  shown.claims = all
  return earlier === null ? shown : Object.assign(shown, earlier)
}

/**
 * Returns a name by which users recognise their account. The page for accounts without access to the application shows
 * it.
 */
export function shownUser(claims: Claims): string {
  const { email, preferred_username: login, name, sub } = claims
  return [email, login, name].find((one): one is string => typeof one === 'string' && one !== '') ?? sub
}
