import { z } from '../../runtime/zod.ts'

/** The role of a member, or of an API token, in an organisation. */
export const ROLES = ['owner', 'developer', 'operator', 'viewer'] as const
export type Role = (typeof ROLES)[number]
export const RoleName = z.enum(ROLES)

/** Permissions in an organisation, and the roles that have them. */
const RIGHTS = {
  /** Read environments, packages, pipelines, rollouts, metrics and logs. */
  read: ROLES,
  /** Change the organisation's title. */
  organisation: ['owner'],
  /** Read and manage members and invitations. */
  members: ['owner'],
  'api-tokens': ['owner'],
  audit: ['owner', 'operator'],
  environments: ['owner', 'operator'],
  /** Read and manage remote environment tokens, registry passwords and keys. */
  credentials: ['owner', 'operator'],
  packages: ['owner', 'developer'],
  pipelines: ['owner', 'developer'],
  rollouts: ['owner', 'operator'],
  /** Read and manage the users of solutions. */
  'solution-users': ['owner', 'operator'],
  'login-pages': ['owner', 'developer'],
} as const satisfies Record<string, readonly Role[]>

export type Right = keyof typeof RIGHTS

export function mayDo(role: Role, right: Right): boolean {
  return (RIGHTS[right] as readonly Role[]).includes(role)
}

/** What a member or an API token without the permission can do. */
export function adviceFor(right: Right, isToken: boolean): string {
  const others = RIGHTS[right].filter((role) => role !== 'owner').map((role) => `"${role}"`)
  if (others.length === 0)
    return isToken ? 'Only owners have it: sign in as an owner.' : 'Only owners have it: ask an owner to do this.'
  const roles = others.join(' or ')
  return isToken ? `Use an API token with the role ${roles}.` : `Ask an owner to give you the role ${roles}.`
}
