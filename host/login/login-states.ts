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
} as const satisfies Record<string, LoginState>

export type LoginStateName = keyof typeof LOGIN_STATES

export const LOGIN_STATE_NAMES = Object.keys(LOGIN_STATES) as readonly LoginStateName[]
