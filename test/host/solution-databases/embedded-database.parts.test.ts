import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEmbeddedDatabase, type EmbeddedDatabase } from '../../../host/solution-databases/embedded-database.ts'
import type { Parameter } from '../../../plugins/database/host.ts'
import { createLimits, type LimitName } from '../../../runtime/limits.ts'
import { leastOf } from '../../support/least-of.ts'
import { waitUntil } from '../../support/wait-until.ts'

let folder: string
let database: EmbeddedDatabase
const opened: EmbeddedDatabase[] = []

function open(name: string, overrides: Partial<Record<LimitName, number>> = {}, memory = 256): EmbeddedDatabase {
  const limits = createLimits(overrides)
  const onError = (message: string) => void errors.push(message)
  const made = createEmbeddedDatabase({
    file: join(folder, `${name}.sqlite`),
    limits,
    timeZone: 'Etc/UTC',
    onError,
    memory,
  })
  opened.push(made)
  return made
}
const errors: string[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'solhost-embedded-'))
  database = open('own')
  await query('CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, born TEXT)')
  const other = open('other')
  await other.query('CREATE TABLE secret (value TEXT)', [])
  await other.query("INSERT INTO secret VALUES ('of another solution')", [])
})
afterAll(async () => {
  await Promise.all(opened.map((one) => one.kill()))
  rmSync(folder, { recursive: true, force: true })
})

async function query(sql: string, parameters: readonly Parameter[] = []) {
  return (await database.query(sql, parameters)).map((row) => ({ ...row }))
}

/** A statement that never finishes. */
const ENDLESS = 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r'

test('one query reads what an earlier one wrote, with parameters of every type', async () => {
  const insert = 'INSERT INTO person (id, name, born) VALUES (?, ?, ?) RETURNING id'
  expect(await query(insert, [1, "O'Neill; DROP TABLE person", null])).toEqual([{ id: 1 }])
  expect(await query('SELECT * FROM person WHERE id = ? AND ? ORDER BY id', [1, true])).toEqual([
    { id: 1, name: "O'Neill; DROP TABLE person", born: null },
  ])
})

test('integers beyond 2^53 and infinity are returned as text, bytes as base64', async () => {
  const [row] = await query("SELECT 9007199254740993 AS a, 9007199254740991 AS b, 9e999 AS c, x'00ff' AS d, 1.5 AS e")
  expect(row).toEqual({ a: '9007199254740993', b: 9007199254740991, c: 'Infinity', d: 'AP8=', e: 1.5 })
})

test('a column named __proto__ is an ordinary column', async () => {
  const [row] = await database.query('SELECT 1 AS "__proto__"', [])
  expect(JSON.stringify(row)).toBe('{"__proto__":1}')
})

test('SQLite’s message is returned, without the path of the file', async () => {
  await expect(query('SELECT * FROM nowhere')).rejects.toThrow('the database reported: no such table: nowhere')
})

test('two statements are rejected, and the first one is not run', async () => {
  await expect(query("INSERT INTO person (name) VALUES ('first'); DELETE FROM person")).rejects.toThrow(
    'single statement',
  )
  expect(await query("SELECT * FROM person WHERE name = 'first'")).toEqual([])
})

test('white space, semicolons and comments after the statement are allowed', async () => {
  expect(await query('SELECT 1 AS one ; -- nothing\n ; /* nothing ; */ ')).toEqual([{ one: 1 }])
})

test('many comments after the statement do not slow down parsing', async () => {
  await expect(query(`SELECT 1; ${'/**/'.repeat(10_000)} x`)).rejects.toThrow('single statement')
})

test('a trigger is one statement, whatever it contains', async () => {
  await query('CREATE TABLE noted (text TEXT)')
  await query('CREATE TRIGGER note AFTER INSERT ON noted BEGIN SELECT 1; SELECT 2; END;')
  await query("INSERT INTO noted VALUES ('x')")
  expect(await query('SELECT * FROM noted')).toEqual([{ text: 'x' }])
})

