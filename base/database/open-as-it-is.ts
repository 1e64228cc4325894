import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import { embeddedDialect } from './embedded.ts'
import type { ServerKind } from './kind.ts'
import { SERVER_KINDS } from './kinds.ts'
import type { Migrations } from './migrations.ts'
import { type Database, type DatabaseSettings, errorOf, serverFor, tryOut } from './open.ts'
import { openKysely } from './open-kysely.ts'
import { readSchema } from './schema-version.ts'
import { serverDialect } from './server-dialect.ts'

/** How to fix settings that select a database which no service uses. */
export const SAME_SETTINGS = 'Set PLATFORM_HOME and PLATFORM_DATABASE to the same values as the running service.'

/**
 * Opens the platform's database. Unlike `openDatabase`, this doesn't create or migrate anything.
 * @param statementTime timeout for one statement on a database server, in ms
 * @param missing creates the error for an embedded database that doesn't exist
 * @throws ERR_DATABASE_UNREACHABLE
 */
export async function openAsItIs(
  settings: DatabaseSettings,
  statementTime: number,
  missing: (what: string) => PlatformError,
): Promise<Database> {
  const { kind, name } = settings.database
  if (kind === 'embedded') {
    const file = join(settings.home, `${name}.sqlite`)
    if (!existsSync(file)) throw missing(`The platform database ${file} does not exist`)
    return openKysely(embeddedDialect(file))
  }
  const serverKind: ServerKind = SERVER_KINDS[kind]
  const server = serverFor(settings, kind)
  const dialect = await serverKind.createDialect(server, name, { statementTime })
  const db = openKysely(serverDialect(dialect, serverKind, server))
  const failure = await tryOut(serverKind, db).catch(async (error: unknown) => {
    await db.destroy()
    throw error
  })
  if (failure === null) return db
  await db.destroy()
  throw errorOf(serverKind, server, name, failure)
}

/** Timeout for the query of the schema's version, in ms. */
const SCHEMA_TIME = 30_000

/**
 * Checks that a service of this version uses the database. Commands that change a running service's data call this
 * before they open the database. Otherwise, they would create an empty database if PLATFORM_HOME is wrong, or migrate
 * the tables of an older version that is still running.
 * @throws ERR_SETTINGS_INVALID if there is no such database, ERR_DATABASE_VERSION if an older version wrote it, and the
 *   errors of `openAsItIs`
 */
export async function needCurrentDatabase(
  settings: DatabaseSettings,
  migrations: readonly Migrations[],
): Promise<void> {
  const missing = (what: string) =>
    new PlatformError('ERR_SETTINGS_INVALID', `${what}. Nothing was changed. ${SAME_SETTINGS}`)
  const { name } = settings.database
  const db = await openAsItIs(settings, SCHEMA_TIME, missing)
  try {
    for (const each of migrations) {
      const applied = await readSchema(db, each)
      if (applied.length === 0) throw missing(`The database "${name}" does not contain the service’s tables`)
      if (Object.keys(each.versions).every((version) => applied.includes(version))) continue
      throw new PlatformError(
        'ERR_DATABASE_VERSION',
        `The database "${name}" was written by an older version of Solhost. Nothing was changed. Run this command with that version, or start this version of the service first.`,
      )
    }
  } finally {
    await db.destroy()
  }
}
