import { expect, test } from 'vitest'
import { adviceFor } from '../../control-center/access/roles.ts'

test.each([
  ['members', false, 'Only owners have it: ask an owner to do this.'],
  ['members', true, 'Only owners have it: sign in as an owner.'],
  ['packages', false, 'Ask an owner to give you the role "developer".'],
  ['packages', true, 'Use an API token with the role "developer".'],
  ['read', false, 'Ask an owner to give you the role "developer" or "operator" or "viewer".'],
] as const)('the advice for someone without the permission %s (API token: %s) is: %s', (right, isToken, advice) => {
  expect(adviceFor(right, isToken)).toBe(advice)
})
