import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ServerKindName } from '../../../base/database/kind.ts'
import { createServerDatabase, type ServerDatabase } from '../../../host/solution-databases/server-database.ts'
import { checkSql, readSql, writeSql } from '../../../host/solution-databases/sql-text.ts'
import type { Parameter } from '../../../plugins/database/host.ts'
import { createLimits } from '../../../runtime/limits.ts'
import type { TestServer } from '../../support/database-server.ts'
import { mariadbPath, sharedMariadb } from '../../support/mariadb-server.ts'
import { PATIENCE } from '../../support/patience.ts'
import { postgresPath, sharedPostgres } from '../../support/postgres-server.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Long limits for queries that must succeed, since the machine may be busy. */
const patientLimits = createLimits({ QUERY_TIME: PATIENCE })
const hastyLimits = createLimits({ QUERY_TIME: 1000 })

type Dialect = {
  readonly kind: ServerKindName
  readonly isThere: boolean
  readonly start: () => Promise<TestServer>
  readonly system: string
  /** Creates the database `crm`, the account `app`, and a table with rows of two tenants and a row-level policy. */
  readonly prepare: readonly (readonly [database: string, sql: string])[]
  readonly numbers: (count: number) => string
  readonly endless: string
  readonly huge: string
  readonly sleep: string
  readonly values: string
  readonly expected: Record<string, unknown>
  readonly leak: string
  readonly leaked: string
  readonly rows: string
  /** A query that reads a row of the tenant `south`, even if the call has a different tenant. */
  readonly otherTenant: string
}

const ALPHA: Dialect = {
  kind: 'alpha',
  isThere: postgresPath !== undefined,
  start: sharedPostgres,
  system: 'postgres',
  prepare: [
    ['postgres', "CREATE ROLE app LOGIN PASSWORD 'app-password'"],
    ['crm', 'CREATE TABLE customer (id int, tenant text, name text)'],
    ['crm', "INSERT INTO customer VALUES (1, 'north', 'Anna'), (2, 'south', 'Berta')"],
    ['crm', 'ALTER TABLE customer ENABLE ROW LEVEL SECURITY'],
    [
      'crm',
      `CREATE POLICY tenants ON customer USING (tenant IN
         (SELECT jsonb_array_elements_text(nullif(current_setting('platform.tenant', true), '')::jsonb)))`,
    ],
    ['crm', 'GRANT SELECT, INSERT, UPDATE, DELETE ON customer TO app'],
    ['crm', 'GRANT CREATE ON SCHEMA public TO app'],
  ],
  numbers: (count) => `SELECT generate_series(1, ${count}) AS n`,
  endless: 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT (n + 1) % 1000000 FROM r) SELECT count(*) FROM r',
  huge: "SELECT repeat('x', 300000000) AS x",
  sleep: 'SELECT pg_sleep(?)',
  values: `SELECT 1 AS a, 9007199254740993 AS b, 1.50 AS c, true AS d, NULL AS e, '\\x00ff'::bytea AS f,
    TIMESTAMPTZ '2026-11-21 22:34:27.5+02' AS g, TIMESTAMP '2026-11-21 22:34:27' AS h, DATE '2026-11-21' AS i,
    '{"a": 1}'::jsonb AS j, 'NaN'::float8 AS k, 0.5::float8 AS l`,
  expected: {
    a: 1,
    b: '9007199254740993',
    c: '1.50',
    d: true,
    e: null,
    f: 'AP8=',
    g: '2026-11-21T20:34:27.5Z',
    h: '2026-11-21T22:34:27',
    i: '2026-11-21',
    j: '{"a": 1}',
    k: 'NaN',
    l: 0.5,
  },
  leak: "SELECT set_config('app.left', 'behind', false)",
  leaked: "SELECT current_setting('app.left', true) AS seen",
  rows: 'SELECT name FROM customer ORDER BY id',
  otherTenant: `WITH t AS MATERIALIZED (SELECT set_config('platform.tenant', '["south"]', true) AS value)
    SELECT (SELECT name FROM customer WHERE t.value <> '') AS name FROM t`,
}

