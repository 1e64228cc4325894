import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { derivedAt, PLATFORM_TABLES, tablesAt } from '../../../base/backup/saved.ts'
import { BACKUP_TABLES } from '../../../base/backup/tables.ts'
import { makeTables } from '../../../base/backup/write-tables.ts'
import { embedded, embeddedDialect } from '../../../base/database/embedded.ts'
import { migrationsFor, SCHEMA_VERSIONS } from '../../../base/database/migrations.ts'
import { openDatabase } from '../../../base/database/open.ts'
import { openKysely } from '../../../base/database/open-kysely.ts'
import { temporaryFolder } from '../../support/cli.ts'

test('backup tables: every table of the schema is listed with its key and binary columns', async () => {
  using folder = temporaryFolder()
  const db = await openDatabase(folder.path)
  const derived = derivedAt(PLATFORM_TABLES, SCHEMA_VERSIONS.at(-1) as string)
  const tables = (await db.introspection.getTables()).filter(({ name }) => !derived.includes(name))
  expect(Object.keys(BACKUP_TABLES).sort()).toEqual(tables.map(({ name }) => name).sort())
  for (const { name, columns } of tables) {
    const { rows } = await sql<{ name: string; pk: number }>`select name, pk from pragma_table_info(${name})`.execute(
      db,
    )
    const key = rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    const bytes = columns.filter(({ dataType }) => dataType.toLowerCase() === 'blob').map((column) => column.name)
    const table = tablesAt(PLATFORM_TABLES, SCHEMA_VERSIONS.at(-1) as string).find(([one]) => one === name)?.[1]
    expect([name, table?.key, table?.bytes ?? []]).toEqual([name, key.map((column) => column.name), bytes])
  }
  await db.destroy()
})

test('backup tables: each schema version lists exactly the tables that exist in that version', async () => {
  using folder = temporaryFolder()
  const db = openKysely(embeddedDialect(`${folder.path}/a.sqlite`))
  const migrations = migrationsFor(embedded)
  for (const version of SCHEMA_VERSIONS) {
    await migrations[version]?.up(db)
    const there = (await db.introspection.getTables()).map(({ name }) => name)
    expect([
      version,
      [...tablesAt(PLATFORM_TABLES, version).map(([name]) => name), ...derivedAt(PLATFORM_TABLES, version)].sort(),
    ]).toEqual([version, there.sort()])
  }
  await db.destroy()
})

test('schema: migrations only add to tables, so hosts of the previous version keep working', async () => {
  const statements: string[] = []
  using folder = temporaryFolder()
  const db = openKysely(embeddedDialect(`${folder.path}/a.sqlite`))
  const migrations = migrationsFor(embedded)
  for (const version of SCHEMA_VERSIONS) {
    const watched = db.withPlugin({
      transformQuery: ({ node }) => {
        const alterations = (node as { columnAlterations?: readonly { kind: string }[] }).columnAlterations ?? []
        statements.push([version, node.kind, ...alterations.map(({ kind }) => kind)].join(' '))
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await migrations[version]?.up(watched)
  }
  // Replacing an index is allowed, because it doesn't affect a running host.
  const others = statements.filter(
    (line) => !/ (CreateTableNode|CreateIndexNode|DropIndexNode|AlterTableNode( AddColumnNode)+|RawNode)$/.test(line),
  )
  expect(others).toEqual([])
  await db.destroy()
})

test('restore: if another program’s tables have our names, the restore is rejected and they stay unchanged', async () => {
  using folder = temporaryFolder()
  const db = openKysely(embeddedDialect(`${folder.path}/a.sqlite`))
  await sql`create table audit (id integer, what text)`.execute(db)
  await sql`insert into audit values (1, 'paid')`.execute(db)
  const version = SCHEMA_VERSIONS.at(-1) as string
  await expect(makeTables(db, PLATFORM_TABLES, version, 'The database "a"')).rejects.toMatchObject({
    code: 'ERR_RESTORE_NOT_EMPTY',
    message: expect.stringContaining('(audit)'),
  })
  expect((await sql`select * from audit`.execute(db)).rows).toEqual([{ id: 1, what: 'paid' }])
  await db.destroy()
})
