import { expect, test } from 'vitest'
import type { SignInMethod } from '../../../base/accounts/sign-in-methods.ts'
import {
  LEVELS,
  type Level,
  levelFor,
  type NextStep,
  nextStep,
  type SignInPolicy,
  type SignInState,
} from '../../../host/second-step/policy.ts'

const NOW = Date.UTC(2027, 0, 31)
const DAY = 86_400_000

/** @returns whether a remembered login may still be used; its set-up is treated as postponed */
function stillMeets(policy: SignInPolicy, state: SignInState, now: number): boolean {
  return nextStep(policy, { ...state, isPostponed: true }, now).step === 'done'
}

/** The expected next steps if the level applies to the user and there is no grace period. */
const CONTRACT = `
second step     factors  off   optional     required     passkey
none            none     done  done         set-up       set-up
none            app      done  second-step  second-step  second-step
none            passkey  done  second-step  second-step  second-step
none            both     done  second-step  second-step  second-step
totp            app      done  done         done         set-up
totp            both     done  done         done         second-step
recovery-code   app      done  done         done         set-up
recovery-code   passkey  done  done         done         set-up
recovery-code   both     done  done         done         set-up
provider-mfa    none     done  done         done         set-up
provider-mfa    app      done  done         done         second-step
provider-mfa    passkey  done  done         done         second-step
provider-mfa    both     done  done         done         second-step
security-key    passkey  done  done         done         done
security-key    both     done  done         done         done
passkey         passkey  done  done         done         done
passkey         both     done  done         done         done
token           none     done  done         done         done
token           app      done  done         done         done
token           passkey  done  done         done         done
token           both     done  done         done         done
mfa+totp        app      done  done         done         set-up
mfa+totp        both     done  done         done         second-step
totp+key        both     done  done         done         done
`

/**
 * The methods of the first step in each mode. A passkey as the first step is not listed, because it completes both
 * steps.
 */
const FIRST_STEPS: Readonly<Record<string, readonly SignInMethod[]>> = {
  DEFAULT: ['password'],
  AUTHENTICATOR: ['script'],
  loginSolution: ['script'],
  loginForm: ['script'],
  OAUTH: ['provider'],
  OAUTH_AUTHENTICATOR: ['provider'],
  PLATFORM_CLOUD: ['cloud'],
}

const SECOND_STEPS: Readonly<Record<string, readonly SignInMethod[]>> = {
  none: [],
  'mfa+totp': ['provider-mfa', 'totp'],
  'totp+key': ['totp', 'security-key'],
}

const FACTORS: Readonly<Record<string, SignInState['factors']>> = {
  none: { passkey: false, app: false, codesOnly: false },
  app: { passkey: false, app: true, codesOnly: false },
  passkey: { passkey: true, app: false, codesOnly: false },
  both: { passkey: true, app: true, codesOnly: false },
}

type Row = {
  readonly second: string
  readonly factors: string
  readonly level: Level
  readonly step: string
  readonly modes: readonly { readonly mode: string; readonly methods: readonly SignInMethod[] }[]
}

function readContract(): Row[] {
  const [head = '', ...lines] = CONTRACT.trim().split('\n')
  const levels = head.split(/\s{2,}/).slice(2) as Level[]
  return lines.flatMap((line) => {
    const [second = '', factors = '', ...steps] = line.split(/\s+/)
    return levels.map((level, index) => ({ second, factors, level, step: steps[index] ?? '', modes: modesOf(second) }))
  })
}

function modesOf(second: string): Row['modes'] {
  if (second === 'token') return [{ mode: 'login token', methods: ['token'] }]
  const after = SECOND_STEPS[second] ?? [second as SignInMethod]
  const ofProvider = after.includes('provider-mfa')
  const modes = Object.entries(FIRST_STEPS).flatMap(([mode, first]) => {
    if (ofProvider && first[0] !== 'provider') return []
    return [{ mode, methods: [...first, ...after] }]
  })
  return second === 'passkey' ? [...modes, { mode: 'passkey as first step', methods: ['passkey'] }] : modes
}

