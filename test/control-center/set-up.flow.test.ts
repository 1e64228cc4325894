import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { type ControlCenter, startControlCenter } from '../../control-center/main.ts'
import { NAVIGATION } from '../support/admin.ts'
import { ask } from '../support/http.ts'

const home = mkdtempSync(join(tmpdir(), 'center-set-up-'))
let center: ControlCenter
beforeAll(async () => {
  const settings = readCenterSettings({ PORT: '0', PLATFORM_HOME: home })
  center = await startControlCenter({ settings, log: pino({ level: 'silent' }), version: 'test', terminal: true })
})
afterAll(async () => {
  await center?.stop()
  rmSync(home, { recursive: true, force: true })
})

function setUp(fields: Record<string, string>) {
  return ask(`${center.url}/set-up`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
}

test('the first account can only be created with the setup code that is printed at startup', async () => {
  const code = center.setUp !== null && 'code' in center.setUp ? center.setUp.code : ''
  const wanted = { title: 'Acme', organisation: 'acme', username: 'a@example.org', password: 'a long test password' }
  expect((await ask(`${center.url}/sign-in`, { headers: NAVIGATION })).headers.location).toBe('/set-up')
  expect((await setUp({ ...wanted, code: 'wrong' })).status).toBe(422)
  expect((await setUp({ ...wanted, code, organisation: 'Not A Name' })).status).toBe(422)
  expect((await setUp({ ...wanted, code, password: 'short' })).text).toContain('at least')
  expect((await setUp({ ...wanted, code })).status).toBe(303)
  expect((await center.parts.organisations.find('acme'))?.title).toBe('Acme')
  // Setup is no longer possible.
  expect((await setUp({ ...wanted, code, username: 'b@example.org' })).headers.location).toBe('/sign-in')
  expect(await center.parts.users.find('b@example.org')).toBeNull()
})

test('a second control center with the same folder does not start, and deletes nothing', async () => {
  const file = join(home, 'pipeline-runs', 'file')
  writeFileSync(file, '')
  const settings = readCenterSettings({ PORT: '0', PLATFORM_HOME: home })
  const second = startControlCenter({ settings, log: pino({ level: 'silent' }), version: 'test', terminal: true })
  await expect(second).rejects.toMatchObject({
    code: 'ERR_PLATFORM_IN_USE',
    message: `Another process, such as a control center, is using ${home}. Stop it, or set PLATFORM_HOME to another folder.`,
  })
  expect(existsSync(file)).toBe(true)
})