const GAMMA: Dialect = {
  kind: 'gamma',
  isThere: mariadbPath !== undefined,
  start: sharedMariadb,
  system: 'mysql',
  prepare: [
    ['mysql', "CREATE USER 'app'@'127.0.0.1' IDENTIFIED BY 'app-password'"],
    ['mysql', 'CREATE DATABASE numbers'],
    ['mysql', "GRANT SELECT ON numbers.* TO 'app'@'127.0.0.1'"],
    ['crm', 'CREATE TABLE customers (id int, tenant varchar(50), name varchar(50)) CHARACTER SET utf8mb4'],
    ['crm', "INSERT INTO customers VALUES (1, 'north', 'Anna'), (2, 'south', 'Berta')"],
    [
      'crm',
      `CREATE FUNCTION platform_tenant() RETURNS longtext CHARACTER SET utf8mb4 NO SQL
         RETURN CONVERT(@platform_tenant USING utf8mb4)`,
    ],
    [
      'crm',
      `CREATE SQL SECURITY DEFINER VIEW customer AS SELECT id, tenant, name FROM customers
         WHERE json_contains(platform_tenant(), json_quote(tenant)) WITH CHECK OPTION`,
    ],
    ['crm', "GRANT SELECT, INSERT, UPDATE, DELETE ON crm.customer TO 'app'@'127.0.0.1'"],
    ['crm', "GRANT EXECUTE ON FUNCTION crm.platform_tenant TO 'app'@'127.0.0.1'"],
  ],
  numbers: (count) => `SELECT seq AS n FROM numbers.seq_1_to_${count}`,
  endless:
    'SELECT count(*) AS n FROM numbers.seq_1_to_1000000 a, numbers.seq_1_to_1000000 b WHERE a.seq * b.seq % 7 = 3',
  huge: "SELECT seq, repeat('x', 1000000) AS x FROM numbers.seq_1_to_500",
  sleep: 'SELECT sleep(?)',
  values: `SELECT 1 AS a, CAST(9007199254740993 AS signed) AS b, 1.50 AS c, true AS d, NULL AS e, x'00ff' AS f,
    TIMESTAMP '2026-11-21 22:34:27' AS h, DATE '2026-11-21' AS i, json_object('a', 1) AS j, 5e-1 AS l`,
  expected: {
    a: 1,
    b: '9007199254740993',
    c: '1.50',
    d: 1,
    e: null,
    f: 'AP8=',
    h: '2026-11-21T22:34:27',
    i: '2026-11-21',
    j: '{"a": 1}',
    l: 0.5,
  },
  leak: "SET @left = 'behind'",
  leaked: 'SELECT @left AS seen',
  rows: 'SELECT name FROM customer ORDER BY id',
  otherTenant: `SELECT (SELECT name FROM customer WHERE t.value <> '') AS name
    FROM (SELECT @platform_tenant := '["south"]' AS value LIMIT 1) t`,
}

