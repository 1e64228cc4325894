import type { Json } from '../../runtime/plugin.ts'
import type { EarlierSignIn } from '../login/ask-again.ts'
import type { Claims } from './provider.ts'

/**
 * Members of `last_login` that the platform sets. A provider's claims must not replace them. The standard claim
 * `locale` (OpenID Connect Core, 5.1) is not listed, because it grants nothing. It is used until the platform has its
 * own value.
 */
const OURS = ['last_login', 'uid', 'permissions', 'username', 'tenant', 'claims']

/**
 * Returns `queryParams.last_login` for an authenticator: the verified claims, such as `email`, and the platform's own
 * members. All claims are also in `claims`. A claim with the name of a platform member is only in `claims`.
 * @param lastLoginAt when the user last signed in at the provider, in epoch ms
 * @param earlier the user's earlier sign-in; null at the first one
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

/** Returns a name that users recognise as theirs. The page for accounts without access to the application shows it. */
export function shownUser(claims: Claims): string {
  const { email, preferred_username: login, name, sub } = claims
  return [email, login, name].find((one): one is string => typeof one === 'string' && one !== '') ?? sub
}
