import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createLoginTokens, LONGEST_LIFETIME } from '../../../host/login/login-token.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: HostDatabase
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-login-token-'))
  db = await openHostDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const START = 1_700_000_000_000
const ANNA = { username: 'anna', uid: 'a-1', permissions: ['Users', 'Administrators'] }

function clocked() {
  let time = START
  const make = () => createLoginTokens(db, key, createLimits(), () => time)
  return { tokens: make(), otherHost: make(), after: (ms: number) => (time += ms) }
}

test('login token: it can be used once to sign its user in', async () => {
  const { tokens } = clocked()
  const { token } = tokens.issue('crm', ANNA)
  expect(await tokens.consume('crm', token)).toEqual(ANNA)
  expect(await tokens.consume('crm', token)).toBeNull()
})

test('login token: if two hosts use it at the same time, only one signs the user in', async () => {
  const { tokens, otherHost } = clocked()
  const { token } = tokens.issue('crm', ANNA)
  const uses = Array.from({ length: 10 }, (_, n) => (n % 2 ? tokens : otherHost).consume('crm', token))
  expect((await Promise.all(uses)).filter((login) => login !== null)).toEqual([ANNA])
})

test('login token: it does not work for another solution, and that attempt does not use it up', async () => {
  const { tokens } = clocked()
  const { token } = tokens.issue('crm', ANNA)
  expect(await tokens.consume('other', token)).toBeNull()
  expect(await tokens.consume('crm', token)).toEqual(ANNA)
})

test('login token: it expires after LOGIN_TOKEN_LIFETIME, to the millisecond', async () => {
  const { tokens, after } = clocked()
  const first = tokens.issue('crm', ANNA)
  const second = tokens.issue('crm', ANNA)
  expect(first.expiresAt).toBe(START + 5 * 60_000)
  after(5 * 60_000 - 1)
  expect(await tokens.consume('crm', first.token)).toEqual(ANNA)
  after(1)
  expect(await tokens.consume('crm', second.token)).toBeNull()
})

test('login token: it is valid for at most a day', () => {
  expect(clocked().tokens.issue('crm', ANNA, 2 * LONGEST_LIFETIME).expiresAt).toBe(START + LONGEST_LIFETIME)
})

test('login token: a changed, truncated, foreign or oversized token is rejected', async () => {
  const { tokens } = clocked()
  const { token } = tokens.issue('crm', ANNA)
  const [text = '', signature = ''] = token.split('.')
  const other = Buffer.from(text, 'base64url').toString().replace('anna', 'root')
  const forms = [
    `${Buffer.from(other).toString('base64url')}.${signature}`,
    text,
    `${text}.`,
    `${text}.${key.sign('form-token', text)}`,
    `${token}.x`,
    '',
    '.',
    'x'.repeat(10_000),
  ]
  for (const form of forms) expect([form, await tokens.consume('crm', form)]).toEqual([form, null])
  expect(await tokens.consume('crm', token)).toEqual(ANNA)
})

test('login token: a token in the format of another version is rejected', async () => {
  const text = Buffer.from(JSON.stringify({ v: 2, solution: 'crm' })).toString('base64url')
  expect(await clocked().tokens.consume('crm', `${text}.${key.sign('login-token', text)}`)).toBeNull()
})

test('login token: data larger than 4 KB is rejected', () => {
  const permissions = Array.from({ length: 100 }, (_, n) => `permission-${n}-${'x'.repeat(50)}`)
  expect(() => clocked().tokens.issue('crm', { ...ANNA, permissions })).toThrow(/Send fewer permissions/)
})

test('login token: used tokens are deleted an hour after they expire, not earlier', async () => {
  const { tokens, after } = clocked()
  const rows = () => db.selectFrom('used_tokens').select('id').execute()
  await db.deleteFrom('used_tokens').execute()
  await tokens.consume('crm', tokens.issue('crm', ANNA).token)
  after(5 * 60_000 + 3_600_000)
  await tokens.sweep()
  expect(await rows()).toHaveLength(1)
  after(1)
  await tokens.sweep()
  expect(await rows()).toHaveLength(0)
})