test.each([
  ["ATTACH '/etc/passwd' AS other", 'ATTACH and VACUUM are not available'],
  ["AtTaCh /* ; */ DATABASE '../other.sqlite' AS other", 'ATTACH and VACUUM are not available'],
  ["ATTACH 'file:other.sqlite?mode=ro' AS other", 'ATTACH and VACUUM are not available'],
  ["VACUUM INTO 'copy.sqlite'", 'database reported: '],
  ['VACUUM', 'database reported: '],
  ['DETACH main', 'DETACH is not available'],
  ['PRAGMA writable_schema = ON', 'PRAGMA writable_schema is not available'],
  ['PRAGMA main.journal_mode = DELETE', 'PRAGMA journal_mode is not available'],
  ['PRAGMA max_page_count = 1000000', 'PRAGMA max_page_count is not available'],
  ['PRAGMA key = "x"', 'PRAGMA key is not available'],
  ["PRAGMA temp_store_directory = '/tmp'", 'PRAGMA temp_store_directory is not available'],
  ['PRAGMA locking_mode = NORMAL', 'PRAGMA locking_mode is not available'],
  ['SELECT * FROM pragma_database_list', 'PRAGMA database_list is not available'],
  ["SELECT load_extension('/tmp/x.so')", 'load_extension is not available'],
  ["SELECT fts3_tokenizer('simple')", 'fts3_tokenizer is not available'],
  ['CREATE VIRTUAL TABLE t USING fts4(tokenize=x)', 'virtual tables of type fts4 are not available'],
  ['CREATE TEMP TABLE t (a)', 'temporary tables are not available'],
  ['BEGIN', 'BEGIN, COMMIT and ROLLBACK are not available'],
  ['/* */ -- \n COMMIT', 'BEGIN, COMMIT and ROLLBACK are not available'],
  ['SAVEPOINT a', 'SAVEPOINT is not available'],
  ["UPDATE sqlite_master SET sql = 'x'", 'database reported: '],
  ["SELECT readfile('/etc/passwd')", 'no such function'],
  ["SELECT writefile('x', 'y')", 'no such function'],
])('a statement is rejected: %s', async (sql, text) => {
  await expect(query(sql)).rejects.toThrow(text)
  expect(readdirSync(folder).filter((name) => !/^(own|other)\.sqlite(-wal|-shm)?$/.test(name))).toEqual([])
})

test('the process cannot open another file even without the authorizer', async () => {
  const pid = database.pid()
  expect(pid).not.toBeNull()
  const flags = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  expect(flags).toContain('--permission')
  expect(flags.filter((flag) => flag.startsWith('--allow-fs-write'))).toEqual([
    `--allow-fs-write=${join(folder, 'own.sqlite')}`,
  ])
  expect(flags.filter((flag) => /--allow-(net|child|addons|worker|wasi|ffi)/.test(flag))).toEqual([])
  const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .map((line) => line.split('=')[0])
  // The shell sets PWD, OLDPWD, SHLVL and _ itself.
  expect(names.filter((name) => !/^(PWD|OLDPWD|SHLVL|_|)$/.test(name ?? ''))).toEqual(['TZ'])
})

test('the system limits its CPU time, its files and its core dumps', () => {
  const bounds = readFileSync(`/proc/${database.pid()}/limits`, 'utf8')
  expect(bounds).toMatch(/^Max cpu time +63 +63 /m)
  expect(bounds).toMatch(/^Max file size +226492416 +226492416 /m)
  expect(bounds).toMatch(/^Max core file size +0 +0 /m)
})

test('10,000 rows are returned; one more exceeds QUERY_ROWS', async () => {
  const numbers = (count: number) =>
    `WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${count}) SELECT n FROM r`
  expect(await query(numbers(10_000))).toHaveLength(10_000)
  await expect(query(numbers(10_001))).rejects.toThrow(
    'the result has more than 10000 rows; select fewer rows (limit QUERY_ROWS: 10000)',
  )
})

test('a result larger than QUERY_SIZE is an error that names the limit', async () => {
  const sql = "SELECT printf('%.*c', 600000, 'x') AS a UNION ALL SELECT printf('%.*c', 600000, 'y')"
  await expect(query(sql)).rejects.toThrow('(limit QUERY_SIZE: 1048576)')
})

test('a single value larger than QUERY_SIZE is never created', async () => {
  await expect(query('SELECT hex(zeroblob(500000000)) AS a')).rejects.toThrow('(limit QUERY_SIZE: 1048576)')
})

test('a change whose result exceeds a limit is rolled back', async () => {
  const rows = 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 20000) SELECT n FROM r'
  await query('CREATE TABLE many (n)')
  await expect(query(`INSERT INTO many ${rows} RETURNING n`)).rejects.toThrow('QUERY_ROWS')
  expect(await query('SELECT count(*) AS count FROM many')).toEqual([{ count: 0 }])
})

test('the file stays below EMBEDDED_SIZE', async () => {
  const small = open('small', { EMBEDDED_SIZE: 64 * 1024 })
  await small.query('CREATE TABLE t (a)', [])
  const fill = "INSERT INTO t SELECT printf('%.*c', 50000, 'x')"
  await small.query(fill, [])
  await expect(small.query(fill, [])).rejects.toThrow('(limit EMBEDDED_SIZE: 65536)')
  expect(await small.query('SELECT count(*) AS n FROM t', [])).toEqual([{ n: 1 }])
})

