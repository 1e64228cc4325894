import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createSignInPolicies } from '../../../host/second-step/policies.ts'
import { AUTHENTICATOR_MODES } from '../../../runtime/bundle/manifest.ts'
import { manifestOf } from '../../support/solutions.ts'

let home: string
let db: HostDatabase
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-sign-in-policies-'))
  db = await openHostDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const DEFAULTS = {
  NONE: 'optional',
  DEFAULT: 'optional',
  PLATFORM_CLOUD: 'optional',
  AUTHENTICATOR: 'optional',
} as const
const OF_MODE = { ...DEFAULTS, OAUTH: 'off', OAUTH_AUTHENTICATOR: 'off' }

test.each(AUTHENTICATOR_MODES)('policies: the mode %s has its default level', async (authenticator) => {
  const policy = await createSignInPolicies(db).policyFor({ name: 'crm', manifest: manifestOf({ authenticator }) })
  expect(policy).toEqual({ level: OF_MODE[authenticator], requiredFor: null, graceDays: 0, source: 'default' })
})

test('policies: the default for solutions with a login form or a login solution is optional', async () => {
  for (const written of [{ loginForm: 'login' }, { loginSolution: 'login', modules: ['login'] }]) {
    const policy = await createSignInPolicies(db).policyFor({ name: 'crm', manifest: manifestOf(written) })
    expect(policy).toMatchObject({ level: 'optional', source: 'default' })
  }
})

test('policies: the manifest replaces the default, and the operator’s policy replaces both as a whole', async () => {
  const policies = createSignInPolicies(db)
  const signIn = { secondFactor: 'required', requiredFor: ['Administrators'] }
  const manifest = manifestOf({ authenticator: 'OAUTH', signIn })
  const ofManifest = { level: 'required', requiredFor: ['Administrators'], graceDays: 0, source: 'manifest' }
  expect(await policies.policyFor({ name: 'shop', manifest })).toEqual(ofManifest)
  const policy = { level: 'required', requiredFor: null, graceDays: 14 } as const
  await policies.put('shop', policy)
  expect(await policies.policyFor({ name: 'shop', manifest })).toEqual({ ...policy, source: 'operator' })
  expect(await policies.policyFor({ name: 'other', manifest })).toEqual(ofManifest)
  await policies.put('shop', { level: 'off', requiredFor: null, graceDays: 0 })
  expect(await policies.policyFor({ name: 'shop', manifest })).toMatchObject({ level: 'off', source: 'operator' })
  expect([await policies.remove('shop'), await policies.remove('shop')]).toEqual([true, false])
  expect(await policies.policyFor({ name: 'shop', manifest })).toEqual(ofManifest)
})

test('policies: a solution without an active version has the default, or the operator’s policy', async () => {
  const policies = createSignInPolicies(db)
  expect(await policies.policyFor({ name: 'new', manifest: null })).toMatchObject({
    level: 'optional',
    source: 'default',
  })
  await policies.put('new', { level: 'required', requiredFor: ['Users'], graceDays: 0 })
  expect(await policies.policyFor({ name: 'new', manifest: null })).toMatchObject({
    requiredFor: ['Users'],
    source: 'operator',
  })
})

test('policies: a change on another host applies within a second', async () => {
  let now = 1_000_000
  const [here, there] = [createSignInPolicies(db, () => now), createSignInPolicies(db, () => now)]
  const levelHere = async () => (await here.policyFor({ name: 'shared', manifest: null })).level
  expect(await levelHere()).toBe('optional')
  await there.put('shared', { level: 'required', requiredFor: null, graceDays: 0 })
  expect(await levelHere()).toBe('optional')
  now += 1000
  expect(await levelHere()).toBe('required')
})
