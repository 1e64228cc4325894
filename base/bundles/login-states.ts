import type { LoginPage } from './login-page.ts'

/** The part of a `LoginPage` that depends only on the state, not on the request. */
type LoginState = Pick<LoginPage, 'status' | 'failed'> & { readonly notice?: { readonly key: string } }

/**
 * Every state of the login page, at sign-in and in the preview on the admin pages.
 *
 * - `first`: before the first attempt; `passwordChanged`: the same, after a password change.
 * - `refused`: the credentials were rejected; `outcome`: the script failed to return a result.
 * - `passkeyRefused`: the passkey was rejected.
 * - `throttled`, `busy`, `unavailable`: too many attempts, the host is busy, the database is unreachable.
 * - `expired`: the hidden token was missing or wrong.
 * - `cloudAway`, `cloudRefused`, `verify`: for PLATFORM_CLOUD; the control center is unreachable, does not know the
 *   request, or requires a confirmed email address first.
 * - `directoryAway`: for DEFAULT; the directory that manages the user's password is unreachable.
 */
export const LOGIN_STATES = {
  first: { status: 200, failed: false },
  passwordChanged: { status: 200, failed: false, notice: { key: 'platform.password.changed' } },
  refused: { status: 401, failed: true },
  outcome: { status: 401, failed: true, notice: { key: 'platform.login.outcome' } },
  throttled: { status: 429, failed: true, notice: { key: 'platform.login.throttled' } },
  busy: { status: 503, failed: true, notice: { key: 'platform.login.busy' } },
  unavailable: { status: 503, failed: false, notice: { key: 'platform.login.unavailable' } },
  passkeyRefused: { status: 401, failed: false, notice: { key: 'platform.step.passkey' } },
  expired: { status: 403, failed: false, notice: { key: 'platform.login.expired' } },
  cloudAway: { status: 503, failed: false, notice: { key: 'platform.login.cloud-away' } },
  cloudRefused: { status: 503, failed: false, notice: { key: 'platform.login.cloud-refused' } },
  directoryAway: { status: 503, failed: false, notice: { key: 'platform.login.directory-away' } },
  verify: { status: 401, failed: false, notice: { key: 'platform.login.verify' } },
} as const satisfies Record<string, LoginState>

export type LoginStateName = keyof typeof LOGIN_STATES

export const LOGIN_STATE_NAMES = Object.keys(LOGIN_STATES) as readonly LoginStateName[]

const ONLY_CLOUD: readonly LoginStateName[] = ['cloudAway', 'cloudRefused', 'verify']
const NEVER_CLOUD: readonly LoginStateName[] = ['passwordChanged', 'outcome', 'busy']
const ONLY_DEFAULT: readonly LoginStateName[] = ['directoryAway']

/** Returns the states that can occur with this authenticator. */
export function loginStatesOf(authenticator: string): readonly LoginStateName[] {
  const others = authenticator === 'PLATFORM_CLOUD' ? NEVER_CLOUD : ONLY_CLOUD
  const all = LOGIN_STATE_NAMES.filter((name) => !others.includes(name))
  return authenticator === 'DEFAULT' ? all : all.filter((name) => !ONLY_DEFAULT.includes(name))
}
