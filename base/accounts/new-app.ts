import { renderSVG } from 'uqr'
import type { PlatformKey } from '../config/platform-key.ts'
import type { AuthenticatorApps } from './authenticator-app.ts'
import { accountId, type FactorAccount } from './factor-account.ts'

/** The data with which a page sets up an authenticator app. */
export type NewApp = {
  /** The value of a hidden form field: the encrypted secret. The service decrypts it when the form is submitted. */
  readonly setup: string
  /** The secret, for users who type it instead of scanning the QR code. */
  readonly secret: string
  /** The QR code as SVG. */
  readonly qrCode: string
  /** An `otpauth:` URI, which opens the app on the same device. */
  readonly address: string
}

/** `now` returns the current time in epoch ms. */
export type NewAppParts = {
  readonly key: PlatformKey
  readonly apps: Pick<AuthenticatorApps, 'addressOf'>
  readonly now: () => number
}

/** How long a set-up page can be used, in ms. */
const SET_UP_TIME = 30 * 60_000

/**
 * Encrypts the secret of a new app for a hidden field of its page. The field can be used only for the account that it
 * was created for. Otherwise, an attacker could trick a user into enrolling the attacker's secret.
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
