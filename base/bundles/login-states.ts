import type { LoginPage } from './login-page.ts'

/** What a state shows that is the same for everybody; the rest of a `LoginPage` is of the request. */
type LoginState = Pick<LoginPage, 'status' | 'failed'> & { readonly notice?: { readonly key: string } }

/**
 * Every state in which the login page is shown: at sign-in, and in the preview of the admin pages.
 *
 * - `first`: nothing was tried yet; `passwordChanged`: the same, after a change of the password.
 * - `refused`: nobody was logged in; `outcome`: the script could not say yes or no.
 * - `throttled`, `busy`, `unavailable`: too many attempts, the machine is busy, the database is away.
 * - `expired`: the hidden token was missing or wrong.
 * - `cloudAway`, `cloudRefused`, `verify`: of PLATFORM_CLOUD; the control center does not answer, does not know what it is
 *   asked for, or wants the e-mail address confirmed first.
 */
export const LOGIN_STATES = {
  first: { status: 200, failed: false },
  passwordChanged: { status: 200, failed: false, notice: { key: 'platform.password.changed' } },
  refused: { status: 401, failed: true },
  outcome: { status: 401, failed: true, notice: { key: 'platform.login.outcome' } },
  throttled: { status: 429, failed: true, notice: { key: 'platform.login.throttled' } },
  busy: { status: 503, failed: true, notice: { key: 'platform.login.busy' } },
  unavailable: { status: 503, failed: false, notice: { key: 'platform.login.unavailable' } },
  expired: { status: 403, failed: false, notice: { key: 'platform.login.expired' } },
  cloudAway: { status: 503, failed: false, notice: { key: 'platform.login.cloud-away' } },
  cloudRefused: { status: 503, failed: false, notice: { key: 'platform.login.cloud-refused' } },
  verify: { status: 401, failed: false, notice: { key: 'platform.login.verify' } },
} as const satisfies Record<string, LoginState>

export type LoginStateName = keyof typeof LOGIN_STATES

export const LOGIN_STATE_NAMES = Object.keys(LOGIN_STATES) as readonly LoginStateName[]

const ONLY_CLOUD: readonly LoginStateName[] = ['cloudAway', 'cloudRefused', 'verify']
const NEVER_CLOUD: readonly LoginStateName[] = ['passwordChanged', 'outcome', 'busy']

/** Those that a solution with this authenticator can come to. */
export function loginStatesOf(authenticator: string): readonly LoginStateName[] {
  const others = authenticator === 'PLATFORM_CLOUD' ? NEVER_CLOUD : ONLY_CLOUD
  return LOGIN_STATE_NAMES.filter((name) => !others.includes(name))
}