const ROWS = readContract()
const CASES = ROWS.flatMap(({ modes, ...row }) => modes.map((mode) => ({ ...row, ...mode })))

function policyOf(level: Level, others: Partial<SignInPolicy> = {}): SignInPolicy {
  return { level, requiredFor: null, graceDays: 0, ...others }
}

function stateOf(others: Partial<SignInState> = {}): SignInState {
  const user = {
    permissions: ['Users'],
    methods: ['password'] as const,
    factors: FACTORS.none as SignInState['factors'],
  }
  return { ...user, isRaised: false, firstAskedAt: null, isPostponed: false, ...others }
}

const stepOf = (policy: SignInPolicy, state: SignInState) => nextStep(policy, state, NOW).step

function statesOf({ modes, factors }: Row): SignInState[] {
  return modes.map(({ methods }) => stateOf({ methods, factors: FACTORS[factors] as SignInState['factors'] }))
}

test('policy: the table covers every mode, level, factor state and method', () => {
  expect(new Set(CASES.map(({ level }) => level))).toEqual(new Set(LEVELS))
  expect(new Set(CASES.map(({ mode }) => mode))).toEqual(
    new Set([...Object.keys(FIRST_STEPS), 'passkey as first step', 'login token']),
  )
  for (const mode of Object.keys(FIRST_STEPS)) {
    const states = CASES.filter((one) => one.mode === mode && one.second === 'none')
    expect(states).toHaveLength(LEVELS.length * Object.keys(FACTORS).length)
  }
  // There are 14 rows for each of 7 modes. Two of the modes have 6 more rows, in which the provider reports
  // multi-factor authentication. Two rows begin with a passkey, and 4 with a token.
  expect(CASES).toHaveLength((7 * 14 + 2 * 6 + 2 + 4) * LEVELS.length)
})

test.each(CASES)(
  'policy: in $mode, after $second, with factors $factors, at $level, the next step is $step',
  ({ level, methods, factors, step }) => {
    const state = stateOf({ methods, factors: FACTORS[factors] as SignInState['factors'] })
    expect(nextStep(policyOf(level), state, NOW)).toEqual(expectedOf(step))
  },
)

function expectedOf(step: string): NextStep {
  return step === 'set-up' ? { step, canPostpone: false } : { step: step as 'done' | 'second-step' }
}

test('policy: for users without any of the permissions in requiredFor, the levels "required" and "passkey" work like "optional"', () => {
  const rows = (of: Level) => ROWS.filter(({ level }) => level === of)
  for (const level of ['required', 'passkey'] as const) {
    const policy = policyOf(level, { requiredFor: ['Administrators', 'Billing'] })
    rows('optional').forEach((optional, index) => {
      const applying = rows(level)[index] as Row
      for (const state of statesOf(optional)) {
        const others = { ...state, permissions: ['Users', 'administrators'] }
        expect([optional, stepOf(policy, others)]).toEqual([optional, optional.step])
        expect([applying, stepOf(policy, { ...state, permissions: ['Users', 'Billing'] })]).toEqual([
          applying,
          applying.step,
        ])
      }
    })
  }
  // `requiredFor` has no effect at the levels `off` and `optional`.
  for (const level of ['off', 'optional'] as const) {
    const policy = policyOf(level, { requiredFor: ['Users'] })
    for (const row of rows(level)) {
      for (const state of statesOf(row)) expect([row, stepOf(policy, state)]).toEqual([row, row.step])
    }
  }
})

test('policy: a script raises the levels "off" and "optional" to "required" for one login, and never lowers a level', () => {
  const expected = { off: 'required', optional: 'required', required: 'required', passkey: 'passkey' } as const
  for (const row of ROWS) {
    const raised = ROWS.find((one) => {
      return one.second === row.second && one.factors === row.factors && one.level === expected[row.level]
    })
    for (const state of statesOf(row)) {
      const step = stepOf(policyOf(row.level), { ...state, isRaised: true })
      expect([row, step]).toEqual([row, raised?.step])
    }
  }
  const someone = { permissions: ['Users'], isRaised: true }
  expect(levelFor(policyOf('required', { requiredFor: ['Billing'] }), someone)).toBe('required')
})