test('an endless query ends within QUERY_TIME plus 250 ms, and does not block the host', async () => {
  const hasty = open('own-hasty', { QUERY_TIME: 1000 })
  await hasty.query('CREATE TABLE t (a)', [])
  /** @returns how long the query took, in ms; infinity if it blocked the host for 250 ms or more */
  async function endOfEndless(): Promise<number> {
    const first = hasty.pid()
    const begun = performance.now()
    let longest = 0
    let isOver = false
    const ended = hasty.query(ENDLESS, []).finally(() => {
      isOver = true
    })
    ended.catch(() => {})
    for (let last = performance.now(); !isOver; last = performance.now()) {
      await setImmediate()
      longest = Math.max(longest, performance.now() - last)
    }
    await expect(ended).rejects.toThrow(
      'the query took longer than 1000 ms; simplify it or add an index (limit QUERY_TIME: 1000)',
    )
    const took = performance.now() - begun
    expect(await hasty.query('SELECT count(*) AS n FROM t', [])).toEqual([{ n: 0 }])
    expect(hasty.pid()).not.toBe(first)
    return longest < 250 ? took : Number.POSITIVE_INFINITY
  }
  expect(await leastOf(endOfEndless, 1250)).toBeLessThan(1250)
  await hasty.kill()
  rmSync(join(folder, 'own-hasty.sqlite'))
  rmSync(join(folder, 'own-hasty.sqlite-wal'), { force: true })
})

test('a query that writes endlessly has changed nothing after it is terminated', async () => {
  const hasty = open('own-writer', { QUERY_TIME: 1000 })
  await hasty.query('CREATE TABLE t (a)', [])
  const endless =
    'INSERT INTO t WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT (n + 1) % 7 FROM r) SELECT n FROM r WHERE n > 9'
  await expect(hasty.query(endless, [])).rejects.toThrow('QUERY_TIME')
  expect(await hasty.query('SELECT count(*) AS n FROM t', [])).toEqual([{ n: 0 }])
  await hasty.kill()
  for (const name of ['own-writer.sqlite', 'own-writer.sqlite-wal']) rmSync(join(folder, name), { force: true })
})

test('a query that sorts gigabytes is terminated before it uses that much memory', async () => {
  const big =
    'WITH RECURSIVE r(n, x) AS (SELECT 1, randomblob(900000) UNION ALL SELECT n + 1, randomblob(900000) FROM r) SELECT count(*) FROM (SELECT x FROM r ORDER BY x LIMIT 100000)'
  const patient = open('own-sorter', { QUERY_TIME: 25_000 }, 90)
  await expect(patient.query(big, [])).rejects.toThrow(
    'the query used more than 90 MB of memory; simplify it or select less data',
  )
  expect(await patient.query('SELECT 1 AS one', [])).toEqual([{ one: 1 }])
})

test('queries run in the order in which they arrive', async () => {
  await query('CREATE TABLE turns (n)')
  await Promise.all(Array.from({ length: 50 }, (_, n) => query('INSERT INTO turns VALUES (?)', [n])))
  const turns = await query('SELECT n FROM turns ORDER BY rowid')
  expect(turns.map(({ n }) => n)).toEqual(Array.from({ length: 50 }, (_, n) => n))
})

test('a limited number of queries may wait; further ones are rejected immediately', async () => {
  const all = await Promise.allSettled(Array.from({ length: 150 }, () => query('SELECT 1 AS one')))
  const refused = all.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  expect(refused.length).toBeGreaterThan(40)
  expect(refused[0]?.reason.message).toContain('too many of the solution’s queries are waiting')
})

test('closing a database ends its process, and the next query starts another', async () => {
  database.close()
  await waitUntil(() => expect(database.pid()).toBeNull())
  expect(await query('SELECT count(*) AS n FROM noted')).toEqual([{ n: 1 }])
})

test('a query fails if its process is killed from outside, and the next one works', async () => {
  const running = query(ENDLESS)
  running.catch(() => {})
  await waitUntil(() => expect(database.pid()).not.toBeNull())
  await waitUntil(() => expect(database.idleSince()).toBeNull())
  process.kill(database.pid() as number, 'SIGKILL')
  await expect(running).rejects.toThrow('stopped while the query was running')
  expect(await query('SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test('for an invalid file, the operator gets a detailed error and the author a general one', async () => {
  writeFileSync(join(folder, 'broken.sqlite'), 'x'.repeat(5000))
  const broken = open('broken')
  await expect(broken.query('SELECT 1', [])).rejects.toThrow('cannot be opened')
  expect(errors.join()).toContain('file is not a database')
  rmSync(join(folder, 'broken.sqlite'))
})

test('the data is in an SQLite file that other programs can read', async () => {
  await database.kill()
  expect(existsSync(join(folder, 'own.sqlite'))).toBe(true)
  const file = new DatabaseSync(join(folder, 'own.sqlite'))
  expect(file.prepare('SELECT count(*) AS n FROM noted').get()).toEqual({ n: 1 })
  file.close()
})
