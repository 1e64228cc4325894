import { afterAll, describe, expect, test } from 'vitest'
import { checkUser } from '../../base/accounts/user-rules.ts'
import { loginTokenForm } from '../../host/login/login-token-api.ts'
import { checkManifest } from '../../runtime/bundle/manifest.ts'
import { createLimits } from '../../runtime/limits.ts'
import { checkedForm, formWith } from '../support/forms.ts'
import { createScriptLab } from '../support/solutions.ts'

// Tests that all ways to grant permissions accept every permission name that is valid in a manifest.

const lab = createScriptLab()
afterAll(() => lab.stop())
const limits = createLimits()

const CHECKS: readonly (readonly [string, (name: string) => boolean | Promise<boolean>])[] = [
  [
    'a manifest',
    (name) =>
      checkManifest({ name: 'crm', version: '1.0.0', permissions: [name] }, 'solution.json').faults.length === 0,
  ],
  ['a form', (name) => checkedForm({ ...formWith(), permission: name }).form !== null],
  ['an element', (name) => checkedForm(formWith({ type: 'label', name: 'a', permission: name })).form !== null],
  [
    'security.login',
    async (name) => {
      const script = `function onSolutionOpen() { security.login('anna', 'a', [${JSON.stringify(name)}]) }`
      return (await lab.run({ script, evaluated: true })).effects.login !== null
    },
  ],
  [
    'a user',
    (name) =>
      checkUser({ username: 'anna', permissions: [name] }, { username: 'anna', email: null }, limits).length === 0,
  ],
  [
    'a login token',
    (name) => loginTokenForm(limits).safeParse({ username: 'a', uid: 'a', permissions: [name] }).success,
  ],
]

describe.each(CHECKS)('a permission in %s', (_where, isTaken) => {
  test.each(['a\u202eb', 'a\u200bb', '\u2066a', 'a\u00adb', 'a\u2028b', 'a\u0007b', ' a', 'a\u00a0', 'a\ud800'])(
    'the permission %j is rejected',
    async (name) => {
      expect(await isTaken(name)).toBe(false)
    },
  )

  test.each(['Users', 'Ventes (Québec)', 'کاربر\u200cها', '👩\u200d💻', 'a'.repeat(200)])(
    'the permission %j is accepted',
    async (name) => {
      expect(await isTaken(name)).toBe(true)
    },
  )
})
