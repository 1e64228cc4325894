import type { Passwords } from '../../base/accounts/passwords.ts'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import { tokenForm } from '../../base/database/token-form.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { LINK_KINDS } from './schemas.ts'
import { type SolutionUser, type SolutionUserRow, usersOfRows } from './user-rows.ts'

export type LinkKind = (typeof LINK_KINDS)[number]

/** The link that belongs to a token, and its user. */
export type FoundLink = {
  readonly kind: LinkKind
  readonly user: SolutionUser
  readonly organisation: string
  readonly solution: string
}

export type MadeLink = { readonly token: string; readonly expiresAt: number }

/**
 * Links that let a user choose a password or confirm an address. A token has 256 random bits, and only its hash is
 * stored. A link can be used once, and is invalidated when a value that it depends on changes, such as the password.
 */
export interface UserLinks {
  /**
   * @param wanted.proves the address that the link is mailed to, or null if the link is shown; using a mailed link
   * proves access to the mailbox
   * @param wanted.lifetime in ms
   * @returns null if the user already has three valid links of this kind. The limit stops others from flooding the
   * mailbox by requesting emails.
   */
  create(
    uid: string,
    wanted: { readonly kind: LinkKind; readonly proves: string | null; readonly lifetime: number },
  ): Promise<MadeLink | null>
  /** Invalidates the user's links of this kind. */
  revoke(uid: string, kind: LinkKind): Promise<void>
  /**
   * Returns null if the link is unknown, used, expired or invalidated, or if the user is disabled. Finding a link does
   * not use it up, because mail scanners open links too.
   */
  find(token: string): Promise<FoundLink | null>
  /**
   * @returns false if another request has just used the link
   * @throws ERR_PASSWORDS_BUSY
   */
  choosePassword(token: string, password: string): Promise<boolean>
  /** @returns false if another request has just used the link */
  confirmAddress(token: string): Promise<boolean>
  /** Deletes expired links. */
  sweep(): Promise<void>
}

const FORM = tokenForm('')
const MOST_OF_A_KIND = 3

/** @param now returns the current time in epoch milliseconds */
export function createUserLinks(
  db: CenterDatabase,
  passwords: Pick<Passwords, 'hash'>,
  now: () => number = Date.now,
): UserLinks {
  async function findRow(token: string) {
    const hash = FORM.hashOf(token)
    if (hash === null) return null
    const link = await db
      .selectFrom('solution_user_links')
      .selectAll()
      .where('token_hash', '=', hash)
      .where('expires_at', '>', now())
      .executeTakeFirst()
    if (link === undefined) return null
    const row = await db.selectFrom('solution_users').selectAll().where('uid', '=', link.uid).executeTakeFirst()
    const kind = link.kind as LinkKind
    const isOpen = row !== undefined && row.enabled === 1 && link.state === stateOf(kind, row)
    return isOpen ? { link, kind, row } : null
  }

  /** @param columns the user's columns to update in the transaction that deletes the link */
  async function use(
    token: string,
    kinds: readonly LinkKind[],
    columns: () => Promise<Partial<SolutionUserRow>>,
  ): Promise<boolean> {
    const found = await findRow(token)
    if (found === null || !kinds.includes(found.kind)) return false
    const { link, row } = found
    const isProved = link.proves !== null && link.proves === row.email
    const changed = { ...(await columns()), ...(isProved ? { email_verified_at: now() } : {}) }
    return db.transaction().execute(async (transaction) => {
      const gone = transaction.deleteFrom('solution_user_links').where('token_hash', '=', link.token_hash)
      if (!(await deletedAny(gone))) return false
      if (Object.keys(changed).length === 0) return true
      const user = transaction.updateTable('solution_users').set(changed).where('uid', '=', row.uid)
      // Don't overwrite a password that was set in the meantime, and don't confirm an address that was changed.
      const isOfState = user
        .where('password_hash', row.password_hash === null ? 'is' : '=', row.password_hash)
        .where('email_key', row.email_key === null ? 'is' : '=', row.email_key)
        .where('enabled', '=', 1)
      return (await isOfState.executeTakeFirst()).numUpdatedRows > 0n
    })
  }

  return {
    async create(uid, { kind, proves, lifetime }) {
      const row = await db.selectFrom('solution_users').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()
      const { open } = await db
        .selectFrom('solution_user_links')
        .select((of) => of.fn.countAll<number>().as('open'))
        .where('uid', '=', uid)
        .where('kind', '=', kind)
        .where('expires_at', '>', now())
        .executeTakeFirstOrThrow()
      if (Number(open) >= MOST_OF_A_KIND) return null
      const { token, hash } = FORM.make()
      const times = { created_at: now(), expires_at: now() + lifetime }
      const link = { token_hash: hash, uid, kind, state: stateOf(kind, row), proves, ...times }
      await db.insertInto('solution_user_links').values(link).execute()
      return { token, expiresAt: times.expires_at }
    },
    async revoke(uid, kind) {
      await db.deleteFrom('solution_user_links').where('uid', '=', uid).where('kind', '=', kind).execute()
    },
    async find(token) {
      const found = await findRow(token)
      if (found === null) return null
      const [user] = await usersOfRows(db, [found.row])
      const { organisation, solution } = found.row
      return user === undefined ? null : { kind: found.kind, user, organisation, solution }
    },
    choosePassword: (token, password) =>
      use(token, ['invitation', 'reset'], async () => ({
        password_hash: await passwords.hash(password),
        password_changed_at: now(),
      })),
    confirmAddress: (token) => use(token, ['verification'], async () => ({})),
    async sweep() {
      await db.deleteFrom('solution_user_links').where('expires_at', '<=', now()).execute()
    },
  }
}

/** Hash of the values that a link depends on. When they change, the link is invalidated. */
function stateOf(kind: LinkKind, { password_hash, email_key }: SolutionUserRow): string {
  return storedHash(JSON.stringify(kind === 'verification' ? [kind, email_key] : [password_hash, email_key]))
}
