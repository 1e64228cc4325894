import type { Json } from '../../runtime/plugin.ts'
import type { Claims } from './provider.ts'

/** What the platform itself says in `last_login`: a provider's claim of that name must not pass for it. */
const OURS = ['last_login', 'uid', 'permissions', 'username', 'claims']

/** What is known of a user who signed in before; absent at the first sign-in. */
export type EarlierSignIn = {
  readonly uid: string
  readonly username: string
  readonly permissions: readonly string[]
}

/**
 * `queryParams.last_login` of an authenticator (guide 2.2): the verified claims, `email` among them, and what the platform
 * knows. A provider's own claims named like one of the platform's are found in `claims` alone, where all of them are.
 * @param lastLoginAt when the user last signed in at the provider, in epoch ms
 */
export function lastLoginOf(claims: Claims, lastLoginAt: number, earlier: EarlierSignIn | null): Json {
  const all = claims as unknown as Record<string, Json>
  const shown = Object.create(null) as Record<string, Json>
  for (const [name, value] of Object.entries(all)) if (!OURS.includes(name)) shown[name] = value
  shown.last_login = lastLoginAt
  shown.claims = all
  if (earlier !== null) {
    shown.uid = earlier.uid
    shown.username = earlier.username
    shown.permissions = earlier.permissions
  }
  return shown
}

/** How the person knows the account: for the page that says that the application does not. */
export function shownUser(claims: Claims): string {
  const { email, preferred_username: login, name, sub } = claims
  return [email, login, name].find((one): one is string => typeof one === 'string' && one !== '') ?? sub
}
