import { mayDo, type Right, ROLES, type Role } from '../access/roles.ts'

/** What an organisation has. The first steps are derived from it, so they are never out of date. */
export type Progress = {
  readonly environments: number
  readonly tokens: number
  /** Environments whose Satellites have connected at least once. */
  readonly connected: number
  readonly packages: number
  readonly rollouts: number
}

export type FirstStep = {
  readonly name: keyof typeof STEPS
  readonly isDone: boolean
  /** Below the organisation's address. */
  readonly path: string
  /** Who can do it, if this member can't; null: this member can. */
  readonly roles: readonly Role[] | null
}

/** In this order. */
const STEPS = {
  environment: { path: '/environments', right: 'environments', done: ({ environments }) => environments > 0 },
  // A Satellite that has connected had a token, even if it was revoked since.
  token: { path: '/credentials', right: 'credentials', done: ({ tokens, connected }) => tokens + connected > 0 },
  satellite: { path: '/credentials', right: 'credentials', done: ({ connected }) => connected > 0 },
  package: { path: '/packages', right: 'packages', done: ({ packages }) => packages > 0 },
  rollout: { path: '/rollouts', right: 'rollouts', done: ({ rollouts }) => rollouts > 0 },
} as const satisfies Record<
  string,
  { readonly path: string; readonly right: Right; readonly done: (progress: Progress) => boolean }
>

/** @returns an empty list when all are done */
export function firstSteps(progress: Progress, role: Role): readonly FirstStep[] {
  const steps = (Object.keys(STEPS) as (keyof typeof STEPS)[]).map((name) => {
    const { path, right, done } = STEPS[name]
    const roles = mayDo(role, right) ? null : ROLES.filter((one) => mayDo(one, right))
    return { name, path, roles, isDone: done(progress) }
  })
  return steps.every(({ isDone }) => isDone) ? [] : steps
}
