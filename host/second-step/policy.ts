import { hasSecondStep, type SignInMethod } from '../../base/accounts/sign-in-methods.ts'
import { hasFactor, type UsableFactors } from '../../base/accounts/usable-factors.ts'

/**
 * The users who need a second step. `off`: none. `optional`: users who have a factor. `required`: everyone that the
 * policy applies to. `passkey`: the same users, but codes are not accepted.
 */
export const LEVELS = ['off', 'optional', 'required', 'passkey'] as const
export type Level = (typeof LEVELS)[number]

/** A solution's sign-in policy. */
export type SignInPolicy = {
  readonly level: Level
  /** `required` and `passkey` apply to users who have one of these permissions; null: to everyone. */
  readonly requiredFor: readonly string[] | null
  /** The days during which users can postpone the set-up, counted from when they were first asked. */
  readonly graceDays: number
  /** Whether users can set up their first factor only with a link from an operator; absent: no. */
  readonly setUpByLink?: boolean
}

/** The state of a sign-in after its first step. Times are epoch ms. */
export type SignInState = {
  readonly permissions: readonly string[]
  readonly methods: readonly SignInMethod[]
  readonly factors: UsableFactors
  /** Whether the solution's script required a second step for this sign-in. */
  readonly isRaised: boolean
  /** When the user was first asked to set up a factor; null: never. */
  readonly firstAskedAt: number | null
  /** Whether the user chose "Not now" during this sign-in. */
  readonly isPostponed: boolean
}

/** The steps that a sign-in still needs. `canPostpone`: the page offers "Not now". */
export type NextStep =
  | { readonly step: 'done' }
  | { readonly step: 'second-step' }
  | { readonly step: 'set-up'; readonly canPostpone: boolean }

const DONE: NextStep = { step: 'done' }
/**
 * Methods that level `passkey` accepts. Codes are not accepted, because users could enter them on a look-alike page.
 */
const UNPHISHABLE: readonly SignInMethod[] = ['passkey', 'security-key', 'token']
const DAY = 24 * 60 * 60 * 1000

/** The level for one user: `requiredFor` limits it to users with certain permissions, and the script can raise it. */
export function levelFor({ level, requiredFor }: SignInPolicy, { permissions, isRaised }: LevelOf): Level {
  const applies = requiredFor === null || requiredFor.some((name) => permissions.includes(name))
  const ofPolicy = applies || level === 'off' ? level : 'optional'
  return isRaised && (ofPolicy === 'off' || ofPolicy === 'optional') ? 'required' : ofPolicy
}

type LevelOf = Pick<SignInState, 'permissions' | 'isRaised'>

/** The next step of a sign-in. */
export function nextStep(policy: SignInPolicy, state: SignInState, now: number): NextStep {
  const { factors } = state
  const level = levelFor(policy, state)
  // At level `passkey`, a second factor that the provider reports doesn't replace our own second step: it may have been
  // a typed code.
  const methods = level === 'passkey' ? state.methods.filter((method) => method !== 'provider-mfa') : state.methods
  if (level === 'off') return DONE
  const isSecondDone = hasSecondStep(methods)
  if (!isSecondDone && hasFactor(factors)) return { step: 'second-step' }
  if (level === 'optional' || meets(level, methods)) return DONE
  // At level `passkey`, users can enter a code to set up their first passkey. If they have one, a code isn't enough.
  if (isSecondDone && level === 'passkey' && factors.passkey && !methods.includes('recovery-code')) {
    return { step: 'second-step' }
  }
  // Users who enter a recovery code instead of a passkey must set up a new passkey.
  const isReplacing = level === 'passkey' && factors.passkey
  const canPostpone = !isReplacing && now < (state.firstAskedAt ?? now) + policy.graceDays * DAY
  return state.isPostponed && canPostpone ? DONE : { step: 'set-up', canPostpone }
}

function meets(level: Level, methods: readonly SignInMethod[]): boolean {
  return level === 'passkey' ? methods.some((method) => UNPHISHABLE.includes(method)) : hasSecondStep(methods)
}
