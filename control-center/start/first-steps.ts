import { mayDo, type Right, ROLES, type Role } from '../access/roles.ts'

/**
 * Counts of the objects that an organisation has. The state of the first steps is derived from them, so it is always up
 * to date.
 */
export type Progress = {
  readonly environments: number
  readonly tokens: number
  /** The number of environments whose Satellites have connected at least once. */
  readonly connected: number
  readonly packages: number
  readonly rollouts: number
}

export type FirstStep = {
  readonly name: keyof typeof STEPS
  readonly isDone: boolean
  /** The path below the organisation's URL. */
  readonly path: string
  /** The roles that can do this step; null if the member who views the page can do it. */
  readonly roles: readonly Role[] | null
}

/** The steps, in display order. */
const STEPS = {
  environment: { path: '/environments', right: 'environments', done: ({ environments }) => environments > 0 },
  // A Satellite that has connected must have had a token, even if that token has since been revoked.
  token: { path: '/credentials', right: 'credentials', done: ({ tokens, connected }) => tokens + connected > 0 },
  satellite: { path: '/credentials', right: 'credentials', done: ({ connected }) => connected > 0 },
  package: { path: '/packages', right: 'packages', done: ({ packages }) => packages > 0 },
  rollout: { path: '/rollouts', right: 'rollouts', done: ({ rollouts }) => rollouts > 0 },
} as const satisfies Record<
  string,
  { readonly path: string; readonly right: Right; readonly done: (progress: Progress) => boolean }
>

/** @returns an empty list if all steps are done */
export function firstSteps(progress: Progress, role: Role): readonly FirstStep[] {
  const steps = (Object.keys(STEPS) as (keyof typeof STEPS)[]).map((name) => {
    const { path, right, done } = STEPS[name]
    const roles = mayDo(role, right) ? null : ROLES.filter((one) => mayDo(one, right))
    return { name, path, roles, isDone: done(progress) }
  })
  return steps.every(({ isDone }) => isDone) ? [] : steps
}
