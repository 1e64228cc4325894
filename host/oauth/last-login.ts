import type { Json } from '../../runtime/plugin.ts'
import type { EarlierSignIn } from '../login/ask-again.ts'
import type { Claims } from './provider.ts'

/**
 * Members of `last_login` that the platform sets: a provider's claim must not replace them. `locale` is a standard claim
 * (OpenID Connect Core, 5.1) that grants nothing, so it is passed on until the platform has its own value.
 */
const OURS = ['last_login', 'uid', 'permissions', 'username', 'tenant', 'claims']

/**
 * `queryParams.last_login` of an authenticator (guide 2.2): the verified claims, `email` among them, and what the platform
 * knows. A provider's own claims named like one of the platform's are found in `claims` alone, where all of them are.
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

/** How the person knows the account: for the page that says that the application does not. */
export function shownUser(claims: Claims): string {
  const { email, preferred_username: login, name, sub } = claims
  return [email, login, name].find((one): one is string => typeof one === 'string' && one !== '') ?? sub
}
