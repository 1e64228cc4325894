/**
 * How a user signed in: the first step, then the second.
 * - `script`: a script of the solution, or its login form.
 * - `provider-mfa`: the provider reported that the user had a second factor.
 * - `token`: the issuer of a login token vouches for the user.
 * - `passkey`: a passkey that verified its user, which completes both steps.
 * - `security-key`: a passkey that did not verify its user, so it is only a second step.
 * - `totp`: a code from an authenticator app.
 */
const SIGN_IN_METHODS = [
  'password',
  'script',
  'provider',
  'provider-mfa',
  'cloud',
  'token',
  'passkey',
  'security-key',
  'totp',
  'recovery-code',
] as const

export type SignInMethod = (typeof SIGN_IN_METHODS)[number]

/**
 * @param stored the value of the column; null if an older version wrote the row @returns an empty list if nothing is
 * known
 */
export function readMethods(stored: string | null): readonly SignInMethod[] {
  return stored === null ? [] : (JSON.parse(stored) as SignInMethod[])
}

/** Methods that are valid as a second step. */
const SECOND: readonly SignInMethod[] = ['passkey', 'security-key', 'totp', 'recovery-code', 'provider-mfa', 'token']

/** Whether these methods include a second step of any kind. */
export function hasSecondStep(methods: readonly SignInMethod[]): boolean {
  return methods.some((method) => SECOND.includes(method))
}
