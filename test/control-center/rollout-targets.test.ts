import { expect, test } from 'vitest'
import type { Environment, EnvironmentType } from '../../control-center/environments/environments.ts'
import { isProduction, type TargetQuery, targetsIn } from '../../control-center/rollouts/targets.ts'

const place = (name: string, type: EnvironmentType): Environment => {
  return { id: name, organisation: 'acme', name, type, createdAt: 0 }
}
const PLACES = [
  place('a-prod', 'onprem'),
  place('live', 'prod'),
  place('plant', 'onprem'),
  place('stage', 'preprod'),
  place('try', 'dev'),
]
const chosen = (query: TargetQuery, suggested: readonly string[] = []) =>
  targetsIn(query, PLACES, new Set(suggested)).flatMap(({ name, isChosen }) => (isChosen ? [name] : []))

test('rollout targets: environments are sorted from development to production', () => {
  expect(targetsIn({}, PLACES, new Set()).map(({ name, position }) => `${position} ${name}`)).toEqual([
    '1 try',
    '2 stage',
    '3 plant',
    '4 a-prod',
    '5 live',
  ])
})

test('rollout targets: suggested environments are preselected, except those for production', () => {
  expect(chosen({}, ['try', 'live', 'a-prod', 'plant'])).toEqual(['try', 'plant'])
})

test('rollout targets: production is selected only if the query contains it; then the suggestions no longer apply', () => {
  expect(chosen({ environment: 'live' }, ['try'])).toEqual(['live'])
  expect(chosen({ environment: ['live', 'a-prod', 'unknown'] })).toEqual(['a-prod', 'live'])
})

test('rollout targets: the positions in the query set the order; environments without a valid position come last', () => {
  const query = { 'position-live': '1', 'position-plant': '2', 'position-try': 'x', 'position-stage': '-1' }
  expect(targetsIn(query, PLACES, new Set()).map(({ name }) => name)).toEqual([
    'live',
    'plant',
    'try',
    'stage',
    'a-prod',
  ])
})

test.each([
  ['live', 'prod', true],
  ['prod', 'onprem', true],
  ['prod-eu', 'dev', true],
  ['eu-production', 'uat', true],
  ['preprod', 'onprem', false],
  ['pre-prod', 'preprod', false],
  ['products', 'onprem', false],
] as const)('rollout targets: whether %s of the type %s is for production: %s', (name, type, expected) => {
  expect(isProduction({ name, type })).toBe(expected)
})
