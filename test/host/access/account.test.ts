import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { networkOf } from '../../../base/http/network.ts'
import { openAdminAccount } from '../../../host/access/account.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'

let home: string
let db: HostDatabase
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-account-'))
  db = await openHostDatabase(home)
})
afterEach(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const options = (terminal: boolean, password = '') => ({ name: 'admin', password, home, terminal })

test('admin account: on a terminal, the generated password is shown once and not written to a file', async () => {
  const { account, newPassword } = await openAdminAccount(db, options(true))
  const shown = await newPassword?.keep()
  if (shown === undefined || !('password' in shown)) throw new Error('no password was shown')
  expect(await account.checkPassword(shown.password)).toBe(true)
  expect(await account.checkPassword(`${shown.password}x`)).toBe(false)
  expect(existsSync(join(home, 'admin-password'))).toBe(false)
  const { value } = await db
    .selectFrom('platform')
    .select('value')
    .where('key', '=', 'admin_password')
    .executeTakeFirstOrThrow()
  expect(value).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  const again = await openAdminAccount(db, options(true))
  expect(again.newPassword).toBeNull()
  expect(await again.account.checkPassword(shown.password)).toBe(true)
})

test('admin account: without a terminal, the generated password is written to a file that only this account can read', async () => {
  const { account, newPassword } = await openAdminAccount(db, options(false))
  expect(await newPassword?.keep()).toEqual({ file: join(home, 'admin-password') })
  const file = join(home, 'admin-password')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await account.checkPassword(readFileSync(file, 'utf8').trim())).toBe(true)
})

test('admin account: a generated password that was not stored is generated again', async () => {
  await openAdminAccount(db, options(true))
  expect((await openAdminAccount(db, options(true))).newPassword).not.toBeNull()
})

test('admin account: if two nodes generate a password at the same time, one of them is asked to restart and leaves no file', async () => {
  const second = { ...options(false), home: mkdtempSync(join(tmpdir(), 'solhost-account-')) }
  const [one, two] = [await openAdminAccount(db, options(false)), await openAdminAccount(db, second)]
  await one.newPassword?.keep()
  await expect(two.newPassword?.keep()).rejects.toThrow('Another node created the admin password')
  expect(existsSync(join(second.home, 'admin-password'))).toBe(false)
  rmSync(second.home, { recursive: true })
})

test('admin account: a password in the settings takes precedence, and no password is generated', async () => {
  const { account, newPassword } = await openAdminAccount(db, options(false, 'given'))
  expect([newPassword, await account.checkPassword('given')]).toEqual([null, true])
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('networkOf: %s belongs to %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
