import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KindName, PoolOptions, ServerKind, ServerKindName } from '../../../base/database/kind.ts'
import { kindOf } from '../../../base/database/kinds.ts'
import { type DatabaseSettings, serverFor } from '../../../base/database/open.ts'
import { firstRows, insertOnce, isUniqueViolation, put } from '../../../base/database/portable.ts'
import { serverDialect } from '../../../base/database/server-dialect.ts'
import type { Tables } from '../../../base/database/tables.ts'
import { databaseProblem } from '../../../cli/look-at-database.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { SERVER_START, type TestServer } from '../../support/database-server.ts'
import { testAtFullScale } from '../../support/scale.ts'

export type TestPlace = {
  readonly kind: KindName
  /** The test server, or null for the embedded database. */
  readonly server: TestServer | null
  readonly settings: DatabaseSettings
  readonly db: HostDatabase
}

const SERVER = { username: 'x', password: '', host: '127.0.0.1', port: 1, tls: 'off' } as const

/** The settings for a database on a test server or, without a server, for an embedded database. */
export function databaseSettings(
  home: string,
  kind: KindName,
  server: TestServer | null,
  changes: { readonly name?: string; readonly account?: Partial<TestServer['address']> } = {},
): DatabaseSettings {
  const address = { ...(server?.address ?? SERVER), ...changes.account }
  return {
    home,
    database: { kind, name: changes.name ?? server?.database ?? 'platform' },
    databaseServers: { alpha: address, beta: address, gamma: address },
  }
}

/** Opens a separate pool for the test database. The caller must destroy it. */
export async function connectTo(kind: ServerKind, { settings }: TestPlace, pool: PoolOptions): Promise<HostDatabase> {
  const server = serverFor(settings, kind.name)
  const dialect = await kind.createDialect(server, settings.database.name, pool)
  return new Kysely<Tables>({ dialect: serverDialect(dialect, kind, server) })
}

/** Opens a database of the given kind before a file's tests, and closes it afterwards. */
export function usePlace(kind: KindName, start: () => Promise<TestServer | null>): TestPlace {
  let place: TestPlace
  beforeAll(async () => {
    const server = await start()
    const settings = databaseSettings(mkdtempSync(join(tmpdir(), 'solhost-database-')), kind, server)
    place = { kind, server, settings, db: await openHostDatabase(settings) }
  }, SERVER_START)
  afterAll(async () => {
    await place?.db.destroy()
    await place?.server?.stop()
    if (place) rmSync(place.settings.home, { recursive: true })
  })
  return {
    kind,
    get server() {
      return place.server
    },
    get settings() {
      return place.settings
    },
    get db() {
      return place.db
    },
  }
}

