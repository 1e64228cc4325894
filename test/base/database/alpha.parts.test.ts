import { execFileSync } from 'node:child_process'
import { appendFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createThrottle } from '../../../base/accounts/throttle.ts'
import { alpha } from '../../../base/database/alpha.ts'
import { openDatabase } from '../../../base/database/open.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { postgresPath, sharedPostgres } from '../../support/postgres-server.ts'
import { connectTo, databaseSettings, testDatabase, testServer, usePlace } from './contract.ts'
import { testStores } from './stores.ts'

describe.skipIf(postgresPath === undefined)('alpha on PostgreSQL (skipped where it is not installed)', () => {
  const place = usePlace('alpha', sharedPostgres)
  testDatabase('alpha', place)
  testStores(place)
  testServer('alpha', place)

  test('alpha: a statement that times out is abandoned and its connection is closed', async () => {
    const db = await connectTo(alpha, place, { connections: 1, statementTime: 200 })
    const slow = sql`select pg_sleep(60)`.execute(db)
    await expect(slow).rejects.toMatchObject({ code: 'ERR_DATABASE_UNREACHABLE' })
    expect((await sql`select 2 as two`.execute(db)).rows).toEqual([{ two: 2 }])
    await db.destroy()
  })

  test('alpha: an idle connection that the server closes does not crash the process, and is replaced', async () => {
    const db = await connectTo(alpha, place, { connections: 1 })
    const pidOf = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid
    const pid = await pidOf()
    await sql`select pg_terminate_backend(${pid})`.execute(place.db)
    await expect.poll(() => pidOf().catch(() => pid)).not.toBe(pid)
    await db.destroy()
  })

  test('alpha: if two hosts count the first attempt on an account at the same time, both counts are stored', async () => {
    const attempt = { source: 'users', username: 'guessed', address: '192.0.2.1' }
    const other = createThrottle(place.db, createLimits(), true)
    let isFirst = true
    // The other host counts its attempt between this host's two statements. The first statement finds no row.
    const db = place.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (isFirst) {
          isFirst = false
          await other.count(attempt, false)
        }
        return result
      },
    })
    await createThrottle(db, createLimits(), true).count(attempt, false)
    const counters = await place.db.selectFrom('throttle').select('points').execute()
    expect(counters).toEqual(Array(3).fill({ points: 2 }))
  })

  test('alpha: if the account cannot create the missing database, the error says so', async () => {
    await createAccount('reader')
    const opening = openDatabase(settingsOf('missing', 'reader'))
    await expect(opening).rejects.toMatchObject({
      code: 'ERR_DATABASE_UNREACHABLE',
      message: expect.stringMatching(
        /no database "missing".*"reader" is not allowed to create it.*PLATFORM_DATABASE_NAME/,
      ),
    })
  })

  test('alpha: if the account cannot create tables, the error says so', async () => {
    await createAccount('guest')
    await sql`create database no_rights`.execute(place.db)
    await expect(openDatabase(settingsOf('no_rights', 'guest'))).rejects.toMatchObject({
      code: 'ERR_DATABASE_UNREACHABLE',
      message: expect.stringMatching(
        /"guest" does not have the required permissions for the database "no_rights".*Grant it permission to/,
      ),
    })
  })

  test('alpha: a database that an operator created for the account works without further privileges', async () => {
    await createAccount('owner')
    await sql`create database made owner owner`.execute(place.db)
    const db = await openDatabase(settingsOf('made', 'owner'))
    await db.insertInto('platform').values({ key: 'k', value: 'v' }).execute()
    await db.destroy()
  })

  test('alpha: a database with another encoding is rejected', async () => {
    await sql`create database latin encoding 'LATIN1' template template0`.execute(place.db)
    const opening = openDatabase(databaseSettings(place.settings.home, 'alpha', place.server, { name: 'latin' }))
    await expect(opening).rejects.toMatchObject({ message: expect.stringMatching(/encoding LATIN1.*UTF8/) })
  })

  test('alpha: TLS encrypts the connection, and verify rejects an untrusted certificate', async () => {
    const folder = await serverFolder()
    const files = ['-keyout', join(folder, 'server.key'), '-out', join(folder, 'server.crt')]
    const subject = ['-subj', '/CN=127.0.0.1', '-days', '2', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    const { uid, gid } = statSync(folder)
    execFileSync('openssl', ['req', '-x509', '-noenc', ...files, ...subject], { stdio: 'ignore', uid, gid })
    appendFileSync(join(folder, 'postgresql.conf'), 'ssl = on\n')
    await sql`select pg_reload_conf()`.execute(place.db)
    const open = (tls: 'on' | 'verify') =>
      openDatabase(databaseSettings(place.settings.home, 'alpha', place.server, { account: { tls } }))
    await expect.poll(() => open('on').then(isEncrypted, (error: Error) => error.message)).toBe(true)
    await expect(open('verify')).rejects.toMatchObject({
      message: expect.stringMatching(/certificate is not trusted/),
    })
    // Restores the server's settings for the next test file in this worker.
    appendFileSync(join(folder, 'postgresql.conf'), 'ssl = off\n')
    await sql`select pg_reload_conf()`.execute(place.db)
  })

  async function isEncrypted(db: Awaited<ReturnType<typeof openDatabase>>): Promise<boolean | undefined> {
    const { rows } = await sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(db)
    await db.destroy()
    return rows[0]?.ssl
  }

  async function serverFolder(): Promise<string> {
    const { rows } = await sql<{ folder: string }>`select current_setting('data_directory') as folder`.execute(place.db)
    return rows[0]?.folder ?? ''
  }

  async function createAccount(name: string): Promise<void> {
    await sql`create role ${sql.id(name)} login password 'its own password'`.execute(place.db)
  }

  function settingsOf(database: string, username: string) {
    const account = { username, password: 'its own password' }
    return databaseSettings(place.settings.home, 'alpha', place.server, { name: database, account })
  }
})
