import { accessSync, chmodSync, constants } from 'node:fs'
import { join } from 'node:path'
import { type Dialect, Kysely, type LogEvent } from 'kysely'
import { Migrator } from 'kysely/migration'
import { PlatformError } from '../../runtime/errors.ts'
import { createCheckpoints } from './checkpoints.ts'
import { diskFull, isDiskFull } from './disk-full.ts'
import { embedded, embeddedDialect, wrongFile } from './embedded.ts'
import type { DatabaseKind, DatabaseServer, Failure, KindName, ServerKind, ServerKindName } from './kind.ts'
import { SERVER_KINDS } from './kinds.ts'
import { makeHome } from './make-home.ts'
import { type Migrations, migrationsFor, PLATFORM_MIGRATIONS } from './migrations.ts'
import { readSchema, refuseNewerSchema } from './schema-version.ts'
import { serverDialect, unreachable } from './server-dialect.ts'
import type { Tables } from './tables.ts'

export type Database = Kysely<Tables>

/** Called after each statement. Must not throw. */
export type QueryWatch = (event: LogEvent) => void

export type DatabaseServers = Readonly<Record<ServerKindName, DatabaseServer>>

/** The settings of the platform's database; part of `Settings`. */
export type DatabaseSettings = {
  /**
   * The platform's folder, which contains the embedded database. If it is missing, it is created so that only this
   * account can access it.
   */
  readonly home: string
  readonly database: { readonly kind: KindName; readonly name: string }
  /** The kinds of database servers that the service supports. */
  readonly databaseServers: Partial<DatabaseServers>
}

/** @throws TypeError if the service does not support this kind; its settings never select such a kind */
export function serverFor({ databaseServers }: Pick<DatabaseSettings, 'databaseServers'>, kind: ServerKindName) {
  const server = databaseServers[kind]
  if (server === undefined) throw new TypeError(`this service has no settings for a database server of type ${kind}`)
  return server
}

/**
 * Opens the platform's database and migrates its schema. On a server, creates the database if it is missing and the
 * account is allowed to. Hosts that start at the same time wait for each other.
 * @param where the settings; a string is the folder of an embedded database
 * @param migrations the migrations for its tables; the platform's come first
 * @throws ERR_DATABASE_UNREACHABLE if the server is unreachable or rejects the account, or the database is missing
 * @throws ERR_DATABASE_VERSION if a newer version of the platform wrote it
 */
export async function openDatabase(
  where: DatabaseSettings | string,
  watch?: QueryWatch,
  migrations: readonly Migrations[] = [PLATFORM_MIGRATIONS],
): Promise<Database> {
  if (typeof where === 'string') return openEmbedded(where, 'platform', migrations)
  const { kind, name } = where.database
  makeHome(where.home)
  // Access is checked here to get a specific error code. SQLite would only report that it can't open the file.
  accessSync(where.home, constants.R_OK | constants.W_OK | constants.X_OK)
  if (kind === 'embedded') return openEmbedded(where.home, name, migrations, watch)
  return openUpToDate(SERVER_KINDS[kind], serverFor(where, kind), name, migrations, watch)
}

async function openEmbedded(
  home: string,
  name: string,
  migrations: readonly Migrations[],
  watch?: QueryWatch,
): Promise<Database> {
  makeHome(home)
  const file = join(home, `${name}.sqlite`)
  const db = new Kysely<Tables>({ dialect: openFile(file), ...(watch ? { log: watch } : {}) })
  chmodSync(file, 0o600)
  await migrate(db, embedded, file, migrations)
  return db
}

/** @throws ERR_DATABASE_FILE, ERR_DISK_FULL */
function openFile(file: string): Dialect {
  try {
    return embeddedDialect(file, undefined, createCheckpoints(file))
  } catch (error) {
    throw errorOfFile(file, error)
  }
}

function errorOfFile(file: string, error: unknown): unknown {
  if (isDiskFull(error)) return diskFull(`the database ${file}`, error)
  const wrong = wrongFile(file, error)
  if (wrong === null) return error
  const advice = 'Restore a backup. To start without the data, move the file to another folder'
  return new PlatformError('ERR_DATABASE_FILE', `${file} is ${wrong}. ${advice}.`, {}, { cause: error })
}

async function openUpToDate(
  kind: ServerKind,
  server: DatabaseServer,
  name: string,
  migrations: readonly Migrations[],
  watch?: QueryWatch,
): Promise<Database> {
  const db = await openOnServer(kind, server, name, watch)
  await migrate(db, kind, `"${name}" on ${titleOf(kind, server)}`, migrations, (error) => {
    if (kind.failureOf(error) === 'rights') throw errorOf(kind, server, name, { reason: 'rights', error })
  })
  return db
}

