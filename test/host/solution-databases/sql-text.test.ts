import { expect, test } from 'vitest'
import { checkSql, readSql, type ServerKind, writeSql } from '../../../host/solution-databases/sql-text.ts'
import { leastOf } from '../../support/least-of.ts'

function translated(kind: ServerKind, sql: string): string {
  return writeSql(kind, readSql(kind, sql))
}

function placesIn(kind: ServerKind, sql: string): number {
  return readSql(kind, sql).pieces.length - 1
}

function check(kind: ServerKind, sql: string, parameters = placesIn(kind, sql)): void {
  checkSql(kind, readSql(kind, sql), parameters)
}

test.each<[ServerKind, string, string]>([
  ['embedded', 'SELECT ? + ?', 'SELECT ? + ?'],
  ['gamma', 'SELECT ? + ?', 'SELECT ? + ?'],
  ['alpha', 'SELECT ? + ?', 'SELECT $1  + $2 '],
  ['beta', 'SELECT ? + ?', 'SELECT @p1  + @p2 '],
  ['alpha', 'SELECT ?::int, ?1', ''],
])('placeholders are recognized on %s: %s', (kind, sql, expected) => {
  if (expected === '') expect(() => translated(kind, sql)).toThrow('without a number')
  else expect(translated(kind, sql)).toBe(expected)
})

test('a doubled question mark is a PostgreSQL operator, not a placeholder', () => {
  expect(translated('alpha', "SELECT data ?? 'a' AND data ??| ? FROM t")).toBe(
    "SELECT data ? 'a' AND data ?| $1  FROM t",
  )
})

test.each<[ServerKind, string]>([
  ['embedded', `SELECT '?', '''?', "?""?", \`?\`, [?] -- ?`],
  ['embedded', "SELECT 'a\\', 1 /* ? /* */ -- ?"],
  ['alpha', `SELECT '?', "?", $$ ? ; $$, $tag$ ? $$ ? $tag$, E'\\'?', a$1$b /* ? /* ? */ ? */ -- ?`],
  ['alpha', "SELECT e'?\\\\', 'x\\', '?'"],
  ['beta', 'SELECT N\'?\', [?]]?], "?" /* ? /* ? */ ? */ -- ?'],
  ['gamma', 'SELECT \'?\\\'?\', "?\\"?", `?` # ?\n /* ? */ -- ?'],
  ['gamma', 'SELECT 1 -- ?'],
])('quotes and comments contain no placeholders on %s: %s', (kind, sql) => {
  expect(placesIn(kind, sql)).toBe(0)
})

test.each<[ServerKind, string, number]>([
  ['gamma', 'SELECT 1 --?', 1],
  ['embedded', 'SELECT 1 # ?', 1],
  ['alpha', "SELECT 'a\\', ?", 1],
  ['gamma', 'SELECT /* /* */ ?', 1],
  ['alpha', 'SELECT a$b$ ? c$b$', 1],
  ['embedded', 'SELECT $$ ? $$', 1],
])('comments and quotes in other dialects are ordinary text on %s: %s', (kind, sql, places) => {
  expect(placesIn(kind, sql)).toBe(places)
})

test('unclosed quotes and comments extend to the end', () => {
  for (const sql of ["SELECT '?", 'SELECT "?', 'SELECT /* ?', 'SELECT $$ ?', 'SELECT -- ?']) {
    expect(placesIn('alpha', sql)).toBe(0)
  }
})

test.each<[ServerKind, string]>([
  ['alpha', 'SELECT 1; SELECT 2'],
  ['alpha', "SELECT 1;; /* */ 'x'"],
  ['beta', 'CREATE TABLE t (a int); DROP TABLE t'],
  ['gamma', 'DELETE FROM t;\nDELETE FROM u'],
])('a second statement is rejected on %s: %s', (kind, sql) => {
  expect(() => check(kind, sql)).toThrow('single statement')
})

