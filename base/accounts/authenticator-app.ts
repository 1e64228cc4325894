import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { PlatformKey } from '../config/platform-key.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'
import { accountId, type FactorAccount } from './factor-account.ts'
import type { Factors } from './factors.ts'

/**
 * Authenticator apps: time-based one-time passwords (RFC 6238) with 6 digits, SHA-1 and a period of 30 s. All apps
 * support these settings.
 */
export interface AuthenticatorApps {
  /** Creates a random secret of 160 bits, in base32. It isn't stored until `add`. */
  newSecret(): string
  /** The `otpauth:` URI that an app reads from the QR code. */
  addressOf(secret: string, label: { readonly issuer: string; readonly username: string }): string
  /**
   * Adds the app if the code was generated from the secret. The same code can't then be used to sign in.
   * @param replaces whether the new app may replace the account's current one, for users with a new phone
   * @returns `taken`: the account already has an app
   */
  add(
    account: FactorAccount,
    secret: string,
    code: string,
    name: string,
    replaces?: boolean,
  ): Promise<'added' | 'wrong' | 'taken'>
  /** Checks a code and marks its time step as used, so that no other host accepts the code again. */
  use(account: FactorAccount, code: string): Promise<boolean>
}

/** The time step of the codes (RFC 6238), in seconds. */
const PERIOD = 30
/** Number of time steps by which a code may be early or late, because clocks differ. */
const WINDOW = 1
const SECRET_BYTES = 20

/** @param now returns the current time in epoch milliseconds */
export function createAuthenticatorApps(
  db: Database,
  key: PlatformKey,
  factors: Pick<Factors, 'open'>,
  now: () => number = Date.now,
): AuthenticatorApps {
  /** @returns the time step that the code belongs to; null if it is wrong */
  function stepOf(secret: string, code: string): number | null {
    if (!/^[0-9]{6}$/.test(code)) return null
    const timestamp = now()
    const delta = codesOf(secret).validate({ token: code, window: WINDOW, timestamp })
    return delta === null ? null : Math.floor(timestamp / 1000 / PERIOD) + delta
  }

  return {
    newSecret: () => new Secret({ buffer: new Uint8Array(randomBytes(SECRET_BYTES)).buffer }).base32,
    addressOf: (secret, { issuer, username }) => codesOf(secret, issuer, username).toString(),
    async add(account, secret, code, name, replaces = false) {
      const step = stepOf(secret, digits(code))
      if (step === null) return 'wrong'
      const { id } = await factors.open(account)
      const factor = {
        id: randomBytes(12).toString('base64url'),
        account: id,
        kind: 'app',
        lookup: `app ${id}`,
        name,
        secret: key.encrypt(purposeOf(id), secret),
        rp_id: null,
        synced: null,
        counter: step,
        created_at: now(),
        last_used_at: null,
        refused_at: null,
      }
      if (await insertOnce(db, 'factors', factor)) return 'added'
      if (!replaces) return 'taken'
      const { id: _id, lookup, ...values } = factor
      await db.updateTable('factors').set(values).where('lookup', '=', lookup).execute()
      return 'added'
    },
    async use(account, code) {
      const id = accountId(account)
      const row = await db
        .selectFrom('factors')
        .select(['id', 'secret'])
        .where('lookup', '=', `app ${id}`)
        .executeTakeFirst()
      const secret = row === undefined ? null : key.decrypt(purposeOf(id), row.secret)
      const step = secret === null ? null : stepOf(secret, digits(code))
      if (row === undefined || step === null) return false
      const { numUpdatedRows } = await db
        .updateTable('factors')
        .set({ counter: step, last_used_at: now() })
        .where('id', '=', row.id)
        .where('counter', '<', step)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },
  }
}

function codesOf(secret: string, issuer = '', label = ''): TOTP {
  return new TOTP({ issuer, label, algorithm: 'SHA1', digits: 6, period: PERIOD, secret: Secret.fromBase32(secret) })
}

/** Apps show codes in two groups, and some people type the space between them. */
function digits(code: string): string {
  return code.replace(/\s/g, '')
}

function purposeOf(account: string): string {
  return `authenticator-app ${account}`
}
