import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { gamma } from '../../../base/database/gamma.ts'
import { openDatabase } from '../../../base/database/open.ts'
import { insertOnce, put } from '../../../base/database/portable.ts'
import { SERVER_START, type TestServer } from '../../support/database-server.ts'
import { mariadbPath, sharedMariadb } from '../../support/mariadb-server.ts'
import { connectTo, databaseSettings, testDatabase, testServer, usePlace } from './contract.ts'
import { testStores } from './stores.ts'

describe.skipIf(mariadbPath === undefined)('gamma on MariaDB (skipped where it is not installed)', () => {
  const place = usePlace('gamma', sharedMariadb)
  testDatabase('gamma', place)
  testStores(place)
  testServer('gamma', place)

  test('gamma: a statement that times out is abandoned and its connection is closed', async () => {
    const db = await connectTo(gamma, place, { connections: 1, statementTime: 200 })
    await expect(sql`select sleep(60)`.execute(db)).rejects.toMatchObject({ code: 'ERR_DATABASE_UNREACHABLE' })
    expect((await sql`select 2 as two`.execute(db)).rows).toEqual([{ two: 2 }])
    await db.destroy()
  })

  test('gamma: a statement with binary values times out if the server stops responding', async () => {
    const server = place.server as TestServer
    const db = await connectTo(gamma, place, { connections: 1, statementTime: 200 })
    await sql`select 1`.execute(db)
    await server.freeze()
    try {
      // The driver sends binary values in a prepared statement. Its own timeouts don't apply to the preparation.
      const row = { solution: 'frozen', sha256: '', path: '', etag: '', content: new Uint8Array(1) }
      const insert = db.insertInto('media').values(row).execute()
      await expect(insert).rejects.toMatchObject({ code: 'ERR_DATABASE_UNREACHABLE' })
    } finally {
      server.thaw()
    }
    expect((await sql`select 2 as two`.execute(db)).rows).toEqual([{ two: 2 }])
    await db.destroy()
  })

  test('gamma: an idle connection that the server closes is replaced', async () => {
    const db = await connectTo(gamma, place, { connections: 1 })
    const idOf = async () => (await sql<{ id: number }>`select connection_id() as id`.execute(db)).rows[0]?.id
    const id = await idOf()
    await sql`kill ${sql.lit(id)}`.execute(place.db)
    await expect.poll(() => idOf().catch(() => id)).not.toBe(id)
    await db.destroy()
  })

  test('gamma: values are stored unchanged even if the server’s SQL mode treats backslashes as literals', async () => {
    await sql`set global sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'`.execute(place.db)
    const db = await connectTo(gamma, place, { connections: 1 })
    const value = "\\' or 1=1 -- \\"
    await insertOnce(db, 'platform', { key: 'mode', value })
    expect(await db.selectFrom('platform').select('value').where('key', '=', 'mode').execute()).toEqual([{ value }])
    expect(await db.selectFrom('platform').select('value').where('key', '=', value).execute()).toEqual([])
    await db.destroy()
    await sql`set global sql_mode = default`.execute(place.db)
  })

  test('gamma: a text that is too long for its column is an error and is not truncated', async () => {
    const row = { key: 'x'.repeat(256), value: '' }
    await expect(insertOnce(place.db, 'platform', row)).rejects.toMatchObject({ code: 'ER_DATA_TOO_LONG' })
  })

  test('gamma: if a value is too large for the server, the error contains the server variable to change', async () => {
    const row = { solution: 'packet', value: 'é'.repeat(10 * 1024 ** 2) }
    await expect(put(place.db, 'grants', ['solution'], row)).rejects.toMatchObject({
      code: 'ERR_BUNDLE_TOO_LARGE',
      message: expect.stringMatching(/at most 16777216 bytes.*max_allowed_packet/),
    })
    await expect(place.db.selectFrom('platform').select('key').execute()).resolves.toEqual(expect.any(Array))
    await sql`set global max_allowed_packet = 67108864`.execute(place.db)
    const db = await connectTo(gamma, place, { connections: 1 })
    await put(db, 'grants', ['solution'], row)
    const kept = await db.selectFrom('grants').select('value').where('solution', '=', 'packet').executeTakeFirst()
    expect(kept?.value === row.value).toBe(true)
    await db.destroy()
    await sql`set global max_allowed_packet = default`.execute(place.db)
  })

  test('gamma: the next start resumes a migration that was interrupted between two steps', async () => {
    const settings = databaseSettings(place.settings.home, 'gamma', place.server, { name: 'cut_off' })
    const first = await openDatabase(settings)
    await sql`delete from kysely_migration`.execute(first)
    await sql`drop table throttle`.execute(first)
    await sql`alter table sessions drop column selector`.execute(first)
    await first.destroy()
    const second = await openDatabase(settings)
    await insertOnce(second, 'throttle', { key: 'k', points: 1, expires_at: 1 })
    expect(await second.selectFrom('sessions').select('selector').execute()).toEqual([])
    await second.destroy()
  })

  test('gamma: if the account has no privileges on the database, the error says so', async () => {
    await sql`create user ${sql.raw("'guest'@'127.0.0.1'")} identified by 'its own password'`.execute(place.db)
    const account = { username: 'guest', password: 'its own password' }
    const open = (name: string) =>
      openDatabase(databaseSettings(place.settings.home, 'gamma', place.server, { name, account }))
    await expect(open(place.settings.database.name)).rejects.toMatchObject({
      code: 'ERR_DATABASE_UNREACHABLE',
      message: expect.stringMatching(
        /"guest" does not have the required permissions for the database "file_.*Grant it permission to/,
      ),
    })
  })

  test(
    'gamma: TLS encrypts the connection, and verify rejects an untrusted certificate',
    async () => {
      const server = place.server as TestServer
      const files = await certificate()
      await server.kill()
      await server.restart(`--ssl-key=${files.key}`, `--ssl-cert=${files.certificate}`)
      const open = (tls: 'on' | 'verify') =>
        openDatabase(databaseSettings(place.settings.home, 'gamma', server, { account: { tls } }))
      const db = await open('on')
      const { rows } = await sql<{ Value: string }>`show status like 'Ssl_cipher'`.execute(db)
      expect(rows[0]?.Value).toMatch(/\w/)
      await db.destroy()
      await expect(open('verify')).rejects.toMatchObject({
        message: expect.stringMatching(/certificate is not trusted/),
      })
      await server.kill()
      await server.restart()
    },
    SERVER_START,
  )

  /**
   * Creates a key and a certificate in the server's data folder, because the server's account can't read other folders.
   */
  async function certificate(): Promise<{ readonly key: string; readonly certificate: string }> {
    const { rows } = await sql<{ folder: string }>`select @@datadir as folder`.execute(place.db)
    const folder = rows[0]?.folder ?? ''
    const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.crt')]
    const subject = ['-subj', '/CN=127.0.0.1', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    const { uid, gid } = statSync(folder)
    const options = ['req', '-x509', '-noenc', '-keyout', key, '-out', certificate, ...subject]
    execFileSync('openssl', options, { stdio: 'ignore', uid, gid })
    return { key, certificate }
  }
})