/** Tests behaviour that is the same for every kind of database. */
export function testDatabase(kind: KindName, place: TestPlace): void {
  const addLine = (message: string, line: number | null = null) =>
    place.db
      .insertInto('solution_log')
      .values({ ...LINE, message, line })
      .execute()
  const addSolution = (db: HostDatabase, name: string) =>
    db.insertInto('solutions').values({ name, active_sha256: null, created_at: 1, deleted_at: null }).execute()
  const versionOf = (solution: string, bundle: Uint8Array) => ({ ...VERSION, solution, bundle, bytes: bundle.length })
  const keysOf = async (prefix: string) => {
    const rows = await place.db.selectFrom('platform').select('key').orderBy('key').execute()
    return rows.map(({ key }) => key).filter((key) => key.startsWith(prefix))
  }

  test(`${kind}: the open database reports its kind`, () => {
    expect(kindOf(place.db).name).toBe(kind)
  })

  test(`${kind}: numbers, text and nulls are read as they were written`, async () => {
    const row = { ...LINE, time: 4_102_444_800_123, message: 'types', line: -1, code: null, size: 2 ** 53 - 1 }
    await place.db.insertInto('solution_log').values(row).execute()
    const { id, ...kept } = await place.db
      .selectFrom('solution_log')
      .selectAll()
      .where('message', '=', 'types')
      .executeTakeFirstOrThrow()
    expect(kept).toEqual(row)
    expect(id).toEqual(expect.any(Number))
  })

  test(`${kind}: counts and sums are numbers`, async () => {
    for (const line of [1, 2, 3_000_000]) await addLine('counted', line)
    const counted = await place.db
      .selectFrom('solution_log')
      .where('message', '=', 'counted')
      .select(({ fn }) => [fn.countAll().as('count'), fn.sum('line').as('sum'), fn.max('time').as('max')])
      .executeTakeFirst()
    expect(counted).toEqual({ count: 3, sum: 3_000_003, max: LINE.time })
  })

  test(`${kind}: rows are numbered in insertion order`, async () => {
    for (const line of [1, 2, 3]) await addLine('ordered', line)
    const query = place.db.selectFrom('solution_log').select(['id', 'line']).where('message', '=', 'ordered')
    const rows = await query.orderBy('id', 'desc').execute()
    expect(rows.map(({ line }) => line)).toEqual([3, 2, 1])
  })

  test(`${kind}: bytes are read as they were written, even from a part of a larger buffer`, async () => {
    await addSolution(place.db, 'bytes')
    const all = Uint8Array.from({ length: 768 }, (_, n) => n % 256)
    for (const [sha256, bundle] of [
      ['part', all.subarray(100, 700)],
      ['buffer', Buffer.from(all)],
      ['none', new Uint8Array(0)],
    ] as const) {
      await place.db
        .insertInto('solution_versions')
        .values({ ...versionOf('bytes', bundle), sha256 })
        .execute()
      const query = place.db.selectFrom('solution_versions').select('bundle').where('sha256', '=', sha256)
      const kept = (await query.executeTakeFirstOrThrow()).bundle
      expect(Buffer.isBuffer(kept)).toBe(false)
      expect(kept).toEqual(new Uint8Array(bundle))
    }
  })

  test(`${kind}: a bundle of 10 MB is read as it was written`, async () => {
    await addSolution(place.db, 'large')
    const bundle = new Uint8Array(randomBytes(10 * 1024 ** 2))
    await place.db.insertInto('solution_versions').values(versionOf('large', bundle)).execute()
    const query = place.db.selectFrom('solution_versions').select('bundle').where('solution', '=', 'large')
    expect(Buffer.compare((await query.executeTakeFirstOrThrow()).bundle, bundle)).toBe(0)
  })

  test(`${kind}: a text of a million characters is read as it was written`, async () => {
    const value = 'aé漢😀\\\'"%_;--\n'.repeat(80_000)
    await put(place.db, 'grants', ['solution'], { solution: 'long', value })
    const row = await place.db.selectFrom('grants').select('value').where('solution', '=', 'long').executeTakeFirst()
    expect(row?.value === value).toBe(true)
  })

  test(`${kind}: keys that differ by case, accent, Unicode form or a trailing space are different`, async () => {
    const keys = [
      'anna',
      'Anna',
      'ANNA',
      'ànna',
      'anna ',
      ' anna',
      'anńa',
      'ann\u0144a',
      'an\u0301na',
      "an'na",
      'an\\na',
      'an"na',
    ]
    const unique = [...new Set(keys)].filter((key) => kind !== 'beta' || !key.endsWith(' '))
    for (const key of unique)
      expect(await insertOnce(place.db, 'platform', { key: `case ${key}`, value: key })).toBe(true)
    for (const key of unique) {
      const row = await place.db.selectFrom('platform').select('value').where('key', '=', `case ${key}`).execute()
      expect(row).toEqual([{ value: key }])
    }
  })

  test(`${kind}: texts are ordered by code point`, async () => {
    const keys = ['Z', 'a', 'é', 'ｚ', '😀'].map((key) => `order ${key}`)
    for (const key of keys.toReversed()) await insertOnce(place.db, 'platform', { key, value: '' })
    expect(await keysOf('order ')).toEqual(keys)
  })

  test(`${kind}: a key can have 255 characters, emoji included`, async () => {
    const row = { key: '😀'.repeat(127).padEnd(255, 'x'), value: 'long key' }
    await insertOnce(place.db, 'platform', row)
    expect(await place.db.selectFrom('platform').selectAll().where('key', '=', row.key).execute()).toEqual([row])
  })

  test(`${kind}: U+0000 in a text causes no error`, async () => {
    await addLine('before\0after')
    const rows = await place.db
      .selectFrom('solution_log')
      .select('message')
      .where('message', 'like', 'before%')
      .execute()
    expect(rows).toEqual([{ message: expect.stringMatching(/^before[\0\ufffd]after$/u) }])
  })

  test(`${kind}: a failed transaction leaves no changes`, async () => {
    const failed = place.db.transaction().execute(async (transaction) => {
      await insertOnce(transaction, 'platform', { key: 'undone', value: '' })
      throw new Error('undo')
    })
    await expect(failed).rejects.toThrow('undo')
    expect(await keysOf('undone')).toEqual([])
  })

  test(`${kind}: uncommitted changes are invisible to others`, async () => {
    // The embedded database has only one connection, so a reader would wait for the transaction.
    if (place.server === null) return
    await place.db.transaction().execute(async (transaction) => {
      await insertOnce(transaction, 'platform', { key: 'hidden', value: '' })
      expect(await keysOf('hidden')).toEqual([])
    })
    expect(await keysOf('hidden')).toEqual(['hidden'])
  })

  test(`${kind}: only a duplicate primary or unique key is reported as a unique violation`, async () => {
    const errorOf = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error)
    const insert = (id: string, token_hash: string) =>
      place.db
        .insertInto('api_tokens')
        .values({ ...TOKEN, id, token_hash })
        .execute()
    await insert('one', 'hash')
    expect(isUniqueViolation(await errorOf(insert('one', 'other')))).toBe(true)
    expect(isUniqueViolation(await errorOf(insert('two', 'hash')))).toBe(true)
    const foreign = place.db.insertInto('permissions').values({ uid: 'nobody', solution: '', name: 'x' }).execute()
    expect(isUniqueViolation(await errorOf(foreign))).toBe(false)
    const noValue = place.db
      .insertInto('platform')
      .values({ key: 'null', value: null as never })
      .execute()
    expect(isUniqueViolation(await errorOf(noValue))).toBe(false)
  })

  test(`${kind}: insertOnce lets only one of 20 callers insert`, async () => {
    for (let round = 0; round < 5; round++) {
      const id = randomUUID()
      const callers = Array.from({ length: 20 }, (_, n) => insertOnce(place.db, 'used_tokens', { id, expires_at: n }))
      const wins = await Promise.all(callers)
      expect(wins.filter(Boolean)).toHaveLength(1)
      const rows = await place.db.selectFrom('used_tokens').selectAll().where('id', '=', id).execute()
      expect(rows).toEqual([{ id, expires_at: wins.indexOf(true) }])
    }
  })

  test(`${kind}: a transaction continues after insertOnce returned false, and sees the row`, async () => {
    await insertOnce(place.db, 'platform', { key: 'there', value: 'first' })
    const seen = await place.db.transaction().execute(async (transaction) => {
      expect(await insertOnce(transaction, 'platform', { key: 'there', value: 'second' })).toBe(false)
      await insertOnce(transaction, 'platform', { key: 'there too', value: '' })
      return transaction.selectFrom('platform').select('value').where('key', '=', 'there').executeTakeFirst()
    })
    expect(seen).toEqual({ value: 'first' })
    expect(await keysOf('there')).toEqual(['there', 'there too'])
  })

  test(`${kind}: put by 20 callers at the same time leaves exactly one of their rows`, async () => {
    const row = (n: number) => ({ solution: 'put', name: 'secret', value: `v${n}`, hosts: `h${n}`, updated_at: n })
    for (let round = 0; round < 5; round++) {
      const numbers = Array.from({ length: 20 }, (_, n) => 100 * round + n)
      await Promise.all(numbers.map((n) => put(place.db, 'secrets', ['solution', 'name'], row(n))))
      const rows = await place.db.selectFrom('secrets').selectAll().where('solution', '=', 'put').execute()
      expect(numbers.map(row)).toContainEqual(rows[0])
      expect(rows).toHaveLength(1)
      await place.db.deleteFrom('secrets').where('solution', '=', 'put').execute()
    }
  })

  test(`${kind}: an update returns the number of matched rows, whether or not they changed`, async () => {
    await put(place.db, 'grants', ['solution'], { solution: 'same', value: 'x' })
    const set = (solution: string) =>
      place.db.updateTable('grants').set({ value: 'x' }).where('solution', '=', solution).executeTakeFirst()
    expect((await set('same')).numUpdatedRows).toBe(1n)
    expect((await set('nobody')).numUpdatedRows).toBe(0n)
  })

  test(`${kind}: firstRows returns the first rows in the given order`, async () => {
    for (const key of ['first 3', 'first 1', 'first 2']) await insertOnce(place.db, 'platform', { key, value: '' })
    const query = place.db.selectFrom('platform').select('key').where('key', 'like', 'first %').orderBy('key')
    expect(await firstRows(place.db, query, 2).execute()).toEqual([{ key: 'first 1' }, { key: 'first 2' }])
  })

  test(`${kind}: deleting a row deletes the rows that belong to it`, async () => {
    await addSolution(place.db, 'owner')
    await place.db
      .insertInto('solution_versions')
      .values(versionOf('owner', new Uint8Array(1)))
      .execute()
    const media = { solution: 'owner', sha256: VERSION.sha256, path: 'a.txt', etag: 'e', content: new Uint8Array(1) }
    await place.db.insertInto('media').values(media).execute()
    await place.db.deleteFrom('solutions').where('name', '=', 'owner').execute()
    expect(await place.db.selectFrom('media').select('path').where('solution', '=', 'owner').execute()).toEqual([])
  })

  test(`${kind}: opening the database again finds the schema up to date and the rows unchanged`, async () => {
    await insertOnce(place.db, 'platform', { key: 'again', value: 'kept' })
    const again = await openHostDatabase(place.settings)
    expect(await again.selectFrom('platform').select('value').where('key', '=', 'again').execute()).toEqual([
      { value: 'kept' },
    ])
    await again.destroy()
  })

  test(`${kind}: a database written by a newer version is rejected`, async () => {
    const settings = { ...place.settings, database: { kind, name: 'newer' } }
    const db = await openHostDatabase(settings)
    await sql`insert into kysely_migration (name, timestamp) values ('999-newer', '2999-01-01T00:00:00.000Z')`.execute(
      db,
    )
    await db.destroy()
    const message = expect.stringMatching(
      /newer version of Solhost \(schema version "999-newer"\).*Start the newer version/s,
    )
    await expect(openHostDatabase(settings)).rejects.toMatchObject({ code: 'ERR_DATABASE_VERSION', message })
    expect(await databaseProblem(settings)).toMatchObject({
      what: expect.stringContaining('a newer version of Solhost'),
    })
  })
}

