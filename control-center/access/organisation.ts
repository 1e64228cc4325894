import type { Role } from './roles.ts'

export type Organisation = { readonly id: string; readonly name: string; readonly title: string }

/** Looks up a person's membership in an organisation. */
export interface Memberships {
  /** @returns null if there is no organisation with this name, or the person is not a member */
  membership(name: string, uid: string): Promise<{ readonly organisation: Organisation; readonly role: Role } | null>
  find(name: string): Promise<Organisation | null>
}