for (const dialect of [ALPHA, GAMMA]) {
  describe.skipIf(!dialect.isThere)(`${dialect.kind}, a real server`, () => {
    const { kind } = dialect
    let server: TestServer
    let app: ServerDatabase
    /** The administrator's database, with short time limits. */
    let hasty: ServerDatabase
    const opened: ServerDatabase[] = []
    const errors: string[] = []

    async function open(database: string, account: object = {}, limits = patientLimits): Promise<ServerDatabase> {
      const target = { ...server.address, ...account, database }
      const made = await createServerDatabase({ name: 'crm', kind, target, limits, onError: (m) => errors.push(m) })
      opened.push(made)
      return made
    }

    function ask(database: ServerDatabase, sql: string, parameters: readonly Parameter[] = [], tenant: unknown = null) {
      const text = readSql(kind, sql)
      checkSql(kind, text, parameters.length)
      const written = tenant === null ? null : JSON.stringify(tenant)
      return database.query({ sql: writeSql(kind, text), parameters, tenant: written })
    }
    /** Runs a statement as the operator, for example to create an account. */
    const administer = (database: ServerDatabase, sql: string) => database.query({ sql, parameters: [], tenant: null })
    const query = (sql: string, parameters: readonly Parameter[] = [], tenant: unknown = null) =>
      ask(app, sql, parameters, tenant)

    beforeAll(async () => {
      server = await dialect.start()
      await createDatabase()
      const admin = new Map<string, ServerDatabase>()
      for (const [name, sql] of dialect.prepare) {
        if (!admin.has(name)) admin.set(name, await open(name))
        await administer(admin.get(name) as ServerDatabase, sql)
      }
      app = await open('crm', { username: 'app', password: 'app-password' })
      hasty = await open('crm', {}, hastyLimits)
    })
    afterAll(async () => {
      await Promise.all(opened.map((one) => one.close()))
      await server?.stop()
    })

    /** PostgreSQL can't create a database inside a transaction. */
    async function createDatabase(): Promise<void> {
      if (kind === 'gamma') {
        await ask(await open(dialect.system), 'CREATE DATABASE crm')
        return
      }
      const { default: pg } = await import('pg')
      const { host, port, username: user, password } = server.address
      const client = new pg.Client({ host, port, user, password, database: dialect.system })
      await client.connect()
      await client.query('CREATE DATABASE crm')
      await client.end()
    }

    test('values are returned as plain JSON', async () => {
      const [row] = await query(dialect.values)
      expect({ ...row }).toEqual(dialect.expected)
    })

    test('parameters of every type arrive unchanged, and none is run as SQL', async () => {
      const hostile = `'; DROP TABLE customer; -- \\' " ? $1`
      const [row] = await query(
        kind === 'alpha'
          ? 'SELECT ?::text AS t, ?::int + 1 AS n, ?::float8 AS f, ?::boolean AS b, ?::text AS z'
          : 'SELECT ? AS t, ? + 1 AS n, ? AS f, ? AS b, ? AS z',
        [hostile, 41, 0.25, true, null],
      )
      expect({ ...row }).toEqual({ t: hostile, n: 42, f: 0.25, b: kind === 'alpha' ? true : 1, z: null })
    })

    test('a number of rows may be a parameter', async () => {
      expect(await query(`${dialect.numbers(100)} LIMIT ?`, [3])).toHaveLength(3)
    })

    test('the tenant value separates the rows of two tenants', async () => {
      expect(await query(dialect.rows, [], ['north'])).toMatchObject([{ name: 'Anna' }])
      expect(await query(dialect.rows, [], ['south'])).toMatchObject([{ name: 'Berta' }])
      expect(await query(dialect.rows, [], ['south', 'north', 7])).toHaveLength(2)
      expect(await query(dialect.rows, [], [`south"] OR 'x`])).toEqual([])
      expect(await query(dialect.rows)).toEqual([])
    })

    test('a statement can change the tenant value while it runs, so policies don’t stop malicious scripts', async () => {
      expect(await query(dialect.otherTenant, [], ['north'])).toMatchObject([{ name: 'Berta' }])
      expect(await query(dialect.rows, [], ['north'])).toMatchObject([{ name: 'Anna' }])
    })

    test('simultaneous queries each see only their own tenant', async () => {
      const tenants = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? 'north' : 'south'))
      const seen = await Promise.all(tenants.map((tenant) => query(dialect.rows, [], [tenant])))
      expect(seen.map(([row]) => row?.name)).toEqual(tenants.map((tenant) => (tenant === 'north' ? 'Anna' : 'Berta')))
    })

    test('session state that a query sets is reset before the next one', async () => {
      await query(dialect.leak)
      for (let n = 0; n < 5; n++) expect((await query(dialect.leaked))[0]?.seen ?? '').toBe('')
    })

    test('a query sees the changes of an earlier one', async () => {
      await query("UPDATE customer SET name = 'Anne' WHERE id = ?", [1], ['north'])
      expect(await query(dialect.rows, [], ['north'])).toMatchObject([{ name: 'Anne' }])
      await query("UPDATE customer SET name = 'Anna' WHERE id = ?", [1], ['north'])
    })

    test('the server’s message is returned, and the connection stays usable', async () => {
      await expect(query('SELECT * FROM nowhere_at_all')).rejects.toThrow('nowhere_at_all')
      expect(await query(dialect.numbers(1))).toMatchObject([{ n: 1 }])
    })

    test('the server itself rejects two statements in one query', async () => {
      const both = app.query({ sql: 'SELECT 1; SELECT 2', parameters: [], tenant: null })
      await expect(both).rejects.toThrow('the database reported: ')
    })

    test('10,000 rows are returned; one more exceeds QUERY_ROWS', async () => {
      expect(await query(dialect.numbers(10_000))).toHaveLength(10_000)
      await expect(query(dialect.numbers(10_001))).rejects.toThrow('(limit QUERY_ROWS: 10000)')
    })

    test('an endless result is cut off early', async () => {
      await expect(query(dialect.numbers(100_000_000))).rejects.toThrow('(limit QUERY_ROWS: 10000)')
    })

    test('a result larger than QUERY_SIZE is cut off while it arrives', async () => {
      const before = process.memoryUsage.rss()
      await expect(ask(hasty, dialect.huge)).rejects.toThrow(/limit QUERY_SIZE: 1048576|limit QUERY_TIME/)
      expect((process.memoryUsage.rss() - before) / 1024 ** 2).toBeLessThan(150)
    })

    test('a query that takes too long ends after QUERY_TIME, on the server too', async () => {
      // This timeout is longer than QUERY_TIME, which starts only when the query has a connection.
      const late = new Promise((resolve) => setTimeout(resolve, 20_000, 'late'))
      await expect(Promise.race([ask(hasty, dialect.endless), late])).rejects.toThrow('(limit QUERY_TIME: 1000)')
      await expect(ask(hasty, dialect.sleep, [30])).rejects.toThrow('QUERY_TIME')
      const admin = opened[0] as ServerDatabase
      const running =
        kind === 'alpha'
          ? "SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND datname = 'crm'"
          : "SELECT count(*) AS n FROM information_schema.processlist WHERE db = 'crm' AND command <> 'Sleep'"
      await waitUntil(async () => expect(await ask(admin, running)).toMatchObject([{ n: 0 }]))
    })

    test('any number of queries share at most four connections', async () => {
      const all = await Promise.all(Array.from({ length: 60 }, () => query(dialect.numbers(1))))
      expect(all).toHaveLength(60)
      const admin = opened[0] as ServerDatabase
      const count =
        kind === 'alpha'
          ? "SELECT count(*) AS n FROM pg_stat_activity WHERE usename = 'app'"
          : "SELECT count(*) AS n FROM information_schema.processlist WHERE user = 'app'"
      const [row] = await ask(admin, count)
      expect(row?.n).toBeLessThanOrEqual(4)
    })

    test('if too many queries are waiting, further ones are rejected immediately', async () => {
      const all = await Promise.allSettled(Array.from({ length: 150 }, () => query(dialect.numbers(1))))
      expect(
        all.some((one) => one.status === 'rejected' && /too many of the solution’s queries/.test(`${one.reason}`)),
      ).toBe(true)
      expect(all.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(100)
    })

    test('for a wrong password, the script’s error does not reveal the account, and the operator’s says what is wrong', async () => {
      errors.length = 0
      const wrong = await open('crm', { username: 'app', password: 'wrong-password' })
      const refused = ask(wrong, 'SELECT 1').catch((error: Error) => error.message)
      expect(await refused).toBe(
        'the server with the database crm is unreachable or rejects the login; try again later, or ask the operator to check the host’s log',
      )
      expect(errors).toEqual([
        'a solution’s database "crm" cannot be used: the server rejects the account; check its name and password',
      ])
    })

    test('queries cannot access files on either machine', async () => {
      const statements =
        kind === 'alpha'
          ? [
              "COPY customer FROM '/etc/passwd'",
              "COPY (SELECT 1) TO PROGRAM 'id'",
              "SELECT pg_read_file('/etc/passwd')",
            ]
          : ["LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE customer", "SELECT 1 INTO OUTFILE '/tmp/x'"]
      for (const sql of statements) await expect(query(sql)).rejects.toThrow('the database reported: ')
      expect(await query(dialect.numbers(1))).toMatchObject([{ n: 1 }])
    })

    const onAlpha = kind === 'alpha' ? test : () => {}
    onAlpha('COPY from and to the host ends without an answer', async () => {
      await query('COPY customer FROM STDIN').catch(() => {})
      await query('COPY customer TO STDOUT').catch(() => {})
      expect(await query(dialect.numbers(1))).toMatchObject([{ n: 1 }])
    })

    const onGamma = kind === 'gamma' ? test : () => {}
    onGamma('a procedure with several lists of rows gives its first', async () => {
      const admin = opened.find((one) => one !== app) as ServerDatabase
      await ask(admin, 'CREATE OR REPLACE PROCEDURE crm.two() BEGIN SELECT 1 AS a; SELECT 2 AS b, 3 AS c; END')
      expect(await ask(admin, 'CALL crm.two()')).toMatchObject([{ a: 1 }])
    })

    test('the granted account’s permissions apply', async () => {
      await expect(query(`SELECT * FROM ${kind === 'alpha' ? 'pg_authid' : 'crm.customers'}`)).rejects.toThrow(
        /permission denied|denied/,
      )
    })

    test('queries work again after the server crashed and restarted', async () => {
      await server.kill()
      await expect(query('SELECT 1')).rejects.toThrow('is unreachable')
      await server.restart()
      await waitUntil(async () => expect(await query(dialect.numbers(1))).toMatchObject([{ n: 1 }]))
    })
  })
}

test('a connection is closed if the server accepts the login but then stops responding', async () => {
  let open = 0
  const silent = createServer((socket) => {
    open++
    socket.on('error', () => {}).on('close', () => open--)
    // The server accepts the login and is ready for queries.
    socket.once('data', () => socket.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')))
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  const target = { host: '127.0.0.1', port, username: 'app', password: '', tls: 'off', database: 'crm' } as const
  const database = await createServerDatabase({
    name: 'crm',
    kind: 'alpha',
    target,
    limits: hastyLimits,
    onError: () => {},
  })
  try {
    const query = database.query({ sql: 'SELECT 1', parameters: [], tenant: null })
    await expect(query).rejects.toThrow('the server with the database crm is unreachable')
    await waitUntil(() => expect(open).toBe(0))
  } finally {
    await database.kill()
    silent.close()
  }
})