test.each(['SELECT 1;', ' ; SELECT 1', "SELECT ';'; -- done", 'SELECT 1 /* ; */ ;\n;'])(
  'a text is accepted as one statement: %s',
  (sql) => {
    if (sql.startsWith(' ;')) expect(() => check('alpha', sql)).toThrow('single statement')
    else expect(() => check('alpha', sql)).not.toThrow()
  },
)

test('after CREATE, which may contain a block of statements, the server decides', () => {
  const sql = 'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END'
  expect(() => check('alpha', sql)).not.toThrow()
})

test.each(['BEGIN', 'commit', '/* x */ RollBack', 'START TRANSACTION', 'SAVEPOINT a', '-- x\nEND'])(
  'scripts cannot start or end transactions: %s',
  (sql) => {
    expect(() => check('alpha', sql)).toThrow('each query is its own transaction')
  },
)

test.each<[ServerKind, string]>([
  ['gamma', 'SHOW GRANTS'],
  ['gamma', '-- x\nshow/**/grants FOR CURRENT_USER'],
  ['gamma', 'SHOW CREATE USER'],
  ['gamma', 'SHOW FULL PROCESSLIST'],
  ['gamma', "SET PASSWORD = 'x'"],
  ['gamma', 'SET STATEMENT max_statement_time = 1 FOR SHOW GRANTS'],
  ['gamma', "EXECUTE IMMEDIATE 'SHOW GRANTS'"],
  ['gamma', "CREATE OR REPLACE USER x IDENTIFIED BY 'x'"],
  ['alpha', 'ALTER ROLE app SUPERUSER'],
  ['alpha', 'GRANT platform TO app'],
  ['alpha', 'SET LOCAL SESSION AUTHORIZATION postgres'],
  ['alpha', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO app'],
  ['beta', "EXECUTE AS LOGIN = 'sa'"],
  ['beta', 'ALTER SERVER ROLE sysadmin ADD MEMBER app'],
])('scripts cannot manage accounts or permissions on %s: %s', (kind, sql) => {
  expect(() => check(kind, sql)).toThrow('only the operator manages accounts and their permissions')
})

test.each<[ServerKind, string]>([
  ['gamma', 'SHOW TABLES'],
  ['gamma', "SET @a = 'SHOW GRANTS'"],
  ['alpha', 'SELECT grant, role FROM "user"'],
  ['alpha', 'ALTER TABLE role ADD user text'],
  ['alpha', 'DROP TABLE user'],
  ['embedded', 'SELECT 1'],
])('other statements are accepted on %s, even if they contain words such as "grant": %s', (kind, sql) => {
  expect(() => check(kind, sql)).not.toThrow()
})

test('the wrong number of values for the placeholders is reported', () => {
  expect(() => check('alpha', 'SELECT ?', 0)).toThrow(
    'the number of placeholders (?) in the SQL (1) differs from the number of parameters (0)',
  )
  expect(() => check('embedded', "SELECT '?'", 1)).toThrow('placeholders (?) in the SQL (0)')
})

test.each(['', '  ', '-- nothing', '/* nothing */ ;'])('an empty statement is rejected: "%s"', (sql) => {
  expect(() => check('alpha', sql)).toThrow('no statement')
})

test('comments that MySQL and MariaDB execute are rejected', () => {
  expect(() => readSql('gamma', 'SELECT 1 /*! ; DROP TABLE t */')).toThrow('executed by the server')
  expect(() => readSql('gamma', 'SELECT 1 /*M!100100 , 2 */')).toThrow('executed by the server')
  expect(placesIn('gamma', "SELECT '/*! ? */'")).toBe(0)
})

test('any text of 64 kB is parsed quickly', async () => {
  async function timeOfAll(): Promise<number> {
    const begun = performance.now()
    for (const part of ['(', "'", '/*', '*/', '$$', '?', '\\', '-', '[', 'a']) {
      for (const kind of ['embedded', 'alpha', 'beta', 'gamma'] as const)
        readSql(kind, part.repeat(65_536 / part.length))
    }
    return performance.now() - begun
  }
  expect(await leastOf(timeOfAll, 2000)).toBeLessThan(2000)
})
