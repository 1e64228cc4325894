import { z } from '../../runtime/zod.ts'

/** The role of a member, or of an API token, in an organisation. */
export const ROLES = ['owner', 'developer', 'operator', 'viewer'] as const
export type Role = (typeof ROLES)[number]
export const RoleName = z.enum(ROLES)

/**
 * Permissions in an organisation, and the roles that have them. Non-members can't even learn that the organisation
 * exists.
 */
const RIGHTS = {
  /** See environments, packages, pipelines, rollouts, metrics and logs. */
  read: ROLES,
  /** Change the organisation's title. */
  organisation: ['owner'],
  /** Manage members and invitations; also required to see them. */
  members: ['owner'],
  'api-tokens': ['owner'],
  audit: ['owner', 'operator'],
  environments: ['owner', 'operator'],
  /** Manage remote environment tokens, registry passwords and keys; also required to see them. */
  credentials: ['owner', 'operator'],
  packages: ['owner', 'developer'],
  pipelines: ['owner', 'developer'],
  rollouts: ['owner', 'operator'],
  /** Manage users of solutions; also required to see them. */
  'solution-users': ['owner', 'operator'],
  'login-pages': ['owner', 'developer'],
} as const satisfies Record<string, readonly Role[]>

export type Right = keyof typeof RIGHTS

export function mayDo(role: Role, right: Right): boolean {
  return (RIGHTS[right] as readonly Role[]).includes(role)
}
