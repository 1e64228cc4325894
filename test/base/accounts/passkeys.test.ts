import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { factorAccount } from '../../../base/accounts/factor-account.ts'
import { createFactors } from '../../../base/accounts/factors.ts'
import { createPasskeys } from '../../../base/accounts/passkeys.ts'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { type Database, openDatabase } from '../../../base/database/open.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { createPasskeyDevice, type Forged } from '../../support/passkey-device.ts'

let home: string
let db: Database
let key: PlatformKey
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-passkeys-'))
  db = await openDatabase(home)
  key = await openPlatformKey(db, home, '')
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const PLACE = { rpId: 'crm.example.org', origin: 'https://crm.example.org:8443' }
const USER = { username: 'anna', permissions: ['Users'], tenant: null, locale: 'nl' }
const LABEL = { name: 'Laptop', user: USER }
const CHALLENGE = Buffer.from('a challenge of this test').toString('base64url')
const isOurs = async (challenge: string) => challenge === CHALLENGE

const limits = createLimits({ PASSKEYS_ACCOUNT: 2 })

function start() {
  const factors = createFactors(db, limits)
  return { factors, passkeys: createPasskeys(db, key, factors, limits) }
}

const ofUser = (uid: string) => factorAccount('users', 'crm', uid)

/** Adds a passkey for this user. */
async function enrol(uid: string, forged: Forged = {}) {
  const parts = start()
  const account = ofUser(uid)
  const device = createPasskeyDevice(PLACE.origin)
  const options = await parts.passkeys.creation(account, CHALLENGE, { issuer: 'CRM', username: uid }, PLACE)
  const added = await parts.passkeys.add(account, device.create(options, forged), isOurs, PLACE, LABEL)
  expect(added.kind).toBe('added')
  const use = async (more: Forged = {}, of: typeof account | null = account) => {
    const request = await parts.passkeys.request(of, CHALLENGE, PLACE)
    return parts.passkeys.use(of, device.get(request, more), isOurs, PLACE)
  }
  return { ...parts, account, device, use }
}

test('a passkey signs in its account, with the user’s data from when it was created', async () => {
  const { use, account, factors } = await enrol('anna')
  const used = await use({}, null)
  expect(used).toMatchObject({ kind: 'right', account, isVerified: true, user: USER })
  const { factors: set } = await factors.of(account)
  expect(set).toMatchObject([{ kind: 'passkey', name: 'Laptop', rpId: PLACE.rpId, isSynced: false, refusedAt: null }])
  expect(set[0]?.lastUsedAt).toBeTypeOf('number')
})

test('a passkey that did not verify its user is recognized as a second step only', async () => {
  const { use } = await enrol('ben')
  expect(await use({ flags: { uv: false } })).toMatchObject({ kind: 'right', isVerified: false })
})

test('the options for an account list its credentials; the options for a login page list none', async () => {
  const { passkeys, account, device } = await enrol('cleo')
  const creation = JSON.parse(await passkeys.creation(account, CHALLENGE, { issuer: 'CRM', username: 'cleo' }, PLACE))
  expect(creation).toMatchObject({
    rp: { id: PLACE.rpId, name: 'CRM' },
    attestation: 'none',
    excludeCredentials: [{ id: device.id }],
  })
  expect(creation.pubKeyCredParams.map(({ alg }: { alg: number }) => alg)).toEqual([-7, -8, -257])
  expect(Buffer.from(creation.user.id, 'base64url')).toHaveLength(32)
  expect(JSON.parse(await passkeys.request(account, CHALLENGE, PLACE)).allowCredentials).toMatchObject([
    { id: device.id },
  ])
  expect(JSON.parse(await passkeys.request(null, CHALLENGE, PLACE))).toMatchObject({
    allowCredentials: [],
    userVerification: 'required',
  })
  // A passkey for another domain is not offered.
  const elsewhere = { rpId: 'other.example.org', origin: 'https://other.example.org' }
  expect(JSON.parse(await passkeys.request(account, CHALLENGE, elsewhere)).allowCredentials).toEqual([])
})

const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** Responses that each fail one check. */
const VIOLATIONS: Readonly<Record<string, Forged>> = {
  'another challenge': { challenge: Buffer.from('another').toString('base64url') },
  'another origin': { origin: 'https://evil.example.org:8443' },
  'the same host on another port': { origin: 'https://crm.example.org' },
  'the same host without TLS': { origin: 'http://crm.example.org:8443' },
  'another RP ID': { rpId: 'example.org' },
  'no user present': { flags: { up: false } },
  'a frame of another origin': { crossOrigin: true },
  'a page that is framed by another origin': { topOrigin: 'https://evil.example.org' },
}

