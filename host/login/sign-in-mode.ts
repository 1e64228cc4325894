import { PlatformError } from '../../runtime/errors.ts'
import type { PreparedSolution } from '../solutions/prepared-solution.ts'

/** Users sign in by the login page. */
export type FormMode = 'DEFAULT' | 'AUTHENTICATOR'
/** Users sign in at a provider of OAuth. */
export type ProviderMode = 'OAUTH' | 'OAUTH_AUTHENTICATOR'

/**
 * How a solution's users sign in, after the older properties were read (design sections 4 and 8). `LOGIN_FORM`: by a form
 * of the solution itself, on which its client opens without a user.
 */
export type SignInMode = 'NONE' | FormMode | 'LOGIN_FORM' | ProviderMode

/**
 * `loginSolution`, which came before modules of type authenticator, is used in the same way as such a module.
 * @throws ERR_MODE_UNAVAILABLE for the ways of signing in that are not part of this version
 */
export function signInModeOf({ manifest }: Pick<PreparedSolution, 'manifest'>): SignInMode {
  const mode = manifest.authenticator
  if (mode === 'NONE' || mode === 'AUTHENTICATOR' || mode === 'OAUTH' || mode === 'OAUTH_AUTHENTICATOR') return mode
  if (mode === 'DEFAULT') {
    if (manifest.loginSolution !== null) return 'AUTHENTICATOR'
    return manifest.loginForm === null ? 'DEFAULT' : 'LOGIN_FORM'
  }
  const what = `the authenticator ${mode}`
  throw new PlatformError('ERR_MODE_UNAVAILABLE', `This version cannot sign users in by ${what} yet.`, { mode })
}

export function isProviderMode(mode: SignInMode): mode is ProviderMode {
  return mode === 'OAUTH' || mode === 'OAUTH_AUTHENTICATOR'
}