test('policy: users can postpone the set-up during the grace period, and nothing moves the end of the period', () => {
  const policy = policyOf('required', { graceDays: 14 })
  const asked = (days: number, others: Partial<SignInState> = {}) =>
    nextStep(policy, stateOf({ firstAskedAt: NOW - days * DAY, ...others }), NOW)
  const end = { step: 'set-up', canPostpone: false }
  expect(nextStep(policy, stateOf(), NOW)).toEqual({ step: 'set-up', canPostpone: true })
  expect(asked(0)).toEqual({ step: 'set-up', canPostpone: true })
  expect(asked(13.999)).toEqual({ step: 'set-up', canPostpone: true })
  expect([asked(14), asked(400)]).toEqual([end, end])
  expect([asked(13.999, { isPostponed: true }), asked(14, { isPostponed: true })]).toEqual([{ step: 'done' }, end])
  // Only the set-up can be postponed.
  expect(asked(1, { isPostponed: true, factors: FACTORS.app as SignInState['factors'] })).toEqual({
    step: 'second-step',
  })
  // Without a grace period, "Not now" in a forged request has no effect.
  expect(nextStep(policyOf('required'), stateOf({ isPostponed: true }), NOW)).toEqual(end)
})

test('policy: at the level "passkey", a user without a passkey can postpone its set-up, and one who used a recovery code instead of a passkey cannot', () => {
  const policy = policyOf('passkey', { graceDays: 14 })
  const { app, passkey } = FACTORS as Record<string, SignInState['factors']>
  const after = (method: SignInMethod, factors: SignInState['factors'] | undefined) => {
    const state = stateOf({ methods: ['password', method], factors: factors as SignInState['factors'] })
    return [nextStep(policy, state, NOW), stepOf(policy, { ...state, isPostponed: true })]
  }
  expect(after('totp', app)).toEqual([{ step: 'set-up', canPostpone: true }, 'done'])
  expect(after('recovery-code', app)).toEqual([{ step: 'set-up', canPostpone: true }, 'done'])
  expect(after('recovery-code', passkey)).toEqual([{ step: 'set-up', canPostpone: false }, 'set-up'])
})

test('policy: a remembered login can be used if its sign-in meets the policy now in force', () => {
  for (const row of ROWS) {
    for (const state of statesOf(row)) {
      expect([row, stillMeets(policyOf(row.level), state, NOW)]).toEqual([row, row.step === 'done'])
    }
  }
  // Logins that older versions stored have no methods.
  const older = stateOf({ methods: [] })
  expect(LEVELS.map((level) => stillMeets(policyOf(level), older, NOW))).toEqual([true, true, false, false])
})

test('policy: a remembered login without a factor lasts until the grace period ends', () => {
  const policy = policyOf('required', { graceDays: 30 })
  const meets = (days: number) => stillMeets(policy, stateOf({ firstAskedAt: NOW - days * DAY }), NOW)
  expect([meets(0), meets(29.999), meets(30)]).toEqual([true, true, false])
  const withApp = stateOf({ firstAskedAt: NOW, factors: FACTORS.app as SignInState['factors'] })
  expect(stillMeets(policy, withApp, NOW)).toBe(false)
})

test('policy: an account that has only passkeys for another address needs a recovery code, then meets every level except passkey', () => {
  const factors = { passkey: false, app: false, codesOnly: true }
  for (const level of ['optional', 'required', 'passkey'] as const) {
    const policy = policyOf(level, { graceDays: 14 })
    const stepAfter = (...methods: SignInMethod[]) =>
      nextStep(policy, stateOf({ methods: ['password', ...methods], factors, isPostponed: true }), NOW).step
    expect([level, stepAfter()]).toEqual([level, 'second-step'])
    if (level !== 'passkey') expect(stepAfter('recovery-code')).toBe('done')
  }
})
