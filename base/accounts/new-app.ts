import { renderSVG } from 'uqr'
import type { PlatformKey } from '../config/platform-key.ts'
import type { AuthenticatorApps } from './authenticator-app.ts'
import { accountId, type FactorAccount } from './factor-account.ts'

/** The authenticator app that a page sets up. */
export type NewApp = {
  /**
   * The value of a hidden form field. It contains the encrypted secret, which the service reads when the form is sent.
   */
  readonly setup: string
  /** The secret, for users who type it. */
  readonly secret: string
  /** The QR code as SVG. */
  readonly qrCode: string
  /** An `otpauth:` URI, which opens the app on the same device. */
  readonly address: string
}

/** `now`: the clock, in epoch ms. */
export type NewAppParts = {
  readonly key: PlatformKey
  readonly apps: Pick<AuthenticatorApps, 'addressOf'>
  readonly now: () => number
}

/** How long a set-up page can be used, in ms. */
const SET_UP_TIME = 30 * 60_000

/**
 * Encrypts the secret of a new app for a hidden field of its page. Only the account that the field was created for can
 * use it. Otherwise, an attacker could make a user enrol the attacker's secret.
 */
function writeSetUpSecret(
  account: FactorAccount,
  secret: string,
  { key, now }: Pick<NewAppParts, 'key' | 'now'>,
): string {
  return key.encrypt(`set-up ${accountId(account)}`, JSON.stringify([secret, now() + SET_UP_TIME]))
}

/** @returns null if the field wasn't issued by this service or was issued for another account, or if it has expired */
export function readSetUpSecret(
  account: FactorAccount,
  field: string,
  { key, now }: Pick<NewAppParts, 'key' | 'now'>,
): string | null {
  const text = key.decrypt(`set-up ${accountId(account)}`, field)
  if (text === null) return null
  const [secret, expiresAt] = JSON.parse(text) as [string, number]
  return expiresAt > now() ? secret : null
}

/** The data for the page that adds an authenticator app. */
export function newAppOf(
  { title: issuer }: { readonly title: string },
  { account, login }: { readonly account: FactorAccount; readonly login: { readonly username: string } },
  secret: string,
  parts: NewAppParts,
): NewApp {
  const address = parts.apps.addressOf(secret, { issuer, username: login.username })
  return {
    setup: writeSetUpSecret(account, secret, parts),
    // Show the secret in groups of four, which are easier to type.
    secret: secret.replace(/(.{4})(?=.)/g, '$1 '),
    qrCode: renderSVG(address, { border: 2 }),
    address,
  }
}
