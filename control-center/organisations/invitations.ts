import { randomUUID } from 'node:crypto'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { insertOnce } from '../../base/database/portable.ts'
import { tokenForm } from '../../base/database/token-form.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Role } from '../access/roles.ts'
import type { CenterDatabase } from '../database/tables.ts'

/** An invited person who has not responded yet. Times are epoch milliseconds. */
export type Invitation = {
  readonly id: string
  /** In lower case. If accepting the invitation creates an account, this is its username. */
  readonly email: string
  readonly role: Role
  /** The actor's name, as in the audit log. */
  readonly invitedBy: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** The invitation that a link opens. */
export type OpenInvitation = Invitation & {
  readonly organisation: { readonly id: string; readonly name: string; readonly title: string }
}

export interface Invitations {
  /**
   * Creates an invitation, and invalidates any earlier invitation to the same address. The link's `token` has 256
   * random bits. Only its hash is stored.
   * @throws ERR_REQUEST_INVALID if there are too many open invitations
   */
  create(
    organisation: string,
    wanted: Pick<Invitation, 'email' | 'role' | 'invitedBy'>,
  ): Promise<Invitation & { readonly token: string }>
  /** Open invitations, newest first. */
  list(organisation: string): Promise<readonly Invitation[]>
  /** @returns null if there is no such invitation */
  remove(organisation: string, id: string): Promise<Invitation | null>
  /** @returns null if the invitation is unknown, expired, revoked or already accepted */
  find(token: string): Promise<OpenInvitation | null>
  /**
   * Deletes the invitation and adds the person as a member; existing members keep their role.
   * @returns null in the same cases as `find`
   */
  accept(token: string, uid: string): Promise<OpenInvitation | null>
  /** Removes expired invitations. */
  sweep(): Promise<void>
}

const FORM = tokenForm('sci_')
/** How long an invitation is valid, in ms. */
const LIFETIME = 7 * 86_400_000
/** Maximum open invitations per organisation. */
const MOST_OPEN = 200

/** @param now returns the current time in epoch milliseconds */
export function createInvitations(db: CenterDatabase, now: () => number = Date.now): Invitations {
  function openOf(organisation: string) {
    return db
      .selectFrom('invitations')
      .selectAll()
      .where('organisation', '=', organisation)
      .where('expires_at', '>', now())
  }

  async function find(token: string): Promise<OpenInvitation | null> {
    const hash = FORM.hashOf(token)
    if (hash === null) return null
    const row = await db
      .selectFrom('invitations')
      .innerJoin('organisations', 'organisations.id', 'invitations.organisation')
      .select(['invitations.id', 'email', 'role', 'invited_by', 'invitations.created_at', 'expires_at'])
      .select(['organisations.id as organisation', 'organisations.name', 'organisations.title'])
      .where('token_hash', '=', hash)
      .where('expires_at', '>', now())
      .executeTakeFirst()
    if (row === undefined) return null
    const { organisation: id, name, title } = row
    return { ...invitationOf(row), organisation: { id, name, title } }
  }

  return {
    find,
    async create(organisation, { email: address, role, invitedBy }) {
      const email = address.toLowerCase()
      const others = (await openOf(organisation).execute()).filter((one) => one.email !== email)
      if (others.length >= MOST_OPEN) {
        throw new PlatformError(
          'ERR_REQUEST_INVALID',
          `There can be at most ${MOST_OPEN} open invitations. Revoke one first.`,
        )
      }
      const { token, hash } = FORM.make()
      const times = { created_at: now(), expires_at: now() + LIFETIME }
      const row = { id: randomUUID(), email, role, invited_by: invitedBy, ...times }
      await db.transaction().execute(async (transaction) => {
        const earlier = transaction.deleteFrom('invitations').where('organisation', '=', organisation)
        await earlier.where('email', '=', email).execute()
        const values = { ...row, organisation, token_hash: hash }
        await transaction.insertInto('invitations').values(values).execute()
      })
      return { ...invitationOf(row), token }
    },
    async list(organisation) {
      const rows = await openOf(organisation).orderBy('created_at', 'desc').orderBy('id').execute()
      return rows.map(invitationOf)
    },
    async remove(organisation, id) {
      const row = await openOf(organisation).where('id', '=', id).executeTakeFirst()
      if (row === undefined) return null
      return (await deletedAny(db.deleteFrom('invitations').where('id', '=', row.id))) ? invitationOf(row) : null
    },
    async accept(token, uid) {
      const invitation = await find(token)
      if (invitation === null) return null
      const { id, role, organisation } = invitation
      return db.transaction().execute(async (transaction) => {
        // If two requests accept the invitation at the same time, only one of them deletes it.
        if (!(await deletedAny(transaction.deleteFrom('invitations').where('id', '=', id)))) return null
        await insertOnce(transaction, 'members', { organisation: organisation.id, uid, role, created_at: now() })
        return invitation
      })
    },
    async sweep() {
      await db.deleteFrom('invitations').where('expires_at', '<=', now()).execute()
    },
  }
}

type Row = {
  id: string
  email: string
  role: string
  invited_by: string
  created_at: number
  expires_at: number
}

function invitationOf({ id, email, role, invited_by, created_at, expires_at }: Row): Invitation {
  return { id, email, role: role as Role, invitedBy: invited_by, createdAt: created_at, expiresAt: expires_at }
}
