import type { Passwords } from '../../base/accounts/passwords.ts'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import { tokenForm } from '../../base/database/token-form.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { LINK_KINDS } from './schemas.ts'
import { type SolutionUser, type SolutionUserRow, usersOfRows } from './user-rows.ts'

export type LinkKind = (typeof LINK_KINDS)[number]

/** A link that somebody came with, and whose it is. */
export type FoundLink = {
  readonly kind: LinkKind
  readonly user: SolutionUser
  readonly organisation: string
  readonly solution: string
}

export type MadeLink = { readonly token: string; readonly expiresAt: number }

/**
 * Links that let a user choose a password or confirm an address: 256 random bits, of which a hash is stored; used once;
 * void as soon as what they were made for has changed, such as by a password that was chosen meanwhile.
 */
export interface UserLinks {
  /**
   * @param wanted.proves the address that the link is mailed to: whoever uses it reads that mailbox; null: it is shown
   * @param wanted.lifetime in ms
   * @returns null when there are three of this kind already: mails that anybody can ask for are no weapon
   */
  create(
    uid: string,
    wanted: { readonly kind: LinkKind; readonly proves: string | null; readonly lifetime: number },
  ): Promise<MadeLink | null>
  /** Those of a kind are worth nothing any more. */
  revoke(uid: string, kind: LinkKind): Promise<void>
  /** Null when it is unknown, used, over or void; a disabled user has none. Looking uses nothing up: mail scanners look. */
  find(token: string): Promise<FoundLink | null>
  /** @returns false when somebody used it a moment before. @throws ERR_PASSWORDS_BUSY */
  choosePassword(token: string, password: string): Promise<boolean>
  /** @returns false as `choosePassword` */
  confirmAddress(token: string): Promise<boolean>
  /** Removes those whose time is over. */
  sweep(): Promise<void>
}

const FORM = tokenForm('')
const MOST_OF_A_KIND = 3

/** @param now the clock, in epoch milliseconds */
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

  /** @param columns what to change, in the same transaction in which the link goes */
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
      // Not over a password that was set, nor for an address that was changed, in the meantime.
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

/** What a link was made for: it is void once this differs. */
function stateOf(kind: LinkKind, { password_hash, email_key }: SolutionUserRow): string {
  return storedHash(JSON.stringify(kind === 'verification' ? [kind, email_key] : [password_hash, email_key]))
}