describe('an assertion is refused if it has', () => {
  const assertions: Readonly<Record<string, Forged>> = {
    ...VIOLATIONS,
    'the type of a registration': { type: 'webauthn.create' },
    'the user handle of another account': { userHandle: Buffer.alloc(32).toString('base64url') },
    'a credential id that nobody has': { credentialId: Buffer.from('nobody').toString('base64url') },
    'a signature by another key': { key: other },
    'the flag of a credential that may be synced, but was created without it': { flags: { be: true } },
  }
  test.each(Object.keys(assertions))('%s', async (name) => {
    const { use } = await enrol(`forged-${name}`)
    expect(await use(assertions[name])).toEqual({ kind: 'refused' })
    expect(await use(assertions[name], null)).toEqual({ kind: 'refused' })
    expect((await use()).kind).toBe('right')
  })

  test('no user handle on a login page, where it identifies the user', async () => {
    const { use } = await enrol('dirk')
    expect(await use({ userHandle: null }, null)).toEqual({ kind: 'refused' })
    expect((await use({ userHandle: null })).kind).toBe('right')
  })

  test('a challenge that was issued for another account', async () => {
    const { passkeys, device } = await enrol('eva')
    const request = await passkeys.request(ofUser('eva'), CHALLENGE, PLACE)
    expect(await passkeys.use(ofUser('mallory'), device.get(request), isOurs, PLACE)).toEqual({ kind: 'refused' })
  })

  test('a format that no browser sends', async () => {
    const { passkeys, account, device } = await enrol('finn')
    const good = device.get(await passkeys.request(account, CHALLENGE, PLACE))
    const bad = [
      '',
      'null',
      '[]',
      '{"id": 1}',
      good.slice(0, -1),
      good.replace('"signature"', '"signed"'),
      good.replace('"clientExtensionResults":{}', '"clientExtensionResults":{"appid":true}'),
      good.replace(/"clientDataJSON":"[^"]*"/, '"clientDataJSON":"e30"'),
      good.replace(/"authenticatorData":"[^"]*"/, '"authenticatorData":"AAAA"'),
      good + ' '.repeat(20_000),
    ]
    for (const answer of bad) {
      expect(await passkeys.use(account, answer, isOurs, PLACE), answer.slice(0, 200)).toEqual({ kind: 'refused' })
    }
  })
})

describe('a registration is refused if it has', () => {
  test.each([...Object.keys(VIOLATIONS), 'the type of an assertion'])('%s', async (name) => {
    const forged = VIOLATIONS[name] ?? { type: 'webauthn.get' }
    const { passkeys, factors } = start()
    const account = ofUser(`registration-${name}`)
    const options = await passkeys.creation(account, CHALLENGE, { issuer: 'CRM', username: 'x' }, PLACE)
    const answer = createPasskeyDevice(PLACE.origin).create(options, forged)
    expect(await passkeys.add(account, answer, isOurs, PLACE, LABEL)).toEqual({ kind: 'refused' })
    expect((await factors.of(account)).factors).toEqual([])
  })

  test('a credential id of more than 1,023 bytes', async () => {
    const { passkeys } = start()
    const account = ofUser('long')
    const add = async (idLength: number) => {
      const options = await passkeys.creation(account, CHALLENGE, { issuer: 'CRM', username: 'x' }, PLACE)
      const answer = createPasskeyDevice(PLACE.origin, { idLength }).create(options)
      return (await passkeys.add(account, answer, isOurs, PLACE, LABEL)).kind
    }
    expect([await add(1024), await add(1023)]).toEqual(['refused', 'added'])
  })
})

test('a credential belongs to one account, and an account has at most PASSKEYS_ACCOUNT passkeys', async () => {
  const { passkeys, device } = await enrol('gust')
  const add = async (uid: string, by = createPasskeyDevice(PLACE.origin)) => {
    const options = await passkeys.creation(ofUser(uid), CHALLENGE, { issuer: 'CRM', username: uid }, PLACE)
    return (await passkeys.add(ofUser(uid), by.create(options), isOurs, PLACE, LABEL)).kind
  }
  expect(await add('hanne', device)).toBe('taken')
  expect(await add('gust', device)).toBe('taken')
  expect([await add('gust'), await add('gust')]).toEqual(['added', 'full'])
})

test('a counter that does not increase indicates a copy: the passkey is never accepted again', async () => {
  const { use, account, factors } = await enrol('ines', { counter: 7 })
  expect((await use({ counter: 8 })).kind).toBe('right')
  expect(await use({ counter: 8 })).toEqual({ kind: 'copied', account, user: USER })
  expect(await use({ counter: 9 })).toEqual({ kind: 'refused' })
  expect((await factors.of(account)).factors[0]?.refusedAt).toBeTypeOf('number')
})

test('a synced passkey has no counter, and its first use shows that it is synced', async () => {
  const { use, account, factors } = await enrol('jef', { flags: { be: true } })
  expect((await factors.of(account)).factors[0]?.isSynced).toBe(false)
  for (const _ of [1, 2]) expect((await use({ flags: { be: true, bs: true } })).kind).toBe('right')
  expect((await factors.of(account)).factors[0]?.isSynced).toBe(true)
})

test('of 50 parallel uses with the same counter, exactly one is accepted', async () => {
  const { use } = await enrol('kim')
  const kinds = await Promise.all(Array.from({ length: 50 }, () => use({ counter: 1 })))
  expect(kinds.filter(({ kind }) => kind === 'right')).toHaveLength(1)
})

test('a challenge that was not issued here, or was used before, is refused', async () => {
  const { passkeys, account, device } = await enrol('lena')
  const answer = device.get(await passkeys.request(account, CHALLENGE, PLACE))
  expect(await passkeys.use(account, answer, async () => false, PLACE)).toEqual({ kind: 'refused' })
})