/** Tests additional behaviour of database servers. */
export function testServer(kind: ServerKindName, place: TestPlace): void {
  const server = () => place.server as TestServer
  const read = (db = place.db) => db.selectFrom('platform').select('key').execute()
  const AWAY = { code: 'ERR_DATABASE_UNREACHABLE', details: { retryAfter: 5 } }

  test(`${kind}: a transaction sees what others committed after it began`, async () => {
    await place.db.transaction().execute(async (transaction) => {
      const rows = () => transaction.selectFrom('platform').select('key').where('key', '=', 'meanwhile').execute()
      expect(await rows()).toEqual([])
      await insertOnce(place.db, 'platform', { key: 'meanwhile', value: '' })
      expect(await rows()).toEqual([{ key: 'meanwhile' }])
    })
  })

  test(`${kind}: hosts that start at the same time on a server without the database all start`, async () => {
    const settings = databaseSettings(place.settings.home, kind, server(), { name: 'at_once' })
    const hosts = await Promise.all(Array.from({ length: 5 }, () => openHostDatabase(settings)))
    const applied = await sql<{ name: string }>`select name from kysely_migration`.execute(hosts[0] as HostDatabase)
    expect(new Set(applied.rows.map(({ name }) => name)).size).toBe(applied.rows.length)
    const wins = await Promise.all(hosts.map((db) => insertOnce(db, 'used_tokens', { id: 'a', expires_at: 1 })))
    expect(wins.filter(Boolean)).toHaveLength(1)
    await Promise.all(hosts.map((db) => db.destroy()))
  })

  test(`${kind}: a wrong password is reported in a separate message, without the password`, async () => {
    const account = { password: 'not-the-password' }
    const opening = openHostDatabase(databaseSettings(place.settings.home, kind, server(), { account }))
    const error = (await opening.catch((reason: unknown) => reason)) as Error & { code: string }
    const { host, port, username } = server().address
    expect(error.code).toBe('ERR_DATABASE_UNREACHABLE')
    expect(error.message).toContain(`the server rejects the account "${username}" or its password`)
    expect(error.message).toContain(`${host}:${port}`)
    expect(error.message).toContain(`DB_${kind.toUpperCase()}_PASSWORD`)
    expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain('not-the-password')
  })

  test(`${kind}: if the server is unreachable, the error contains its address and the properties to check`, async () => {
    const account = { port: 1 }
    const opening = openHostDatabase(databaseSettings(place.settings.home, kind, server(), { account }))
    const property = `DB_${kind.toUpperCase()}`
    await expect(opening).rejects.toMatchObject({
      code: 'ERR_DATABASE_UNREACHABLE',
      message: expect.stringMatching(`127.0.0.1:1 does not respond.*${property}_SERVER and ${property}_PORT`),
    })
  })

  test(`${kind}: if TLS is required and the server has none, the error says so`, async () => {
    const opening = openHostDatabase(databaseSettings(place.settings.home, kind, server(), { account: { tls: 'on' } }))
    await expect(opening).rejects.toMatchObject({
      code: 'ERR_DATABASE_UNREACHABLE',
      message: expect.stringMatching(`does not offer TLS.*DB_${kind.toUpperCase()}_TLS`),
    })
  })

  // Takes as long as the pool's timeout, because the pool uses the real clock.
  testAtFullScale(`${kind}: nobody waits longer than 5 s for a connection`, async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const holding = Array.from({ length: 10 }, () => place.db.transaction().execute(() => held))
    const begun = performance.now()
    await expect(read()).rejects.toMatchObject(AWAY)
    expect(performance.now() - begun).toBeLessThan(6000)
    letGo()
    await Promise.all(holding)
    await expect(read()).resolves.toEqual(expect.any(Array))
  })

  test(`${kind}: if the server crashes, running statements fail as unreachable, and everything works once it is back`, async () => {
    const { promise: inside, resolve: isInside } = Promise.withResolvers<void>()
    const { promise: killed, resolve: isKilled } = Promise.withResolvers<void>()
    const transaction = place.db.transaction().execute(async (one) => {
      await insertOnce(one, 'platform', { key: 'crashed', value: '' })
      isInside()
      await killed
      await insertOnce(one, 'platform', { key: 'crashed too', value: '' })
    })
    await inside
    const running = expect(sleep(kind, place.db)).rejects.toMatchObject(AWAY)
    await Promise.all(Array.from({ length: 5 }, () => read()))
    await server().kill()
    isKilled()
    await expect(transaction).rejects.toMatchObject(AWAY)
    await running
    for (let attempt = 0; attempt < 12; attempt++) await expect(read()).rejects.toMatchObject(AWAY)
    await server().restart()
    const keys = await untilAnswered(read)
    expect(keys).not.toContainEqual({ key: 'crashed' })
    await Promise.all(Array.from({ length: 20 }, () => read()))
  })
}

/** Runs a statement that takes a minute. */
function sleep(kind: ServerKindName, db: HostDatabase): Promise<unknown> {
  return (kind === 'alpha' ? sql`select pg_sleep(60)` : sql`select sleep(60)`).execute(db)
}

/** Retries, because a query fails if its connection was lost and the pool has not noticed yet. */
async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < 12; attempt++) {
    try {
      return await ask()
    } catch {}
  }
  return ask()
}

const LINE = {
  solution: 'contract',
  time: 1_700_000_000_000,
  level: 'info',
  message: '',
  code: null,
  file: null,
  line: null,
  column: null,
  correlation_id: null,
  size: 0,
}
const VERSION = {
  sha256: 'a'.repeat(64),
  version: '1.0.0',
  title: 'T',
  type: 'solution',
  authenticator: 'DEFAULT',
  listed: 1,
  prepared: '{}',
  uploaded_at: 1,
}
const TOKEN = { name: 'n', scopes: '[]', created_at: 1, expires_at: null }
