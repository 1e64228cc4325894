import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'

/** Users sign in by the login page. */
export type FormMode = 'DEFAULT' | 'AUTHENTICATOR' | 'PLATFORM_CLOUD'
/** Users sign in at a provider of OAuth. */
export type ProviderMode = 'OAUTH' | 'OAUTH_AUTHENTICATOR'

/**
 * How a solution's users sign in, after the older properties were read (design sections 4 and 8). `LOGIN_FORM`: by a form
 * of the solution itself, on which its client opens without a user.
 */
export type SignInMode = 'NONE' | FormMode | 'LOGIN_FORM' | ProviderMode

/** `loginSolution`, which came before modules of type authenticator, is used in the same way as such a module. */
export function signInModeOf({ manifest }: Pick<PreparedSolution, 'manifest'>): SignInMode {
  const mode = manifest.authenticator
  if (mode !== 'DEFAULT') return mode
  if (manifest.loginSolution !== null) return 'AUTHENTICATOR'
  return manifest.loginForm === null ? 'DEFAULT' : 'LOGIN_FORM'
}

export function isProviderMode(mode: SignInMode): mode is ProviderMode {
  return mode === 'OAUTH' || mode === 'OAUTH_AUTHENTICATOR'
}
