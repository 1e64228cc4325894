import type { User, Users } from '../../base/accounts/users.ts'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { insertOnce } from '../../base/database/portable.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import { tokenForm } from '../../base/database/token-form.ts'
import type { HostDatabase, HostTables } from '../database/tables.ts'

/** With a `set-up` link from an operator, a user can set up a second factor during a sign-in. */
export const LINK_KINDS = ['invitation', 'password', 'verify', 'set-up'] as const
export type LinkKind = (typeof LINK_KINDS)[number]

const HOUR = 3_600_000
/** How long each kind of link is valid, in ms. */
export const LINK_LIFETIMES: Readonly<Record<LinkKind, number>> = {
  invitation: 7 * 24 * HOUR,
  password: HOUR,
  verify: 24 * HOUR,
  'set-up': HOUR,
}

export type NewLink = {
  readonly kind: LinkKind
  /** The solution whose page the link opens. */
  readonly solution: string
  /** The address that the link verifies. */
  readonly address?: string
  /** Whether the link is sent by email. Using it then proves that the user has access to their mailbox. */
  readonly isMailed: boolean
}

export type MadeLink = { readonly token: string; readonly expiresAt: number }

/** A link that is still valid, and its user. */
export type FoundLink = { readonly user: User; readonly row: HostTables['links'] }

/**
 * Links with which users in the users table choose a password, verify an address or prove their identity. A token has
 * 256 random bits, and only its hash is stored. A link can be used once. A change of the user's password or address
 * invalidates it.
 */
export interface Links {
  /**
   * @returns null if the user already has three valid links of this kind. The limit keeps strangers from flooding a
   *   mailbox with emails
   */
  create(user: User, link: NewLink): Promise<MadeLink | null>
  /** Invalidates the user's links of this kind. */
  revoke(uid: string, kind: LinkKind): Promise<void>
  /**
   * Returns null if the link is unknown, used, expired or invalid, or is for another solution, or if its user is
   * disabled. Doesn't mark the link as used, because mail scanners open links too.
   */
  find(solution: string, kind: LinkKind, token: string): Promise<FoundLink | null>
  /** Marks the link as used. If several callers try this, on any hosts, only one of them gets true. */
  take(link: FoundLink): Promise<boolean>
  /** Deletes expired links. */
  sweep(): Promise<void>
}

/**
 * Returns the token in a submitted form, or '' if there is none. Users whose browser doesn't run scripts paste the
 * whole link from the email.
 */
export function tokenIn(fields: ReadonlyMap<string, string>): string {
  const text = (fields.get('token') || fields.get('link') || '').trim()
  return /(?:^|#token=)([A-Za-z0-9_-]{43})$/.exec(text)?.[1] ?? ''
}

const FORM = tokenForm('')
const MOST_OF_A_KIND = 3

/** @param now returns the current time in epoch milliseconds */
export function createLinks(db: HostDatabase, users: Pick<Users, 'get'>, now: () => number = Date.now): Links {
  const ofUser = (uid: string, kind: LinkKind) => db.deleteFrom('links').where('uid', '=', uid).where('kind', '=', kind)

  return {
    async create(user, { kind, solution, address, isMailed }) {
      const { uid } = user
      const state = stateOf(user)
      // Used and expired links don't count towards the limit.
      await ofUser(uid, kind)
        .where(({ eb, or }) => or([eb('expires_at', '<=', now()), eb('state', '!=', state)]))
        .execute()
      const { token, hash } = FORM.make()
      const expiresAt = now() + LINK_LIFETIMES[kind]
      const row = {
        token_hash: hash,
        kind,
        uid,
        solution,
        state,
        address: address ?? null,
        is_mailed: Number(isMailed),
        expires_at: expiresAt,
      }
      for (let number = 1; number <= MOST_OF_A_KIND; number++) {
        if (await insertOnce(db, 'links', { ...row, place: `${uid} ${kind} ${number}` })) return { token, expiresAt }
      }
      return null
    },
    async revoke(uid, kind) {
      await ofUser(uid, kind).execute()
    },
    async find(solution, kind, token) {
      const hash = FORM.hashOf(token)
      if (hash === null) return null
      const row = await db.selectFrom('links').selectAll().where('token_hash', '=', hash).executeTakeFirst()
      if (row === undefined || row.expires_at <= now() || row.kind !== kind || row.solution !== solution) return null
      const user = await users.get(row.uid)
      return user?.enabled && row.state === stateOf(user) ? { user, row } : null
    },
    take: ({ row }) => deletedAny(db.deleteFrom('links').where('token_hash', '=', row.token_hash)),
    async sweep() {
      await db.deleteFrom('links').where('expires_at', '<=', now()).execute()
    },
  }
}

/**
 * Returns a hash of the user's address and the time of their last password change. It excludes the password's hash,
 * because rehashing the same password must not invalidate links.
 */
function stateOf({ passwordChangedAt, email }: User): string {
  return storedHash(JSON.stringify([passwordChangedAt, email]))
}
