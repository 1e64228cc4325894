import { expect, test } from 'vitest'
import { signInModeOf } from '../../../host/login/sign-in-mode.ts'
import { type AuthenticatorMode, checkManifest } from '../../../runtime/bundle/manifest.ts'

function modeOf(written: { authenticator?: AuthenticatorMode; loginForm?: string; loginSolution?: string }) {
  const { manifest } = checkManifest({ name: 'crm', version: '1.0.0', ...written }, 'solution.json')
  if (manifest === null) throw new Error('the manifest is invalid')
  return signInModeOf({ manifest })
}

test.each([
  [{}, 'DEFAULT'],
  [{ loginForm: 'login' }, 'LOGIN_FORM'],
  [{ authenticator: 'DEFAULT', loginForm: 'login' }, 'LOGIN_FORM'],
  [{ loginSolution: 'base' }, 'AUTHENTICATOR'],
  [{ loginForm: 'login', loginSolution: 'base' }, 'AUTHENTICATOR'],
  [{ authenticator: 'NONE', loginForm: 'login' }, 'NONE'],
  [{ authenticator: 'AUTHENTICATOR', loginForm: 'login' }, 'AUTHENTICATOR'],
  [{ authenticator: 'OAUTH', loginForm: 'login' }, 'OAUTH'],
  [{ authenticator: 'OAUTH_AUTHENTICATOR' }, 'OAUTH_AUTHENTICATOR'],
  [{ authenticator: 'PLATFORM_CLOUD' }, 'PLATFORM_CLOUD'],
  [{ authenticator: 'PLATFORM_CLOUD', loginForm: 'login' }, 'PLATFORM_CLOUD'],
] as const)('sign-in mode: a manifest with %j has the mode %s', (written, mode) => {
  expect(modeOf(written)).toBe(mode)
})
