import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOpenSignIns } from '../../../base/accounts/open-sign-ins.ts'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import type { FoundSignIn, OpenSignIn } from '../../../host/second-step/open-sign-ins.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: HostDatabase
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-open-sign-ins-'))
  db = await openHostDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const LIMITS = { ...createLimits(), SECOND_STEP_TIME: 600_000, SECOND_STEP_TRIES: 3 }
const ANNA: OpenSignIn = {
  account: { source: 'users', solution: '', uid: 'a-1' },
  login: { username: 'anna', uid: 'a-1', permissions: ['Users'] },
  tenant: ['acme', -1],
  locale: 'nl-BE',
  showUrl: null,
  page: '/solution/crm/index.html',
  source: 'users',
  providerLogin: null,
  methods: ['password'],
  remember: { custom: { custom_tenant: 'acme' } },
  knownAs: { source: 'users', username: 'anna' },
  password: { passwordChangedAt: 1, mustChangePassword: false },
  isRaised: false,
  isPostponed: false,
}

function clocked() {
  let time = 1_000_000_000
  const create = () => createOpenSignIns<OpenSignIn>(db, key, LIMITS, () => time)
  return { signIns: create(), otherHost: create(), after: (ms: number) => (time += ms) }
}

async function started(solution = 'crm') {
  const clock = clocked()
  const cookie = await clock.signIns.start(solution, ANNA)
  const found = (await clock.signIns.find(solution, [cookie])) as FoundSignIn
  expect(found.open).toEqual(ANNA)
  return { ...clock, cookie, found }
}

const rowOf = ({ idHash }: FoundSignIn) =>
  db.selectFrom('open_sign_ins').selectAll().where('id_hash', '=', idHash).executeTakeFirst()

test('open sign-ins: the row has neither the cookie nor readable data of the user', async () => {
  const { cookie, found } = await started()
  expect(cookie).toMatch(/^[A-Za-z0-9_-]{43}$/)
  const row = JSON.stringify(await rowOf(found))
  for (const text of [cookie, 'anna', 'a-1', 'acme', 'password']) expect(row).not.toContain(text)
})

test('open sign-ins: a sign-in is found on every host by its own cookie, in its own solution only', async () => {
  const { signIns, otherHost, cookie } = await started()
  expect((await otherHost.find('crm', ['', 'planted', cookie]))?.open).toEqual(ANNA)
  expect(await signIns.find('shop', [cookie])).toBeNull()
  expect(await signIns.find('crm', [`${cookie}x`, cookie.slice(1), ''])).toBeNull()
  expect(await signIns.find('crm', [])).toBeNull()
})

test('open sign-ins: a row that was changed to another solution, or has another row’s content, is not found', async () => {
  const { signIns, cookie, found } = await started()
  const update = () => db.updateTable('open_sign_ins').where('id_hash', '=', found.idHash)
  await update().set({ solution: 'shop' }).execute()
  expect(await signIns.find('shop', [cookie])).toBeNull()
  const other = await started()
  const content = (await rowOf(other.found))?.content ?? ''
  await update().set({ solution: 'crm', content }).execute()
  expect(await signIns.find('crm', [cookie])).toBeNull()
})

test('open sign-ins: a sign-in expires after SECOND_STEP_TIME, which progress doesn’t extend', async () => {
  const { signIns, after, cookie, found } = await started()
  after(LIMITS.SECOND_STEP_TIME - 1)
  await signIns.change(found, { ...ANNA, isPostponed: true })
  expect((await signIns.find('crm', [cookie]))?.open.isPostponed).toBe(true)
  after(1)
  expect(await signIns.find('crm', [cookie])).toBeNull()
  await signIns.sweep()
  expect(await rowOf(found)).toBeDefined()
  after(1)
  await signIns.sweep()
  expect(await rowOf(found)).toBeUndefined()
})

test('open sign-ins: wrong codes are counted on all hosts together, and the last one ends the sign-in', async () => {
  const { signIns, otherHost, cookie, found } = await started()
  expect([await signIns.noteWrong(found), await otherHost.noteWrong(found)]).toEqual([2, 1])
  expect(await signIns.find('crm', [cookie])).not.toBeNull()
  expect(await otherHost.noteWrong(found)).toBe(0)
  expect(await signIns.find('crm', [cookie])).toBeNull()
  expect(await signIns.noteWrong(found)).toBe(0)
})

test('open sign-ins: of 50 parallel requests on two hosts, exactly one finishes a sign-in', async () => {
  const { signIns, otherHost, cookie, found } = await started()
  const hosts = [signIns, otherHost]
  const finished = await Promise.all(Array.from({ length: 50 }, (_, index) => hosts[index % 2]?.finish(found)))
  expect(finished.filter((isFirst) => isFirst)).toHaveLength(1)
  expect(await signIns.find('crm', [cookie])).toBeNull()
})

test('open sign-ins: those of an account end together, except the one that changed its factors', async () => {
  const { signIns, cookie, found } = await started()
  const other = await started('shop')
  const account = { ...ANNA.account, uid: 'b-2' }
  const ofOther = await signIns.start('crm', { ...ANNA, account })
  await signIns.endOfAccount(ANNA.account, found)
  expect(await signIns.find('crm', [cookie])).toEqual(found)
  expect(await signIns.find('shop', [other.cookie])).toBeNull()
  expect([await signIns.finish(other.found), await signIns.noteWrong(other.found)]).toEqual([false, 0])
  await signIns.endOfAccount(ANNA.account, null)
  expect(await signIns.find('crm', [cookie])).toBeNull()
  expect((await signIns.find('crm', [ofOther]))?.open.account).toEqual(account)
})

test('open sign-ins: a finished sign-in has no content, and later progress restores none', async () => {
  const { signIns, cookie, found } = await started()
  expect(await signIns.finish(found)).toBe(true)
  await signIns.change(found, { ...ANNA, methods: ['password', 'totp'] })
  expect(await rowOf(found)).toMatchObject({ content: '' })
  expect(await signIns.find('crm', [cookie])).toBeNull()
})
