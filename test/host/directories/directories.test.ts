import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createDirectories, type Directories } from '../../../host/directories/directories.ts'
import { DirectoryForm, DirectoryName } from '../../../host/directories/directory-settings.ts'
import { filterFor } from '../../../host/directories/entries.ts'

let home: string
let db: HostDatabase
let directories: Directories
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-directories-'))
  db = await openHostDatabase(home)
  directories = createDirectories(db, await openPlatformKey(db, home, ''))
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})
beforeEach(() => db.deleteFrom('directories').execute())

const LEAST = {
  urls: ['ldaps://dc1.example.org'],
  base: 'dc=example,dc=org',
  filter: '(uid={name})',
  idAttribute: 'entryUUID',
  attributes: { username: 'uid' },
  groups: [{ dn: 'cn=sales,dc=example,dc=org', permissions: ['Users', { name: 'Editors', solution: 'crm' }] }],
}
const formOf = (more: object = {}) => DirectoryForm.parse({ ...LEAST, ...more })
const BIND = { bindDn: 'cn=searcher,dc=example,dc=org', bindPassword: 'a secret' }

test('directories: settings have defaults, and are returned without the password', async () => {
  const shown = await directories.put('main', formOf(BIND))
  expect(shown).toEqual({
    ...LEAST,
    name: 'main',
    startTls: true,
    ca: null,
    bindDn: BIND.bindDn,
    attributes: { username: 'uid', displayName: null, email: null },
    nestedGroups: false,
    groupBase: null,
    order: 100,
    hasBindPassword: true,
    lastTest: null,
  })
  expect(await directories.list()).toEqual([shown])
  expect(await directories.all()).toMatchObject([{ name: 'main', bindPassword: 'a secret' }])
  const rows = await db.selectFrom('directories').selectAll().execute()
  expect(JSON.stringify(rows)).not.toContain('a secret')
})

test('directories: they are searched in the configured order, then by name', async () => {
  for (const [name, order] of [
    ['b', 2],
    ['c', 1],
    ['a', 2],
  ] as const)
    await directories.put(name, formOf({ order }))
  expect((await directories.all()).map(({ name }) => name)).toEqual(['c', 'a', 'b'])
  expect(await directories.remove('c')).toBe(true)
  expect(await directories.remove('c')).toBe(false)
  expect((await directories.all()).map(({ name }) => name)).toEqual(['a', 'b'])
})

test('directories: the last test is stored for the settings that it tested, until they change', async () => {
  await directories.put('main', formOf(BIND))
  const [tested] = await directories.all()
  if (tested === undefined) throw new TypeError('it was just stored')
  await directories.noteTest(tested, 'groups')
  expect(await directories.list()).toMatchObject([{ lastTest: { time: expect.any(Number), failed: 'groups' } }])
  await directories.noteTest(tested, null)
  expect(await directories.list()).toMatchObject([{ lastTest: { failed: null } }])
  expect(await directories.all()).toEqual([tested])
  await directories.put('main', formOf({ ...BIND, order: 7 }))
  await directories.noteTest(tested, 'bind')
  await directories.noteTest({ ...tested, name: 'gone' }, 'bind')
  expect(await directories.list()).toMatchObject([{ lastTest: null, order: 7 }])
})

test('directories: the stored password is never sent to another server or for another account', async () => {
  await directories.put('main', formOf(BIND))
  const { bindDn } = BIND
  await directories.put('main', formOf({ bindDn, order: 7 }))
  expect(await directories.all()).toMatchObject([{ bindPassword: 'a secret', order: 7 }])
  for (const other of [{ bindDn, urls: ['ldaps://other.example.org'] }, { bindDn: 'cn=other,dc=example,dc=org' }]) {
    await expect(directories.put('main', formOf(other))).rejects.toMatchObject({
      code: 'ERR_REQUEST_INVALID',
      message: expect.stringContaining('bindPassword is missing'),
    })
  }
  await directories.put('main', formOf())
  expect(await directories.all()).toMatchObject([{ bindDn: null, bindPassword: null }])
})

