import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { PlatformError } from '../../runtime/errors.ts'
import type { Role } from '../access/roles.ts'
import { insertOnce } from '../database/portable.ts'
import type { CenterDatabase } from '../database/tables.ts'

export type Organisation = { readonly id: string; readonly name: string; readonly title: string }

/** Part of addresses. Chosen here: the form of a solution's name without its rules for host names. */
export const OrganisationName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 lower-case letters, digits and hyphens')

export interface Organisations {
  /** Its maker is its first owner. @throws ERR_NAME_EXISTS */
  create(wanted: { readonly name: string; readonly title: string }, uid: string): Promise<Organisation>
  /** Those that a person is a member of, by title. */
  ofMember(uid: string): Promise<readonly (Organisation & { readonly role: Role })[]>
  /** Null when there is none of this name, or the person is no member. */
  membership(name: string, uid: string): Promise<{ readonly organisation: Organisation; readonly role: Role } | null>
  find(name: string): Promise<Organisation | null>
}

/** @param now the clock, in epoch milliseconds */
export function createOrganisations(db: CenterDatabase, now: () => number = Date.now): Organisations {
  const columns = ['organisations.id', 'organisations.name', 'organisations.title'] as const
  const memberships = (uid: string) =>
    db
      .selectFrom('members')
      .innerJoin('organisations', 'organisations.id', 'members.organisation')
      .select([...columns, 'members.role'])
      .where('members.uid', '=', uid)

  return {
    async create({ name, title }, uid) {
      const organisation = { id: randomUUID(), name, title }
      await db.transaction().execute(async (transaction) => {
        const row = { ...organisation, created_at: now() }
        if (!(await insertOnce(transaction, 'organisations', row))) {
          throw new PlatformError('ERR_NAME_EXISTS', `There is an organisation "${name}" already; choose another name.`)
        }
        const member = { organisation: organisation.id, uid, role: 'owner', created_at: now() }
        await transaction.insertInto('members').values(member).execute()
      })
      return organisation
    },
    async ofMember(uid) {
      const rows = await memberships(uid).orderBy('organisations.title').orderBy('organisations.name').execute()
      return rows.map(({ role, ...organisation }) => ({ ...organisation, role: role as Role }))
    },
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
