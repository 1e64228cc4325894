import type { Role } from './roles.ts'

export type Organisation = { readonly id: string; readonly name: string; readonly title: string }

/** Who is a member of which organisation. */
export interface Memberships {
  /** Null when there is none of this name, or the person is no member. */
  membership(name: string, uid: string): Promise<{ readonly organisation: Organisation; readonly role: Role } | null>
  find(name: string): Promise<Organisation | null>
}
