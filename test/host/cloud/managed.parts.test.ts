import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createCloudRequests } from '../../../host/cloud/managed/cloud-requests.ts'
import { createKeptStates } from '../../../host/cloud/managed/kept-state.ts'
import { createLease } from '../../../host/cloud/managed/lease.ts'
import { createManaged } from '../../../host/cloud/managed/managed.ts'
import { createManagedSettings } from '../../../host/cloud/managed/managed-settings.ts'
import { checkSuccession } from '../../../host/cloud/managed/statement.ts'
import { createTakenFile } from '../../../host/cloud/managed/taken-file.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createOAuthSettings } from '../../../host/oauth/oauth-settings.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import { ENVIRONMENT, type PlayedCenter, playCenter, stateOf } from '../../support/played-center.ts'

const SHA256 = 'a'.repeat(64)
const home = mkdtempSync(join(tmpdir(), 'managed-unit-'))
const TAKEN = join(home, 'cloud-taken.json')
let db: HostDatabase
beforeAll(async () => {
  db = await openHostDatabase(readSettings({ PLATFORM_HOME: home }))
})
beforeEach(async () => {
  await db.deleteFrom('platform').where('key', 'like', 'cloud%').execute()
  rmSync(TAKEN, { force: true })
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

test('lease: only one of two nodes works at a time; the other one may work afterwards', async () => {
  const [one, two] = [createLease(db, 'one'), createLease(db, 'two')]
  const held = await one.hold(async () => {
    expect(await two.hold(async () => {})).toBe(false)
  })
  expect(held).toBe(true)
  expect(await two.hold(async () => {})).toBe(true)
})

test('lease: after a node crashes, another node takes over when the lease expires', async () => {
  const clock = { time: 1000 }
  const [dead, next] = [createLease(db, 'dead', () => clock.time), createLease(db, 'next', () => clock.time)]
  const never = Promise.withResolvers<void>()
  const holding = dead.hold(() => never.promise)
  await expect
    .poll(() => db.selectFrom('platform').select('key').where('key', '=', 'cloud_lease').execute())
    .toHaveLength(1)
  expect(await next.hold(async () => {})).toBe(false)
  clock.time += 30_001
  expect(await next.hold(async () => {})).toBe(true)
  never.resolve()
  await holding
})

test('lease: if a node crashed while its clock was far ahead, the next node does not wait until that time', async () => {
  const day = 24 * 60 * 60_000
  const never = Promise.withResolvers<void>()
  const holding = createLease(db, 'dead', () => Date.now() + day).hold(() => never.promise)
  await expect
    .poll(() => db.selectFrom('platform').select('key').where('key', '=', 'cloud_lease').execute())
    .toHaveLength(1)
  expect(await createLease(db, 'next').hold(async () => {})).toBe(true)
  never.resolve()
  await holding
})

test('lease: it is released even if the work failed', async () => {
  const lease = createLease(db, 'one')
  await expect(lease.hold(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await lease.hold(async () => {})).toBe(true)
})

test('sequence numbers: a statement with a higher number is new, the same statement is not', () => {
  const statement = { state: stateOf(5), hash: 'h' }
  expect(checkSuccession(statement, ENVIRONMENT, { number: 5, hash: 'h' })).toBe(false)
  expect(checkSuccession(statement, ENVIRONMENT, { number: 4, hash: 'x' })).toBe(true)
  expect(checkSuccession(statement, null, null)).toBe(true)
})

test('managed settings: settings that the control center omits come from the host’s environment', async () => {
  const kept = (settings: object) => createManagedSettings({ getBriefly: async () => ({ settings }) as never }, 'own')
  expect(await kept({}).defaultSolution()).toBe('own')
  expect(await kept({ defaultSolution: null }).defaultSolution()).toBe(null)
  expect(await kept({ defaultSolution: 'crm' }).defaultSolution()).toBe('crm')
  expect(await createManagedSettings(null, 'own').defaultSolution()).toBe('own')
  expect(await kept({ oauth: { crm: { api: 'Google' } } }).oauthOf('constructor')).toBe(null)
})

test('oauth settings: settings that the operator set override those of the control center', async () => {
  const settings = createOAuthSettings(db, Date.now, async () => ({ api: 'Google', clientId: 'of the center' }))
  expect(await settings.inForce('crm')).toEqual({ api: 'Google', clientId: 'of the center' })
  expect(await settings.get('crm')).toBe(null)
  await settings.put('crm', { api: 'Okta' })
  expect(await settings.inForce('crm')).toEqual({ api: 'Okta' })
  await settings.remove('crm')
  expect(await settings.inForce('crm')).toEqual({ api: 'Google', clientId: 'of the center' })
})

/** A Satellite that calls `upload` in place of the real upload. */
function satelliteOf(center: PlayedCenter, upload: (name: string) => Promise<void>) {
  const levels: (string | null)[] = []
  const logged: string[] = []
  const log = (_of: unknown, text: string) => void logged.push(text)
  const cloud = { url: new URL(center.url), token: 'a token', publicKey: '' }
  const active: string | null = null
  const managed = createManaged({
    cloud,
    ask: createCloudRequests(cloud),
    kept: createKeptStates(db, createTakenFile(home)),
    db,
    uploads: { upload: async (_bytes, name) => (await upload(String(name))) as never, activate: async () => {} },
    store: { list: async () => [], get: async () => ({ active }) as never, hasVersion: async () => false },
    audit: { record: async () => {} },
    limits: { BUNDLE_SIZE: 1000 },
    setLogLevel: (level) => void levels.push(level),
    health: async () => ({ health: 'good', findings: [] }),
    version: 'test',
    log: { info: log, warn: log, error: log } as never,
    random: () => 0,
  })
  return { managed, levels, logged }
}

test('managed: a failure is shown until a newer state replaces it', async () => {
  const center = await playCenter()
  const solutions = { crm: { sha256: SHA256, version: '1.0.0' } }
  center.says(await center.key.sign(stateOf(1, { solutions })))
  // The control center serves a bundle that differs from the signed one.
  const { managed, levels } = satelliteOf(center, async () => {})
  await managed.start()
  try {
    await expect.poll(() => managed.state().number).toBe(1)
    expect(managed.state().failed).toMatchObject([{ name: 'crm' }])
    center.says(await center.key.sign(stateOf(2, { settings: { logLevel: 'error' } })))
    await expect.poll(() => levels.at(-1)).toBe('error')
    expect(managed.state()).toMatchObject({ state: 'connected', number: 2, failed: [] })
  } finally {
    await managed.stop()
    await center.stop()
  }
})

test('managed: an upload that is rejected because the host is busy is retried until it succeeds', async () => {
  const center = await playCenter()
  const bundle = Buffer.from('a bundle')
  center.gives(bundle)
  const solutions = { crm: { sha256: createHash('sha256').update(bundle).digest('hex'), version: '1.0.0' } }
  center.says(await center.key.sign(stateOf(1, { solutions })))
  let tries = 0
  const { managed, logged } = satelliteOf(center, async () => {
    if (++tries < 3) throw new PlatformError('ERR_SANDBOX_BUSY', 'Too many uploads are checked.')
  })
  await managed.start()
  try {
    await expect.poll(() => managed.state().number).toBe(1)
    expect([tries, managed.state().failed]).toEqual([3, []])
    expect(logged.filter((line) => line.includes('is not applied yet'))).toHaveLength(1)
  } finally {
    await managed.stop()
    await center.stop()
  }
})

test('managed: a solution that can’t be applied yet does not block the others', async () => {
  const center = await playCenter()
  const bundle = Buffer.from('a bundle')
  center.gives(bundle)
  const version = { sha256: createHash('sha256').update(bundle).digest('hex'), version: '1.0.0' }
  center.says(await center.key.sign(stateOf(1, { solutions: { crm: version, shop: version, stock: version } })))
  const uploaded = new Set<string>()
  const { managed } = satelliteOf(center, async (name) => {
    if (name !== 'stock') throw new PlatformError('ERR_SANDBOX_BUSY', 'Too many uploads are checked.')
    uploaded.add(name)
  })
  await managed.start()
  try {
    await expect.poll(() => [...uploaded], { timeout: 10_000 }).toEqual(['stock'])
  } finally {
    await managed.stop()
    await center.stop()
  }
})

test.each([403, 422])('managed: if reports are rejected with HTTP %i, the log says so once', async (status) => {
  const center = await playCenter()
  center.answerReports(status)
  const { managed, logged } = satelliteOf(center, async () => {})
  const rejections = () => logged.filter((line) => line.includes('rejects this host’s reports'))
  await managed.start()
  try {
    await expect.poll(rejections).toHaveLength(1)
    // The second state is reported too.
    center.says(await center.key.sign(stateOf(1)))
    await expect.poll(() => center.reports.some(({ number }) => number === 1)).toBe(true)
    expect([rejections().length, managed.state().state]).toEqual([1, 'connected'])
  } finally {
    await managed.stop()
    await center.stop()
  }
})

test('managed: a bundle larger than BUNDLE_SIZE is not read to its end', async () => {
  const center = await playCenter()
  center.gives(new Uint8Array(2000))
  center.says(await center.key.sign(stateOf(1, { solutions: { crm: { sha256: SHA256, version: '1.0.0' } } })))
  const { managed } = satelliteOf(center, async () => {})
  await managed.start()
  try {
    await expect.poll(() => managed.state().failed[0]?.message).toContain('1000 bytes')
  } finally {
    await managed.stop()
    await center.stop()
  }
})

test('managed: if a restart interrupts the application of a state, it is finished without a new statement', async () => {
  const center = await playCenter()
  const kept = createKeptStates(db, createTakenFile(home))
  const state = stateOf(7, { settings: { logLevel: 'debug' } })
  const { publicKey: key } = center.key
  await kept.put({ environment: ENVIRONMENT, token: 'x', key, state, done: null, settings: {} })
  const { managed, levels } = satelliteOf(center, async () => {})
  await managed.start()
  try {
    await expect.poll(() => managed.state().number).toBe(7)
    expect(levels.at(-1)).toBe('debug')
  } finally {
    await managed.stop()
    await center.stop()
  }
})

test('last accepted number: of the numbers in the database and the file, the higher one is used, and each node updates its file from the database', async () => {
  const kept = createKeptStates(db, createTakenFile(home))
  expect(await kept.taken(ENVIRONMENT)).toBe(null)
  await kept.putTaken(ENVIRONMENT, { number: 5, hash: 'five' })
  // Simulates a database that was restored from an older backup.
  await db.deleteFrom('platform').where('key', 'like', 'cloud_taken%').execute()
  expect(await createKeptStates(db, createTakenFile(home)).taken(ENVIRONMENT)).toEqual({ number: 5, hash: 'five' })
  await kept.putTaken(ENVIRONMENT, { number: 7, hash: 'seven' })
  rmSync(TAKEN)
  const other = createTakenFile(home)
  expect(await createKeptStates(db, other).taken(ENVIRONMENT)).toEqual({ number: 7, hash: 'seven' })
  expect(JSON.parse(readFileSync(TAKEN, 'utf8'))).toEqual({ [ENVIRONMENT]: { number: 7, hash: 'seven' } })
})

test('last accepted number: a lower number does not change the file, and an invalid file counts as empty', async () => {
  const file = createTakenFile(home)
  await Promise.all([4, 6, 5].map((number) => file.raise(ENVIRONMENT, { number, hash: `of ${number}` })))
  expect(await createTakenFile(home).get(ENVIRONMENT)).toEqual({ number: 6, hash: 'of 6' })
  for (const text of ['', '[]', '{"x":1}', `{"${ENVIRONMENT}":{"number":-1,"hash":""}}`]) {
    writeFileSync(TAKEN, text)
    expect(await createTakenFile(home).get(ENVIRONMENT)).toBe(null)
  }
})

test('managed: after a database restore, statements older than the last accepted one are rejected; the current one is applied', async () => {
  const center = await playCenter()
  const said = (number: number, logLevel: 'debug' | 'warn' | 'error') =>
    center.key.sign(stateOf(number, { settings: { logLevel } }))
  const run = async (check: (satellite: ReturnType<typeof satelliteOf>) => Promise<void>) => {
    const satellite = satelliteOf(center, async () => {})
    await satellite.managed.start()
    try {
      await check(satellite)
    } finally {
      await satellite.managed.stop()
    }
  }
  const rows = () => db.selectFrom('platform').selectAll().where('key', 'like', 'cloud%').execute()
  center.says(await said(3, 'debug'))
  await run(({ managed }) => expect.poll(() => managed.state().number).toBe(3))
  const backup = (await rows()).filter(({ key }) => key !== 'cloud_lease')
  const five = await said(5, 'warn')
  center.says(five)
  await run(({ managed }) => expect.poll(() => managed.state().number).toBe(5))
  const restore = async () => {
    await db.deleteFrom('platform').where('key', 'like', 'cloud%').execute()
    await db.insertInto('platform').values(backup).execute()
  }
  try {
    await restore()
    center.says(await said(4, 'error'))
    await run(async ({ managed, levels }) => {
      await expect
        .poll(() => managed.state().refused)
        .toBe(
          'the desired state has the sequence number 4, which is lower than the last accepted one, 5. If the control center was restored from a backup, start a new rollout',
        )
      expect([managed.state().number, levels.includes('error')]).toEqual([3, false])
    })
    await restore()
    center.says(five)
    await run(async ({ managed, levels }) => {
      await expect.poll(() => managed.state().number).toBe(5)
      expect([managed.state().refused, levels.at(-1)]).toEqual([null, 'warn'])
    })
  } finally {
    await center.stop()
  }
})
