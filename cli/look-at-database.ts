import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { DEFAULT_MIGRATION_TABLE } from 'kysely/migration'
import type { ServerKind } from '../base/database/kind.ts'
import { SERVER_KINDS } from '../base/database/kinds.ts'
import { type DatabaseSettings, errorOf, serverFor, tryOut } from '../base/database/open.ts'
import { openKysely } from '../base/database/open-kysely.ts'
import { readSchema, refuseNewerSchema } from '../base/database/schema-version.ts'
import { serverDialect } from '../base/database/server-dialect.ts'
import type { PlatformError } from '../runtime/errors.ts'

/** The problem, and how to fix it. */
export type DatabaseProblem = { readonly what: string; readonly advice: string }

/**
 * Checks whether the platform's database can be used, without creating or migrating anything. A missing database file
 * is not a problem, since the host creates it at startup. A missing database on a server is reported.
 */
export async function databaseProblem(settings: DatabaseSettings): Promise<DatabaseProblem | null> {
  const { kind, name } = settings.database
  if (kind === 'embedded') return fileProblem(join(settings.home, `${name}.sqlite`))
  const server = serverFor(settings, kind)
  const serverKind: ServerKind = SERVER_KINDS[kind]
  const dialect = serverDialect(await serverKind.createDialect(server, name), serverKind, server)
  const db = openKysely(dialect)
  try {
    const failure = await tryOut(serverKind, db)
    if (failure !== null) return asProblem(errorOf(serverKind, server, name, failure))
    const wrong = await serverKind.check(db)
    if (wrong !== null)
      return { what: `The database "${name}" ${wrong}.`, advice: 'Fix this problem on the database server.' }
    return schemaProblem(await readSchema(db), `The database "${name}"`)
  } finally {
    await db.destroy()
  }
}

/** These error messages state the problem in the first sentence and the fix in the rest. */
function asProblem({ message }: PlatformError): DatabaseProblem {
  const [, what = message, advice = ''] = /^(.+?\.) ([A-Z].*)$/s.exec(message) ?? []
  return { what, advice }
}

function schemaProblem(applied: readonly string[], what: string): DatabaseProblem | null {
  try {
    refuseNewerSchema(applied, what)
    return null
  } catch (error) {
    return asProblem(error as PlatformError)
  }
}

function schemaIn(database: DatabaseSync): readonly string[] {
  const table = database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(DEFAULT_MIGRATION_TABLE)
  if (table === undefined) return []
  const rows = database.prepare(`SELECT name FROM ${DEFAULT_MIGRATION_TABLE} ORDER BY name`).all()
  return rows.map(({ name }) => String(name))
}

function fileProblem(file: string): DatabaseProblem | null {
  if (!existsSync(file)) return null
  try {
    const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
    try {
      const [result] = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})
      if (result !== 'ok') {
        return {
          what: `The database file ${file} is damaged: ${String(result)}`,
          advice: 'Restore the platform from a backup (docs/backup.md).',
        }
      }
      return schemaProblem(schemaIn(database), `The database ${file}`)
    } finally {
      database.close()
    }
  } catch (error) {
    const advice =
      'Give the account that runs Solhost read access to the file, or restore the platform from a backup (docs/backup.md).'
    return { what: `Cannot open the database file ${file}: ${(error as Error).message}`, advice }
  }
}
