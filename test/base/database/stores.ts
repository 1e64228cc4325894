import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSessions } from '../../../base/accounts/sessions.ts'
import type { PreparedSolution } from '../../../base/bundles/prepared-solution.ts'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { createAudit } from '../../../host/access/audit.ts'
import { PIECE_SIZE } from '../../../host/solutions/media-pieces.ts'
import { createSolutionLog } from '../../../host/solutions/solution-log.ts'
import { createSolutionStore } from '../../../host/solutions/solution-store.ts'
import type { Bundle } from '../../../runtime/bundle/bundle.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { manifestOf } from '../../support/solutions.ts'
import type { TestPlace } from './contract.ts'

/** Tests the platform's own stores on every kind of database. */
export function testStores(place: TestPlace): void {
  const { kind } = place
  const limits = createLimits()

  test(`${kind}, solution store: a version is stored with its media and becomes the active one`, async () => {
    const store = createSolutionStore(place.db, limits, () => 1_700_000_000_000)
    const bundle = bundleOf('crm', '1.0.0', { 'logo.png': new Uint8Array(randomBytes(100_000)) })
    await store.add(bundle, PACKED, preparedOf(bundle))
    const { sha256 } = bundle
    expect(await store.get('crm')).toMatchObject({ name: 'crm', active: sha256, activeVersion: '1.0.0', listed: true })
    expect(await store.versions('crm')).toEqual([
      { sha256, version: '1.0.0', uploadedAt: 1_700_000_000_000, bytes: PACKED.length },
    ])
    expect((await store.prepared('crm', sha256))?.prepared).toEqual(preparedOf(bundle))
    expect(await store.media('crm', sha256, 'logo.png')).toEqual({ etag: expect.any(String), size: 100_000 })
    expect(await contentOf(store.mediaContent('crm', sha256, 'logo.png', 100_000))).toEqual(
      bundle.media.get('logo.png'),
    )
    expect(await store.media('crm', sha256, 'LOGO.png')).toBeNull()
    expect((await store.list()).map(({ name }) => name)).toContain('crm')
  })

  test(`${kind}, solution store: a large media file is read in chunks, even one that was stored without them`, async () => {
    const store = createSolutionStore(place.db, limits)
    const content = new Uint8Array(randomBytes(3 * PIECE_SIZE + 1))
    const bundle = bundleOf('large', '1.0.0', { 'film.mp4': content, 'one.bin': content.subarray(0, PIECE_SIZE) })
    await store.add(bundle, PACKED, preparedOf(bundle))
    const { sha256 } = bundle
    const pieces = () => place.db.selectFrom('media_pieces').select('piece').where('solution', '=', 'large').execute()
    const read = (path: string, size: number) => Array.fromAsync(store.mediaContent('large', sha256, path, size))
    expect(await pieces()).toHaveLength(4)
    expect((await read('film.mp4', content.length)).map(({ length }) => length)).toEqual([
      ...Array(3).fill(PIECE_SIZE),
      1,
    ])
    expect(await read('one.bin', PIECE_SIZE)).toHaveLength(1)

    // Simulates data from the previous version or from a restore, where media files are not stored in pieces.
    await place.db.deleteFrom('media_pieces').where('solution', '=', 'large').execute()
    const both = [read('film.mp4', content.length), read('film.mp4', content.length)]
    for (const found of await Promise.all(both)) expect(new Uint8Array(Buffer.concat(found))).toEqual(content)
    expect(await pieces()).toHaveLength(4)

    const next = bundleOf('large', '2.0.0')
    await store.add(next, PACKED, preparedOf(next))
    const reading = store.mediaContent('large', sha256, 'film.mp4', content.length)
    await reading.next()
    await store.removeVersion('large', sha256)
    await expect(reading.next()).rejects.toThrow('erased')
    expect(await pieces()).toEqual([])
  })

  test(`${kind}, solution store: a new version replaces the active one, and an older one can be activated again`, async () => {
    const store = createSolutionStore(place.db, limits)
    const [one, two] = [bundleOf('next', '1.0.0'), bundleOf('next', '2.0.0')]
    for (const bundle of [one, two]) await store.add(bundle, PACKED, preparedOf(bundle))
    expect((await store.get('next'))?.active).toBe(two.sha256)
    await store.activate('next', one.sha256)
    expect((await store.get('next'))?.activeVersion).toBe('1.0.0')
    expect(await store.hasVersion('next', two.sha256)).toBe(true)
  })

  test(`${kind}, solution store: a change that expects another active version changes nothing; of parallel ones, one wins`, async () => {
    const store = createSolutionStore(place.db, limits)
    const [one, two, three] = [
      bundleOf('expected', '1.0.0'),
      bundleOf('expected', '2.0.0'),
      bundleOf('expected', '3.0.0'),
    ]
    const add = (bundle: typeof one, expected: string | null | undefined) =>
      store.add(bundle, PACKED, preparedOf(bundle), expected)
    expect(await add(one, two.sha256)).toBe(false)
    expect(await add(one, null)).toBe(true)
    expect(await add(two, null)).toBe(false)
    expect(await store.hasVersion('expected', two.sha256)).toBe(false)
    const both = await Promise.all([add(two, one.sha256), add(three, one.sha256)])
    expect(both.filter(Boolean)).toHaveLength(1)
    expect((await store.get('expected'))?.active).toBe(both[0] ? two.sha256 : three.sha256)
    expect(await store.activate('expected', one.sha256, one.sha256)).toBe(false)
    await store.remove('expected')
    expect(await add(one, one.sha256)).toBe(false)
    expect(await add(one, null)).toBe(true)
  })

  test(`${kind}, solution store: uploading an existing version makes it active again`, async () => {
    const store = createSolutionStore(place.db, limits)
    const [one, two] = [bundleOf('twice', '1.0.0', { a: new Uint8Array(9) }), bundleOf('twice', '2.0.0')]
    for (const bundle of [one, two, one]) await store.add(bundle, PACKED, preparedOf(bundle))
    expect((await store.get('twice'))?.activeVersion).toBe('1.0.0')
    expect(await store.versions('twice')).toHaveLength(2)
  })

  test(`${kind}, solution store: versions uploaded at the same time are all stored`, async () => {
    const stores = [createSolutionStore(place.db, limits), createSolutionStore(place.db, limits)]
    const bundles = Array.from({ length: 8 }, (_, n) => bundleOf('busy', `${n}.0.0`, { a: new Uint8Array(9) }))
    const adding = stores.flatMap((store) => bundles.map((bundle) => store.add(bundle, PACKED, preparedOf(bundle))))
    await Promise.all(adding)
    expect(await stores[0]?.versions('busy')).toHaveLength(8)
  })

  test(`${kind}, solution store: a deleted solution is erased later, with all its versions`, async () => {
    let time = 1_700_000_000_000
    const store = createSolutionStore(place.db, limits, () => time)
    for (const name of ['gone', 'kept']) await store.add(bundleOf(name, '1.0.0'), PACKED, preparedOf(bundleOf(name)))
    expect(await store.remove('gone')).toBe(true)
    expect(await store.remove('gone')).toBe(false)
    expect(await store.get('gone')).toBeNull()
    const expired = () => Array.fromAsync(store.expired())
    expect(await expired()).not.toContain('gone')
    time += limits.DELETED_KEPT + 1
    expect(await expired()).toContain('gone')
    const failed = store.erase('gone', async (transaction) => {
      await transaction.deleteFrom('grants').execute()
      throw new Error('the file is in use')
    })
    await expect(failed).rejects.toThrow('the file is in use')
    expect(await expired()).toContain('gone')
    expect(await store.versions('gone')).toHaveLength(1)
    await store.erase('gone', async () => {})
    expect(await expired()).not.toContain('gone')
    expect(await store.versions('gone')).toEqual([])
    expect(await store.versions('kept')).toHaveLength(1)
  })

  test(`${kind}, solution store: a solution that is uploaded while it is erased keeps the data that was added since`, async () => {
    let time = 1_700_000_000_000
    const store = createSolutionStore(place.db, limits, () => time)
    const [old, uploaded] = [bundleOf('raced', '1.0.0'), bundleOf('raced', '2.0.0')]
    await store.add(old, PACKED, preparedOf(old))
    await store.remove('raced')
    time += limits.DELETED_KEPT + 1
    const grant = (value: string) => ({ solution: 'raced', value })
    await place.db.insertInto('grants').values(grant('old')).execute()
    const adding: Promise<boolean>[] = []
    await store.erase('raced', async (transaction) => {
      adding.push(
        store.add(uploaded, PACKED, preparedOf(uploaded)).then(async (isAdded) => {
          await place.db.insertInto('grants').values(grant('new')).execute()
          return isAdded
        }),
      )
      await transaction.deleteFrom('grants').where('solution', '=', 'raced').execute()
    })
    expect(await Promise.all(adding)).toEqual([true])
    expect((await store.versions('raced')).map(({ version }) => version)).toEqual(['2.0.0'])
    const grants = await place.db.selectFrom('grants').select('value').where('solution', '=', 'raced').execute()
    expect(grants).toEqual([{ value: 'new' }])
    await store.erase('raced', () => Promise.reject(new Error('a new solution is erased')))
  })

  test(`${kind}, solution log: more lines than fit into one statement are read in pages, in order`, async () => {
    const log = createSolutionLog(place.db, limits)
    for (let line = 0; line < 500; line++) log.write('pages', { level: 'info', message: `line ${line}` })
    const newest = await log.read('pages', { limit: 300 })
    const oldest = await log.read('pages', { limit: 300, before: Number(newest.next) })
    const all = [...oldest.items, ...newest.items].map(({ message }) => message)
    expect(all).toEqual(Array.from({ length: 500 }, (_, line) => `line ${line}`))
  })

  test(`${kind}, solution log: lines are removed by age, and by size starting with the oldest`, async () => {
    let time = 1_000_000
    const log = createSolutionLog(place.db, createLimits({ LOG_KEPT: 1000, LOG_KEPT_SIZE: 500 }), () => time)
    const messages = async (solution: string) =>
      (await log.read(solution, { limit: 100 })).items.map(({ message }) => message)
    log.write('old', { level: 'info', message: 'old' })
    await log.flush()
    time += 1001
    for (let line = 0; line < 10; line++) log.write('long', { level: 'info', message: `line ${line}` })
    log.write('short', { level: 'info', message: 'stays' })
    await log.flush()
    await log.sweep()
    expect(await messages('old')).toEqual([])
    expect(await messages('long')).toEqual(['line 6', 'line 7', 'line 8', 'line 9'])
    expect(await messages('short')).toEqual(['stays'])
  })

  test(`${kind}, sessions: a cookie is valid until its session ends`, async () => {
    const sessions = createSessions(place.db, limits)
    const { cookie, publicId } = await sessions.start(ANNA)
    const { address, agent, isConfirmed, ...kept } = ANNA
    expect(await sessions.find('crm', cookie)).toMatchObject({ ...kept, publicId })
    expect(await createSessions(place.db, limits).find('crm', cookie)).toMatchObject({ ...kept, publicId })
    expect(await sessions.find('other', cookie)).toBeNull()
    await sessions.end('crm', cookie)
    expect(await sessions.find('crm', cookie)).toBeNull()
  })

  test(`${kind}, sessions: more sessions than fit into one query are checked, and changes by scripts are kept`, async () => {
    const sessions = createSessions(place.db, limits)
    const started = await Promise.all(Array.from({ length: 201 }, () => sessions.start({ ...ANNA, realm: 'many' })))
    const cookies = started.map(({ cookie }) => cookie)
    const [ended = '', ...others] = cookies
    await sessions.end('many', ended)
    const asked = cookies.map((cookie) => ({ realm: 'many', cookie }))
    expect(await sessions.living(asked)).toEqual(new Set(others))
    const [one = ''] = others
    await sessions.change('many', one, { tenant: ['é', -1], locale: 'fr' })
    expect(await createSessions(place.db, limits).find('many', one)).toMatchObject({ tenant: ['é', -1], locale: 'fr' })
    await sessions.change('many', one, { tenant: null })
    expect(await createSessions(place.db, limits).find('many', one)).toMatchObject({ tenant: null, locale: 'fr' })
  })

  test(`${kind}, sessions: those of an account end except one, including those that an older version stored`, async () => {
    const sessions = createSessions(place.db, limits)
    const anna = { ...ANNA, uid: 'a-2' }
    const [own, other, old] = [await sessions.start(anna), await sessions.start(anna), await sessions.start(anna)]
    const ofScript = await sessions.start({ ...anna, source: '', factorsOf: '' })
    const ofOlder = place.db.updateTable('sessions').set({ factors_of: null })
    await ofOlder.where('public_id', '=', old.publicId).execute()
    await sessions.endOfAccount({ factorsOf: 'users', uid: 'a-2' }, null, own.publicId)
    const asked = [own, other, old, ofScript].map(({ cookie }) => ({ realm: 'crm', cookie }))
    expect(await sessions.living(asked)).toEqual(new Set([own.cookie, ofScript.cookie]))
    await sessions.endOfAccount({ factorsOf: '', uid: 'a-2' }, 'other', null)
    expect(await sessions.living(asked)).toEqual(new Set([own.cookie, ofScript.cookie]))
    await sessions.endOfAccount({ factorsOf: '', uid: 'a-2' }, 'crm', null)
    expect(await sessions.living(asked)).toEqual(new Set([own.cookie]))
  })

  test(`${kind}, sessions: a user's own list has the browser's session first, then the newest ones`, async () => {
    let time = Date.now()
    const sessions = createSessions(place.db, limits, () => time)
    const start = async (more: { readonly realm?: string; readonly uid?: string } = {}) => {
      time += 1
      return (await sessions.start({ ...ANNA, realm: 'own', ...more })).publicId
    }
    const [old, own, new1, new2] = [await start(), await start(), await start(), await start()]
    for (const more of [{ realm: 'other' }, { uid: 'other' }]) await start(more)
    const listed = async (publicId: string, limit: number) =>
      (await sessions.listOwn({ publicId, uid: ANNA.uid, realm: 'own' }, limit)).map(({ id }) => id)
    expect(await listed(own, 3)).toEqual([own, new2, new1])
    expect(await listed(own, 10)).toEqual([own, new2, new1, old])
  })

  test(`${kind}, sessions: a user’s sessions can be listed in pages and ended, without affecting others`, async () => {
    const sessions = createSessions(place.db, limits)
    const anna = { ...ANNA, realm: 'listed' }
    for (let n = 0; n < 3; n++) await sessions.start(anna)
    const other = await sessions.start({ ...anna, uid: 'b-1' })
    const first = await sessions.list({ limit: 2, solution: 'listed', uid: ANNA.uid })
    const second = await sessions.list({ limit: 2, solution: 'listed', uid: ANNA.uid, after: String(first.next) })
    expect(new Set([...first.items, ...second.items].map(({ id }) => id)).size).toBe(3)
    await sessions.endOfUser('users', ANNA.uid)
    expect((await sessions.list({ limit: 10, solution: 'listed' })).items.map(({ id }) => id)).toEqual([other.publicId])
  })

  test(`${kind}, sessions: ended sessions are deleted later`, async () => {
    let time = 1_800_000_000_000
    const sessions = createSessions(place.db, limits, () => time)
    await sessions.start({ ...ANNA, realm: 'swept' })
    await sessions.endAll('swept')
    const rows = () => place.db.selectFrom('sessions').select('uid').where('solution', '=', 'swept').execute()
    await sessions.sweep()
    expect(await rows()).toHaveLength(1)
    time += limits.SESSION_ENDED_KEPT + 1
    await sessions.sweep()
    expect(await rows()).toHaveLength(0)
  })

  test(`${kind}, audit: entries are returned newest first, in pages, filtered as requested`, async () => {
    const audit = createAudit(place.db, limits)
    const entry = { actor: 'user:zoë', action: 'sign-in', solution: 'crm', address: '127.0.0.1' } as const
    for (let n = 0; n < 5; n++) audit.note({ ...entry, outcome: `n${n}` })
    await audit.record({ ...entry, actor: 'admin', outcome: 'other' })
    const first = await audit.read({ limit: 3, actor: 'user:zoë' })
    const second = await audit.read({ limit: 3, actor: 'user:zoë', before: Number(first.next) })
    expect([...first.items, ...second.items].map(({ outcome }) => outcome)).toEqual(['n4', 'n3', 'n2', 'n1', 'n0'])
    expect(second.next).toBeUndefined()
    expect((await audit.read({ limit: 3, actor: 'admin' })).items[0]).toMatchObject({ ...entry, actor: 'admin' })
  })

  test(`${kind}, audit: entries can be filtered by outcome, correlation ID and time, and by all of these together`, async () => {
    let time = 1_800_000_000_000
    const audit = createAudit(place.db, limits, () => time)
    const entry = { actor: 'user:search', action: 'sign-in', address: '::1' } as const
    for (const [outcome, correlationId] of [
      ['ok', 'AAAAA-00001'],
      ['refused', 'AAAAA-00002'],
      ['ok', 'AAAAA-00003'],
    ]) {
      await audit.record({ ...entry, outcome: outcome as string, correlationId: correlationId as string })
      time += 60_000
    }
    const found = async (filter: object) => {
      const { items } = await audit.read({ limit: 10, actor: 'user:search', ...filter })
      return items.map(({ correlationId }) => correlationId?.at(-1))
    }
    expect(await found({ outcome: 'ok' })).toEqual(['3', '1'])
    expect(await found({ correlationId: 'AAAAA-00002' })).toEqual(['2'])
    expect(await found({ from: 1_800_000_060_000, to: 1_800_000_060_000 })).toEqual(['2'])
    expect(await found({ outcome: 'ok', to: 1_800_000_060_000, action: 'sign-in' })).toEqual(['1'])
  })

  test(`${kind}, audit: the outcomes of the requested actions are counted per time step`, async () => {
    const start = 1_900_000_020_000
    let time = start
    const audit = createAudit(place.db, limits, () => time)
    const note = (outcome: string, action: 'sign-in' | 'sign-out') =>
      audit.note({ actor: 'user:counted', action, outcome, address: '' })
    for (const outcome of ['ok', 'ok', 'refused']) note(outcome, 'sign-in')
    note('ok', 'sign-out')
    time += 119_999
    note('ok', 'sign-in')
    time += 1
    note('ok', 'sign-in')
    const counts = await audit.countOutcomes({ actions: ['sign-in'], from: start, to: start + 120_000, step: 60_000 })
    expect(counts.toSorted((one, other) => one.at - other.at || (one.outcome < other.outcome ? -1 : 1))).toEqual([
      { at: start, outcome: 'ok', count: 2 },
      { at: start, outcome: 'refused', count: 1 },
      { at: start + 60_000, outcome: 'ok', count: 1 },
    ])
  })

  test(`${kind}, solution store: an inactive version is erased with its media; the active one stays`, async () => {
    const store = createSolutionStore(place.db, limits)
    const [one, two] = [bundleOf('old', '1.0.0', { a: new Uint8Array(9) }), bundleOf('old', '2.0.0')]
    for (const bundle of [one, two]) await store.add(bundle, PACKED, preparedOf(bundle))
    expect(await store.bundle('old', one.sha256)).toEqual(PACKED)
    expect(await store.removeVersion('old', two.sha256)).toBe(false)
    expect(await store.removeVersion('old', one.sha256)).toBe(true)
    expect(await store.removeVersion('old', one.sha256)).toBe(false)
    expect((await store.versions('old')).map(({ version }) => version)).toEqual(['2.0.0'])
    expect([await store.media('old', one.sha256, 'a'), await store.bundle('old', one.sha256)]).toEqual([null, null])
  })

  test(`${kind}, platform key: nodes that start at the same time agree on it, and a different key prevents the start`, async () => {
    const key = 'k'.repeat(40)
    const open = (secret: string) => openPlatformKey(place.db, place.settings.home, secret)
    const keys = await Promise.all(Array.from({ length: 5 }, () => open(key)))
    expect(new Set(keys.map((one) => one.sign('a', 'b'))).size).toBe(1)
    await expect(open('other'.repeat(10))).rejects.toMatchObject({ code: 'ERR_PLATFORM_KEY' })
  })
}

async function contentOf(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat(await Array.fromAsync(pieces)))
}

const PACKED = new Uint8Array(randomBytes(5000))
const ANNA = {
  realm: 'crm',
  username: 'anna',
  uid: 'a-1',
  permissions: ['Users', 'Büro'],
  tenant: ['acme', -1],
  locale: 'nl-BE',
  address: '127.0.0.1',
  source: 'users' as const,
  selector: null,
  providerLogin: null,
  factorsOf: 'users' as const,
  methods: ['password'] as const,
  agent: null,
  isConfirmed: true,
}

function bundleOf(name: string, version = '1.0.0', media: Readonly<Record<string, Uint8Array>> = {}): Bundle {
  return {
    sha256: Buffer.from(`${name} ${version}`).toString('hex').padEnd(64, '0'),
    manifest: manifestOf({ name, version, title: `Ünïcode ${name}` }),
    media: new Map(Object.entries(media)),
  } as unknown as Bundle
}

function preparedOf({ manifest }: Bundle): PreparedSolution {
  return { manifest, modules: [], scripts: [], texts: { nl: { 'a.b': 'ëén 😀\u0000' } } } as unknown as PreparedSolution
}
