import { expect, test } from 'vitest'
import { firstSteps } from '../../control-center/start/first-steps.ts'

const NOTHING = { environments: 0, tokens: 0, connected: 0, packages: 0, rollouts: 0 }
const doneOf = (progress: Partial<typeof NOTHING>) =>
  firstSteps({ ...NOTHING, ...progress }, 'owner')
    .filter(({ isDone }) => isDone)
    .map(({ name }) => name)

test('a step is done if the organisation has what it creates, in any order', () => {
  expect(doneOf({})).toEqual([])
  expect(doneOf({ environments: 1, packages: 2 })).toEqual(['environment', 'package'])
  expect(doneOf({ environments: 1, tokens: 1 })).toEqual(['environment', 'token'])
})

test('if a Satellite has connected, the token step is done, even if the token has been revoked', () => {
  expect(doneOf({ environments: 1, connected: 1 })).toEqual(['environment', 'token', 'satellite'])
})

test('there are no steps once all are done', () => {
  const all = { environments: 1, tokens: 1, connected: 1, packages: 1, rollouts: 1 }
  expect(firstSteps(all, 'viewer')).toEqual([])
})

test('a member whose role does not allow a step sees which roles do', () => {
  const rolesOf = (role: 'developer' | 'viewer') => firstSteps(NOTHING, role).map(({ roles }) => roles)
  const operators = ['owner', 'operator']
  expect(rolesOf('developer')).toEqual([operators, operators, operators, null, operators])
  expect(rolesOf('viewer')[3]).toEqual(['owner', 'developer'])
})
