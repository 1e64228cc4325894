import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { BY_CENTER_PAGE, BY_CENTER_PASSKEY } from '../../control-center/accounts/pages.ts'
import { BY_CENTER_SET_UP } from '../../control-center/second-step/set-up.ts'
import { BY_CENTER_SECOND_STEP } from '../../control-center/second-step/step-pages.ts'
import { BY_ADMIN_SECOND_STEP, BY_ADMIN_SET_UP } from '../../host/admin-factors/second-step-pages.ts'
import { BY_LOGIN_TOKEN, BY_PASSKEY, BY_PASSWORD } from '../../host/login/sign-in.ts'
import { BY_LOGIN_FORM } from '../../host/login/sign-in-by-login-form.ts'
import { REMEMBERED } from '../../host/login/sign-in-remembered.ts'
import { BY_PROVIDER } from '../../host/oauth/return.ts'
import { BY_ADMIN_PAGE, BY_ADMIN_TOKEN } from '../../host/pages/sign-in.ts'
import { BY_SECOND_STEP } from '../../host/second-step/second-step.ts'
import { BY_SET_UP } from '../../host/second-step/set-up.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** All rows of the table in base/accounts/sign-in-steps.ts. */
const WAYS = {
  BY_PASSWORD,
  BY_PASSKEY,
  BY_LOGIN_TOKEN,
  BY_LOGIN_FORM,
  REMEMBERED,
  BY_PROVIDER,
  BY_SECOND_STEP,
  BY_SET_UP,
  BY_ADMIN_PAGE,
  BY_ADMIN_TOKEN,
  BY_ADMIN_SECOND_STEP,
  BY_ADMIN_SET_UP,
  BY_CENTER_PAGE,
  BY_CENTER_PASSKEY,
  BY_CENTER_SECOND_STEP,
  BY_CENTER_SET_UP,
}
const STEPS = ['ownPage', 'throttle', 'source', 'secondStep', 'accept', 'audit', 'redirect'] as const

/** Other files that start sessions, and why they have no row in the table. */
const OTHER_STARTS: Readonly<Record<string, string>> = {
  'control-center/access/page-sessions.ts': 'the sessions of the control center, which its pages start',
  'control-center/accounts/invitation-pages.ts':
    'users who accept an invitation; the page checks and records their password',
  'control-center/second-step/complete.ts': 'sign-ins whose last step is a row of control-center/second-step',
  'host/login/start-session.ts': 'the sessions of solutions, which the rows in host/login and host/oauth start',
  'host/second-step/complete.ts': 'sign-ins whose last step is a row of host/second-step',
  'host/solution-tests/stage-visitor.ts': 'sessions of `solhost test`, which no browser has',
  'host/telemetry/watch.ts': 'measures how long it takes to start a session',
}

const sources = ['base', 'host', 'control-center'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ file: `${folder}/${name}`, text: readFileSync(join(ROOT, folder, name), 'utf8') })),
)

test('every sign-in method has every step, or gives the reason for omitting it', () => {
  for (const [name, way] of Object.entries(WAYS)) {
    for (const step of STEPS) {
      const here = way[step]
      if (typeof here === 'object') expect(here.none, `${name}.${step}`).toMatch(/^.{20,}\.$/)
      else expect(here, `${name}.${step}`).toBeTypeOf('function')
    }
  }
})

test('every sign-in method checks its page, and those without a throttle or an audit log entry are known', () => {
  const without = (step: 'throttle' | 'audit') => Object.entries(WAYS).filter(([, way]) => 'none' in way[step])
  expect(without('throttle').map(([name]) => name)).toEqual([
    'REMEMBERED',
    'BY_PROVIDER',
    'BY_SECOND_STEP',
    'BY_SET_UP',
    'BY_ADMIN_PAGE',
    'BY_ADMIN_TOKEN',
    'BY_ADMIN_SECOND_STEP',
    'BY_ADMIN_SET_UP',
    'BY_CENTER_PAGE',
    'BY_CENTER_SECOND_STEP',
    'BY_CENTER_SET_UP',
  ])
  expect(without('audit').map(([name]) => name)).toEqual(['BY_ADMIN_PAGE', 'BY_ADMIN_SECOND_STEP', 'BY_ADMIN_SET_UP'])
})

test('the list of sign-in methods is complete', () => {
  const rows = sources.flatMap(({ text }) => [
    ...text.matchAll(/^(?:export )?const (\w+): (?:WayOfSigningIn<|StepWay |typeof BY_PASSWORD )/gm),
  ])
  expect(rows.map(([, name]) => name).sort()).toEqual(Object.keys(WAYS).sort())
})

test('only sign-in methods start sessions', () => {
  const starting = sources.filter(({ text }) =>
    /\b(?:acceptSignIn|startSession|(?:s|pageS|browserS)essions\.start)\(/.test(text),
  )
  const others = starting
    .filter(({ text }) => !/: WayOfSigningIn<|^export const \w+: StepWay /m.test(text))
    .map(({ file }) => file)
  expect(others.sort()).toEqual(Object.keys(OTHER_STARTS))
})
