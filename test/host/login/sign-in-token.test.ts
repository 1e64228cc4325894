import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createLoginTokens } from '../../../host/login/login-token.ts'
import { createClientSignIns } from '../../../host/login/sign-in-token.ts'
import { createLimits } from '../../../runtime/limits.ts'

let home: string
let db: HostDatabase
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-client-sign-in-'))
  db = await openHostDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const LOGIN = { username: 'anna', uid: 'a-1', permissions: ['Users'] }
const ANNA = {
  login: LOGIN,
  tenant: ['acme', -1],
  locale: 'nl-BE',
  page: '/solution/crm/index.html?argument=5',
  showUrl: null,
  authenticated: null,
  needsSecondFactor: false,
}
const BROWSER = 'the hash of its cookie'

function clocked() {
  let time = 1_700_000_000_000
  const make = () => createClientSignIns(db, key, () => time)
  const signIns = make()
  return {
    signIns,
    otherHost: make(),
    after: (ms: number) => (time += ms),
    issue: (more: object = {}) => signIns.issue({ ...ANNA, solution: 'crm', browser: BROWSER, ...more }),
  }
}

test('client sign-in: a token returns everything that the script set, and can be used once, on any host', async () => {
  const { signIns, otherHost, issue } = clocked()
  const token = issue()
  const uses = Array.from({ length: 10 }, (_, n) => (n % 2 ? signIns : otherHost).consume('crm', token, BROWSER))
  expect((await Promise.all(uses)).filter((found) => found !== null)).toEqual([ANNA])
  const bare = { ...ANNA, tenant: null, showUrl: 'https://example.org/', page: '/solution/crm/index.html' }
  expect(await signIns.consume('crm', issue(bare), BROWSER)).toEqual(bare)
})

test('client sign-in: a token does not work in another browser or solution, and that attempt does not use it up', async () => {
  const { signIns, issue } = clocked()
  const token = issue()
  expect(await signIns.consume('crm', token, 'another browser')).toBeNull()
  expect(await signIns.consume('crm', token, '')).toBeNull()
  expect(await signIns.consume('other', token, BROWSER)).toBeNull()
  expect(await signIns.consume('crm', token, BROWSER)).toEqual(ANNA)
})

test('client sign-in: a token expires after a minute, to the millisecond', async () => {
  const { signIns, after, issue } = clocked()
  const [first, second] = [issue(), issue()]
  after(60_000 - 1)
  expect(await signIns.consume('crm', first, BROWSER)).toEqual(ANNA)
  after(1)
  expect(await signIns.consume('crm', second, BROWSER)).toBeNull()
})

test('client sign-in: a token is not accepted as a login token, and a login token is not accepted here', async () => {
  const { signIns, issue } = clocked()
  const loginTokens = createLoginTokens(db, key, createLimits())
  const token = issue()
  expect(await loginTokens.consume('crm', token)).toBeNull()
  expect(await signIns.consume('crm', loginTokens.issue('crm', LOGIN).token, BROWSER)).toBeNull()
  expect(await signIns.consume('crm', token, BROWSER)).toEqual(ANNA)
})

test('client sign-in: a changed, truncated, foreign or oversized token is rejected', async () => {
  const { signIns, issue } = clocked()
  const token = issue()
  const [text = '', signature = ''] = token.split('.')
  const other = Buffer.from(text, 'base64url').toString().replace('anna', 'root')
  const forms = [
    `${Buffer.from(other).toString('base64url')}.${signature}`,
    text,
    `${text}.${key.sign('client-sign-out', text)}`,
    '',
    'x'.repeat(100_000),
  ]
  for (const form of forms) expect([form, await signIns.consume('crm', form, BROWSER)]).toEqual([form, null])
})

test('client sign-in: a token can contain 500 permissions; data that is too large for a form is rejected', async () => {
  const { signIns, issue } = clocked()
  const permissions = (length: number) => Array.from({ length }, (_, n) => `${n} ${'permission'.repeat(5)}`)
  const many = { ...LOGIN, permissions: permissions(500) }
  expect((await signIns.consume('crm', issue({ login: many }), BROWSER))?.login).toEqual(many)
  expect(() => issue({ login: { ...LOGIN, permissions: permissions(1000) } })).toThrow(/Send fewer permissions/)
})

test.each(['/solution/other/index.html', '//example.org/solution/crm/index.html', '/solution/crm/index.htmlx', ''])(
  'client sign-in: "%s" is rejected as the next page',
  (page) => {
    expect(() => clocked().issue({ page })).toThrow(TypeError)
  },
)