test('directories: a password that was copied to another directory can’t be decrypted', async () => {
  await directories.put('main', formOf(BIND))
  await directories.put('copy', formOf(BIND))
  const { value } = await db
    .selectFrom('directories')
    .select('value')
    .where('name', '=', 'main')
    .executeTakeFirstOrThrow()
  await db.updateTable('directories').set({ value }).where('name', '=', 'copy').execute()
  const other = createDirectories(db, await openPlatformKey(db, home, ''))
  await expect(other.all()).rejects.toMatchObject({ code: 'ERR_PLATFORM_KEY' })
})

test('directories: at most 10 directories can be added', async () => {
  for (let at = 0; at < 10; at++) await directories.put(`d${at}`, formOf())
  await expect(directories.put('d10', formOf())).rejects.toMatchObject({ code: 'ERR_REQUEST_INVALID' })
  await directories.put('d9', formOf({ order: 1 }))
})

test.each([
  [{ urls: ['LDAPS://DC1.Example.org/', 'ldap://[::1]:1389', 'ldap://127.0.0.1'], startTls: false }],
  [{ filter: '(&(objectCategory=person)(!(userAccountControl:1.2.840.113556.1.4.803:=2))(sAMAccountName={name}))' }],
  [{ filter: '(|(uid={name})(mail={name}))' }],
  [{ bindDn: 'CORP\\searcher', bindPassword: 'x' }],
  [{ bindDn: 'searcher@corp.test', bindPassword: 'x' }],
])('directories: %o is accepted', (more) => {
  expect(DirectoryForm.safeParse({ ...LEAST, ...more }).error).toBeUndefined()
})

test.each([
  ['urls', { urls: [] }],
  ['urls', { urls: ['https://example.org'] }],
  ['urls', { urls: ['ldap://user:secret@example.org'] }],
  ['urls', { urls: ['ldaps://example.org/dc=example'] }],
  ['urls', { urls: ['ldaps://'] }],
  ['urls', { urls: ['ldaps://exa mple.org'] }],
  ['startTls', { urls: ['ldap://example.org'], startTls: false }],
  ['startTls', { urls: ['ldap://a.localhost'], startTls: false }],
  ['startTls', { urls: ['ldap://127.0.0.1', 'ldap://10.0.0.1'], startTls: false }],
  ['ca', { ca: 'not a certificate' }],
  ['ca', { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' }],
  ['bindDn', { bindDn: 'EXTERNAL', bindPassword: 'x' }],
  ['bindPassword', { bindPassword: 'x' }],
  ['bindPassword', { ...BIND, bindPassword: '' }],
  ['base', { base: 'example.org' }],
  ['filter', { filter: '(uid=*)' }],
  ['filter', { filter: 'uid={name}' }],
  ['filter', { filter: '(&(uid={name})' }],
  ['filter', { filter: '(uid={name})(cn=x)' }],
  ['idAttribute', { idAttribute: 'uid' }],
  ['attributes', { attributes: { username: 'u)id' } }],
  ['groups', { groups: [] }],
  ['groups', { groups: [{ dn: 'cn=x', permissions: [] }] }],
  ['groups', { groups: [{ dn: 'sales', permissions: ['Users'] }] }],
  ['order', { order: 0 }],
])('directories: an invalid %s is rejected: %o', (field, more) => {
  const { error } = DirectoryForm.safeParse({ ...LEAST, ...more })
  expect(error?.issues[0]?.path[0]).toBe(field)
})

test('directories: a name has at most 63 lowercase letters, digits and hyphens, because it is part of URLs and audit log entries', () => {
  for (const name of ['main', 'a', 'dc-1']) expect(DirectoryName.safeParse(name).success).toBe(true)
  for (const name of ['', 'Main', '-a', 'a-', 'a b', 'a'.repeat(64)])
    expect(DirectoryName.safeParse(name).success).toBe(false)
})

test('directories: special characters in the name are escaped in the filter', () => {
  const filter = '(|(uid={name})(mail={name}))'
  expect(filterFor({ filter }, 'anna')).toBe('(|(uid=anna)(mail=anna))')
  expect(filterFor({ filter }, '*)(uid=\\\0')).toBe('(|(uid=\\2a\\29\\28uid=\\5c\\00)(mail=\\2a\\29\\28uid=\\5c\\00))')
  // The name must not be treated as a placeholder or as a replacement pattern.
  expect(filterFor({ filter }, "{name}$&$'")).toBe("(|(uid={name}$&$')(mail={name}$&$'))")
})
