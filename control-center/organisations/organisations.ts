import { randomUUID } from 'node:crypto'
import { insertOnce } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Memberships, Organisation } from '../access/organisation.ts'
import type { Role } from '../access/roles.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * An organisation's name, which is part of URLs. Chosen here: the same syntax as solution names, but without the rules
 * for host names.
 */
export const OrganisationName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 lowercase letters, digits and hyphens')

/** An organisation's title. It must be a single line, because it also appears in emails. */
export const OrganisationTitle = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

export interface Organisations extends Memberships {
  /**
   * The creator becomes the first owner.
   * @throws ERR_NAME_EXISTS, or ERR_REQUEST_INVALID if the user owns too many organisations
   */
  create(wanted: { readonly name: string; readonly title: string }, uid: string): Promise<Organisation>
  /** @returns the user's organisations, sorted by title */
  ofMember(uid: string): Promise<readonly (Organisation & { readonly role: Role })[]>
  rename(id: string, title: string): Promise<void>
  /** Whether the organisation's members need a second factor. */
  secondFactorOf(id: string): Promise<SecondFactorRule>
  setSecondFactor(id: string, rule: SecondFactorRule): Promise<void>
  /** Whether any of the person's organisations requires a second factor. */
  requireSecondFactor(uid: string): Promise<boolean>
  /** @returns the organisation's members, sorted by username */
  members(id: string): Promise<readonly ListedMember[]>
  /** @throws ERR_NOT_FOUND, ERR_LAST_OWNER */
  setRole(id: string, uid: string, role: Role): Promise<void>
  /** @throws ERR_NOT_FOUND, ERR_LAST_OWNER */
  removeMember(id: string, uid: string): Promise<void>
}

/** `required`: members without a second factor must set one up at their next sign-in. */
export const SECOND_FACTOR_RULES = ['optional', 'required'] as const
export type SecondFactorRule = (typeof SECOND_FACTOR_RULES)[number]

/** A member of an organisation. `since` is when they joined, in epoch ms. */
export type ListedMember = {
  readonly uid: string
  readonly username: string
  readonly role: Role
  readonly since: number
}

/**
 * Maximum organisations that a user may own. Chosen here: without this maximum, anyone could bypass the limits per
 * organisation by creating more organisations.
 */
const MOST_OWNED = 50

export function noMember(uid: string): PlatformError {
  return new PlatformError(
    'ERR_NOT_FOUND',
    `The organisation has no member with the uid "${uid.slice(0, 100)}". The member may have been removed.`,
  )
}

/** @param now returns the current time in epoch milliseconds */
export function createOrganisations(db: CenterDatabase, now: () => number = Date.now): Organisations {
  const columns = ['organisations.id', 'organisations.name', 'organisations.title'] as const
  const memberships = (uid: string) =>
    db
      .selectFrom('members')
      .innerJoin('organisations', 'organisations.id', 'members.organisation')
      .select([...columns, 'members.role'])
      .where('members.uid', '=', uid)

  /** Serialises concurrent changes, so that the last two owners can't remove each other. */
  function changeMember(
    id: string,
    uid: string,
    change: (transaction: CenterDatabase) => Promise<bigint>,
  ): Promise<void> {
    return db.transaction().execute(async (transaction) => {
      const lock = transaction.updateTable('organisations').set((row) => ({ name: row.ref('name') }))
      await lock.where('id', '=', id).execute()
      if ((await change(transaction)) === 0n) throw noMember(uid)
      const owners = transaction.selectFrom('members').select('uid').where('organisation', '=', id)
      if ((await owners.where('role', '=', 'owner').executeTakeFirst()) !== undefined) return
      throw new PlatformError(
        'ERR_LAST_OWNER',
        'An organisation must have at least one owner. Make another member an owner first.',
        { uid },
      )
    })
  }

  async function ofMember(uid: string) {
    const rows = await memberships(uid).orderBy('organisations.title').orderBy('organisations.name').execute()
    return rows.map(({ role, ...organisation }) => ({ ...organisation, role: role as Role }))
  }

  return {
    async rename(id, title) {
      await db.updateTable('organisations').set({ title }).where('id', '=', id).execute()
    },
    async secondFactorOf(id) {
      const row = await db.selectFrom('organisations').select('second_factor').where('id', '=', id).executeTakeFirst()
      return row?.second_factor === 'required' ? 'required' : 'optional'
    },
    async setSecondFactor(id, rule) {
      const second_factor = rule === 'required' ? rule : null
      await db.updateTable('organisations').set({ second_factor }).where('id', '=', id).execute()
    },
    async requireSecondFactor(uid) {
      const requiring = memberships(uid).where('organisations.second_factor', '=', 'required')
      return (await requiring.executeTakeFirst()) !== undefined
    },
    async members(id) {
      const rows = await db
        .selectFrom('members')
        .innerJoin('users', 'users.uid', 'members.uid')
        .select(['members.uid', 'users.username', 'members.role', 'members.created_at'])
        .where('members.organisation', '=', id)
        .orderBy('users.username_key')
        .execute()
      return rows.map(({ created_at, role, ...member }) => ({ ...member, role: role as Role, since: created_at }))
    },
    setRole: (id, uid, role) =>
      changeMember(id, uid, async (transaction) => {
        const update = transaction.updateTable('members').set({ role }).where('organisation', '=', id)
        return (await update.where('uid', '=', uid).executeTakeFirst()).numUpdatedRows
      }),
    removeMember: (id, uid) =>
      changeMember(id, uid, async (transaction) => {
        const removal = transaction.deleteFrom('members').where('organisation', '=', id)
        return (await removal.where('uid', '=', uid).executeTakeFirst()).numDeletedRows
      }),
    async create({ name, title }, uid) {
      const owned = (await ofMember(uid)).filter(({ role }) => role === 'owner')
      if (owned.length >= MOST_OWNED) {
        throw new PlatformError(
          'ERR_REQUEST_INVALID',
          `You own ${MOST_OWNED} organisations, which is the maximum. Before you create another, make someone else the owner of one of them, then change your own role in it.`,
        )
      }
      const organisation = { id: randomUUID(), name, title }
      await db.transaction().execute(async (transaction) => {
        const row = { ...organisation, created_at: now() }
        if (!(await insertOnce(transaction, 'organisations', row))) {
          throw new PlatformError('ERR_NAME_EXISTS', `There is already an organisation "${name}". Choose another name.`)
        }
        const member = { organisation: organisation.id, uid, role: 'owner', created_at: now() }
        await transaction.insertInto('members').values(member).execute()
      })
      return organisation
    },
    ofMember,
    async membership(name, uid) {
      const row = await memberships(uid).where('organisations.name', '=', name).executeTakeFirst()
      if (row === undefined) return null
      const { role, ...organisation } = row
      return { organisation, role: role as Role }
    },
    async find(name) {
      const row = await db.selectFrom('organisations').select(columns).where('name', '=', name).executeTakeFirst()
      return row ?? null
    },
  }
}