/** Creates the database if it is missing; does not check its schema. @throws ERR_DATABASE_UNREACHABLE */
export async function openOnServer(
  kind: ServerKind,
  server: DatabaseServer,
  name: string,
  watch?: QueryWatch,
): Promise<Database> {
  const title = `"${name}" on ${titleOf(kind, server)}`
  let db = await connect(kind, server, name, watch)
  try {
    let failure = await tryOut(kind, db)
    if (failure?.reason === 'no-database') {
      await db.destroy()
      await createDatabase(kind, server, name)
      db = await connect(kind, server, name, watch)
      failure = await tryOut(kind, db)
    }
    if (failure !== null) throw errorOf(kind, server, name, failure)
    const wrong = await kind.check(db)
    if (wrong !== null) throw new PlatformError('ERR_DATABASE_UNREACHABLE', `The database ${title} ${wrong}.`)
  } catch (error) {
    await db.destroy()
    throw error
  }
  return db
}

async function connect(
  kind: ServerKind,
  server: DatabaseServer,
  name: string | null,
  watch?: QueryWatch,
): Promise<Database> {
  const dialect = serverDialect(await kind.createDialect(server, name), kind, server)
  return new Kysely<Tables>({ dialect, ...(watch ? { log: watch } : {}) })
}

type Failed = { readonly reason: Failure; readonly error: unknown }

export async function tryOut(kind: ServerKind, db: Database): Promise<Failed | null> {
  try {
    await db.selectNoFrom(({ val }) => val(1).as('one')).execute()
    return null
  } catch (error) {
    return failedBy(kind, error)
  }
}

/** @throws the original error if the server is not the cause */
function failedBy(kind: ServerKind, error: unknown): Failed {
  const reason = error instanceof PlatformError ? 'away' : kind.failureOf(error)
  if (reason === null) throw error
  return { reason, error }
}

async function createDatabase(kind: ServerKind, server: DatabaseServer, name: string): Promise<void> {
  const system = await connect(kind, server, kind.systemDatabase)
  try {
    await kind.createDatabase(name).execute(system)
  } catch (error) {
    // Another host has created the database during its start. The next attempt shows whether it can be used.
    if (kind.isDatabaseThere(error)) return
    throw errorOf(kind, server, name, { reason: 'no-database', error })
  } finally {
    await system.destroy()
  }
}

function titleOf(kind: ServerKind, { host, port }: DatabaseServer): string {
  return `the database server ${kind.name} (${kind.product}) at ${host}:${port}`
}

export function errorOf(
  kind: ServerKind,
  server: DatabaseServer,
  name: string,
  { reason, error }: Failed,
): PlatformError {
  if (error instanceof PlatformError) return error
  if (reason === 'away') return unreachable(kind, server, error)
  const title = titleOf(kind, server)
  const property = (word: string) => `DB_${kind.name.toUpperCase()}_${word}`
  const texts = {
    account:
      `Cannot sign in to ${title}: the server rejects the account "${server.username}" or its password. ` +
      `Set ${property('USERNAME')} and ${property('PASSWORD')} to the name and password of an account that can sign in from this machine.`,
    'no-database':
      `There is no database "${name}" on ${title}, and the account "${server.username}" is not allowed to create it. ` +
      'Create the database and give that account access to it, or set PLATFORM_DATABASE_NAME to an existing database.',
    rights:
      `The account "${server.username}" does not have the required permissions for the database "${name}" on ${title}. ` +
      'Grant it permission to create, alter, read and write tables there.',
    tls:
      `Cannot connect to ${title} with TLS: the server does not offer TLS, or its certificate is not trusted. ` +
      `Fix the server’s TLS settings, or change ${property('TLS')} (off, on or verify).`,
  }
  return new PlatformError('ERR_DATABASE_UNREACHABLE', texts[reason], {}, { cause: error })
}

/**
 * Migrates the database. Kysely's migrator takes a lock, so that several hosts can start at the same time. Closes the
 * database if the migration fails.
 * @param onError may throw a more specific error
 */
async function migrate(
  db: Database,
  kind: DatabaseKind,
  title: string,
  migrations: readonly Migrations[],
  onError: (error: unknown) => void = () => {},
): Promise<void> {
  let error: unknown
  for (const each of migrations) error ??= (await migrateTo(db, kind, title, each)).error
  if (error === undefined) return
  await db.destroy()
  if (error instanceof PlatformError) throw error
  if (isDiskFull(error)) throw diskFull(`the database ${title}`, error)
  if (wrongFile(title, error) !== null) throw errorOfFile(title, error)
  onError(error)
  throw new PlatformError(
    'ERR_DATABASE_VERSION',
    `Cannot upgrade the database ${title} to this version’s schema. On a database server, grant the account permission to alter tables. ` +
      'If it already has this permission, start the previous version, or restore a backup from before the upgrade.',
    {},
    { cause: error },
  )
}

/**
 * Doesn't change a schema from a newer version.
 * @returns the error, if any
 */
async function migrateTo(
  db: Database,
  kind: DatabaseKind,
  title: string,
  migrations: Migrations,
): Promise<{ readonly error?: unknown }> {
  const { migrationTableName, migrationLockTableName } = migrations
  const provider = { getMigrations: async () => migrationsFor(kind, migrations) }
  try {
    refuseNewerSchema(await readSchema(db, migrations), `The database ${title}`, migrations)
    return await new Migrator({ db, provider, migrationTableName, migrationLockTableName }).migrateToLatest()
  } catch (error) {
    return { error }
  }
}
