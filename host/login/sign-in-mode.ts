import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'

/** Users sign in on the login page. */
export type FormMode = 'DEFAULT' | 'AUTHENTICATOR' | 'PLATFORM_CLOUD'
/** Users sign in at an OAuth provider. */
export type ProviderMode = 'OAUTH' | 'OAUTH_AUTHENTICATOR'

/**
 * How a solution's users sign in, according to current and older manifest properties. With `LOGIN_FORM`, users sign in
 * on one of the solution's own forms, in a client without a user.
 */
export type SignInMode = 'NONE' | FormMode | 'LOGIN_FORM' | ProviderMode

/**
 * Returns the sign-in mode in a manifest. The older property `loginSolution` works like a module of type authenticator.
 */
export function signInModeOf({ manifest }: Pick<PreparedSolution, 'manifest'>): SignInMode {
  const mode = manifest.authenticator
  if (mode !== 'DEFAULT') return mode
  if (manifest.loginSolution !== null) return 'AUTHENTICATOR'
  return manifest.loginForm === null ? 'DEFAULT' : 'LOGIN_FORM'
}

export function isProviderMode(mode: SignInMode): mode is ProviderMode {
  return mode === 'OAUTH' || mode === 'OAUTH_AUTHENTICATOR'
}
