import { z } from '../../runtime/zod.ts'

/** What a member, or an access token, is in an organisation. */
export const ROLES = ['owner', 'developer', 'operator', 'viewer'] as const
export type Role = (typeof ROLES)[number]
export const RoleName = z.enum(ROLES)

/** What can be done in an organisation, and who may. Who is no member learns not even that it exists. */
const RIGHTS = {
  /** See environments, packages, pipelines, rollouts, figures and logs. */
  read: ROLES,
  /** Its title. */
  organisation: ['owner'],
  /** Members and invitations: also to see them. */
  members: ['owner'],
  'access-tokens': ['owner'],
  activity: ['owner', 'operator'],
  environments: ['owner', 'operator'],
  /** Remote environment tokens and registry passwords and keys: also to see them. */
  credentials: ['owner', 'operator'],
  packages: ['owner', 'developer'],
  pipelines: ['owner', 'developer'],
  rollouts: ['owner', 'operator'],
  /** Users of solutions: also to see them. */
  'solution-users': ['owner', 'operator'],
  'login-pages': ['owner', 'developer'],
} as const satisfies Record<string, readonly Role[]>

export type Right = keyof typeof RIGHTS

export function mayDo(role: Role, right: Right): boolean {
  return (RIGHTS[right] as readonly Role[]).includes(role)
}
