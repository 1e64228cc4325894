import { randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { Tenant } from '../../plugins/security/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { PlatformKey } from '../config/platform-key.ts'
import { answeredWithin, SHORT_ANSWER } from '../database/answered-within.ts'
import type { Database } from '../database/open.ts'
import { storedHash } from '../database/stored-hash.ts'
import type { Tables } from '../database/tables.ts'
import { type AccountSourceName, FACTORS_OF } from './account-source-name.ts'
import { isSameSecret } from './same-secret.ts'
import { readMethods, type SignInMethod } from './sign-in-methods.ts'

/** A remembered user, with the data of their last sign-in. */
export type RememberedUser = {
  readonly source: AccountSourceName
  readonly uid: string
  readonly username: string
  readonly permissions: readonly string[]
  /** The sign-in at the OAuth provider that the remembered login is based on, or null. */
  readonly providerLogin: string | null
  /** The `custom_*` fields that were accepted; null if an older version of the platform stored the series. */
  readonly custom: Readonly<Record<string, string>> | null
  readonly tenant: Tenant | null
  /** Null if an older version stored the series. */
  readonly locale: string | null
  readonly factorsOf: AccountSourceName
  /** How the user signed in; empty if an older version stored the series. */
  readonly methods: readonly SignInMethod[]
  /** The browser's User-Agent header; null if an older version stored the series. */
  readonly agent: string | null
}

/** The fields that each use of a series updates. */
export type RotatedUser = Pick<RememberedUser, 'username' | 'permissions' | 'tenant' | 'locale'>

/** A series is one browser's remembered login in one solution. */
export type Series = RememberedUser & {
  readonly selector: string
  readonly solution: string
  /** When the user last signed in with credentials, in epoch ms. */
  readonly lastLoginAt: number
}

/**
 * The result of sending a cookie:
 * - `current`: the user gets a session, and a new cookie from `rotate`.
 * - `previous`: the user gets only a session, because another tab has just used the cookie.
 * - `stolen`: the cookie was used before, which suggests theft. The series was ended.
 * - `unknown`: all other cases. They are not distinguished, so that a forged cookie reveals nothing.
 */
export type RememberedUse =
  | { readonly kind: 'current' | 'previous'; readonly series: Series }
  | { readonly kind: 'stolen'; readonly series: Series }
  | { readonly kind: 'unknown' }

/**
 * Stores remembered logins. The cookie contains a selector and a validator. The database stores only hashes of the
 * validator.
 */
export interface Remembered {
  /** @returns the cookie's value */
  start(solution: string, user: RememberedUser): Promise<string>
  /** Looks up a cookie. If the cookie was stolen, ends its series; otherwise, changes nothing. */
  use(solution: string, cookie: string): Promise<RememberedUse>
  /**
   * Replaces the validator of the cookie's series. Call this after checking that the user may still sign in.
   * @returns the new cookie's value; null if another tab replaced the validator first, so its cookie is now valid
   */
  rotate(cookie: string, user: RotatedUser): Promise<string | null>
  /** Whether the series exists and has not been ended. */
  isAlive(selector: string): Promise<boolean>
  /** Ends the cookie's series if it belongs to this solution. */
  end(solution: string, cookie: string): Promise<void>
  endSeries(selector: string): Promise<void>
  /** Like the method of the same name in `Sessions`. */
  endOfUser(source: AccountSourceName, uid: string): Promise<void>
  endOfProviderLogin(id: string): Promise<void>
  endAll(solution: string): Promise<void>
  /**
   * Ends the account's series, except one.
   * @param solution null for all solutions
   * @param except the selector of a series, or null
   */
  endOfAccount(
    account: { readonly factorsOf: AccountSourceName; readonly uid: string },
    solution: string | null,
    except: string | null,
  ): Promise<void>
  /** Deletes series that ended or expired more than `SESSION_ENDED_KEPT` ago. */
  sweep(): Promise<void>
}

const SELECTOR = 16
const VALIDATOR = 32
/** The cookie starts with the selector, which has this number of characters. The validator follows. */
const SELECTOR_TEXT = 22

/** @param now returns the current time in epoch milliseconds */
export function createRemembered(
  db: Database,
  key: PlatformKey,
  limits: Limits,
  now: () => number = Date.now,
): Remembered {
  // The `custom_*` fields are encrypted, because a login page may use one for a second password or a code.
  const purposeOf = (solution: string, selector: string) => `remembered-custom ${solution} ${selector}`

  function readCustom(solution: string, selector: string, stored: string | null): RememberedUser['custom'] {
    const text = stored === null ? null : key.decrypt(purposeOf(solution, selector), stored)
    return text === null ? null : (JSON.parse(text) as Record<string, string>)
  }

  async function endWhere(
    which: Partial<Record<'selector' | 'solution' | 'source' | 'uid' | 'provider_login' | 'factors_of', string>>,
    except: string | null = null,
  ): Promise<void> {
    let query = db.updateTable('remembered').set({ ended_at: now() }).where('ended_at', 'is', null)
    if (except !== null) query = query.where('selector', '!=', except)
    for (const [column, value] of Object.entries(which)) {
      query = query.where(column === 'factors_of' ? FACTORS_OF : (column as 'selector'), '=', value)
    }
    await query.execute()
  }

  return {
    async start(solution, user) {
      const { source, uid, username, permissions, providerLogin, custom, tenant, locale } = user
      const { factorsOf, methods, agent } = user
      const selector = randomBytes(SELECTOR).toString('base64url')
      const validator = randomBytes(VALIDATOR).toString('base64url')
      await db
        .insertInto('remembered')
        .values({
          selector,
          solution,
          source,
          validator_hash: storedHash(validator),
          previous_hash: null,
          rotated_at: now(),
          uid,
          username,
          permissions: JSON.stringify(permissions),
          last_login_at: now(),
          created_at: now(),
          ended_at: null,
          provider_login: providerLogin,
          custom: custom === null ? null : key.encrypt(purposeOf(solution, selector), JSON.stringify(custom)),
          tenant: tenant === null ? null : JSON.stringify(tenant),
          locale,
          factors_of: factorsOf,
          methods: JSON.stringify(methods),
          agent,
        })
        .execute()
      return selector + validator
    },
    async use(solution, cookie) {
      const { selector, validator } = partsOf(cookie)
      const asked = db
        .selectFrom('remembered')
        .selectAll()
        .where('selector', '=', selector)
        .where('solution', '=', solution)
        .executeTakeFirst()
      const row = await answeredWithin(SHORT_ANSWER, asked)
      if (row === undefined || row.ended_at !== null || row.created_at + limits.REMEMBER_LIFETIME <= now()) {
        return { kind: 'unknown' }
      }
      const series = seriesOf(row, readCustom(solution, selector, row.custom))
      const given = storedHash(validator)
      if (isSameSecret(given, row.validator_hash)) return { kind: 'current', series }
      const isPrevious = row.previous_hash !== null && isSameSecret(given, row.previous_hash)
      if (isPrevious && row.rotated_at + limits.REMEMBER_GRACE > now()) return { kind: 'previous', series }
      // Ends the series even if the validator was never valid: someone who knows the selector may be guessing.
      await endWhere({ selector })
      return { kind: 'stolen', series }
    },
    async rotate(cookie, { permissions, username, tenant, locale }) {
      const { selector, validator } = partsOf(cookie)
      const next = randomBytes(VALIDATOR).toString('base64url')
      const { numUpdatedRows } = await db
        .updateTable('remembered')
        .set({
          validator_hash: storedHash(next),
          previous_hash: storedHash(validator),
          rotated_at: now(),
          permissions: JSON.stringify(permissions),
          username,
          tenant: tenant === null ? null : JSON.stringify(tenant),
          locale,
        })
        .where('selector', '=', selector)
        .where('validator_hash', '=', storedHash(validator))
        .where('ended_at', 'is', null)
        .executeTakeFirst()
      return numUpdatedRows > 0n ? selector + next : null
    },
    async isAlive(selector) {
      const query = db.selectFrom('remembered').select('ended_at').where('selector', '=', selector)
      return (await query.executeTakeFirst())?.ended_at === null
    },
    async end(solution, cookie) {
      const { selector } = partsOf(cookie)
      await endWhere({ selector, solution })
    },
    async endSeries(selector) {
      await endWhere({ selector })
    },
    async endOfProviderLogin(id) {
      await endWhere({ provider_login: id })
    },
    async endOfUser(source, uid) {
      await endWhere({ factors_of: source, uid })
    },
    async endOfAccount({ factorsOf, uid }, solution, except) {
      await endWhere({ factors_of: factorsOf, uid, ...(solution === null ? {} : { solution }) }, except)
    },
    async endAll(solution) {
      await endWhere({ solution })
    },
    async sweep() {
      const before = now() - limits.SESSION_ENDED_KEPT
      await db
        .deleteFrom('remembered')
        .where((row) =>
          row.or([row('ended_at', '<', before), row('created_at', '<', before - limits.REMEMBER_LIFETIME)]),
        )
        .execute()
    },
  }
}

function seriesOf(row: Selectable<Tables['remembered']>, custom: Series['custom']): Series {
  return {
    selector: row.selector,
    solution: row.solution,
    source: row.source as AccountSourceName,
    uid: row.uid,
    username: row.username,
    permissions: JSON.parse(row.permissions) as string[],
    lastLoginAt: row.last_login_at,
    providerLogin: row.provider_login,
    custom,
    tenant: row.tenant === null ? null : (JSON.parse(row.tenant) as Tenant),
    locale: row.locale,
    factorsOf: (row.factors_of ?? row.source) as AccountSourceName,
    methods: readMethods(row.methods),
    agent: row.agent,
  }
}

/** Returns the cookie's selector, which identifies its series. */
export function selectorOf(cookie: string): string {
  return partsOf(cookie).selector
}

function partsOf(cookie: string): { readonly selector: string; readonly validator: string } {
  return { selector: cookie.slice(0, SELECTOR_TEXT), validator: cookie.slice(SELECTOR_TEXT) }
}
