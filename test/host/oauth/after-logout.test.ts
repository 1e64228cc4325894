import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import { createAfterLogoutState } from '../../../host/oauth/after-logout.ts'

const home = mkdtempSync(join(tmpdir(), 'solhost-after-'))
let key: PlatformKey
beforeAll(async () => {
  const db = await openHostDatabase(readSettings({ PLATFORM_HOME: home }))
  key = await openPlatformKey(db, home, '')
  await db.destroy()
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

const TARGET = { target: 'https://example.org/bye?a=b', provider: null, page: '/solution/crm/index.html?a=b' }

test('after logout: a state can be read only for the solution for which it was created, and for an hour', () => {
  let time = 1_700_000_000_000
  const states = createAfterLogoutState(key, () => time)
  const state = states.write('crm', TARGET)
  time += 3_599_999
  expect(states.read('crm', state)).toEqual(TARGET)
  expect(states.read('hrm', state)).toBeNull()
  time += 1
  expect(states.read('crm', state)).toBeNull()
})

test('after logout: a state that this platform did not issue is ignored', () => {
  const states = createAfterLogoutState(key)
  const state = states.write('crm', TARGET)
  const plain = JSON.stringify({ ...TARGET, target: 'https://evil.example', expiresAt: 9e15 })
  const made = [
    Buffer.from(plain).toString('base64url'),
    `${state[0] === 'A' ? 'B' : 'A'}${state.slice(1)}`,
    state.slice(0, -4),
    `${state}AAAA`,
    '',
    '.',
    'x',
    `${state}${'a'.repeat(5000)}`,
    key.encrypt('after-logout hrm', plain),
    key.encrypt('provider-login crm', plain),
  ]
  expect(made.map((one) => states.read('crm', one))).toEqual(made.map(() => null))
})

test('after logout: the provider that receives the state cannot read it', () => {
  const state = createAfterLogoutState(key).write('crm', TARGET)
  expect(Buffer.from(state, 'base64url').toString('latin1')).not.toContain('example')
})

test('after logout: a state can contain the longest URL that showURL accepts', () => {
  const states = createAfterLogoutState(key)
  const target = `https://example.org/${'a'.repeat(2048 - 20)}`
  const after = { target, provider: null, page: null }
  expect(states.read('crm', states.write('crm', after))).toEqual(after)
})
