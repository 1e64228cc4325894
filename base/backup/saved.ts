import { type Migrations, PLATFORM_MIGRATIONS } from '../database/migrations.ts'
import type { Database, DatabaseSettings } from '../database/open.ts'
import { SOLHOST } from '../program/program-name.ts'
import { pauseJobs } from './pause-jobs.ts'
import { BACKUP_TABLES, type BackupTable } from './tables.ts'

/** Tables that are migrated together, and therefore backed up together. */
export type SavedTables = {
  /** The key of their schema version in a manifest. */
  readonly name: string
  readonly migrations: Migrations
  /** All tables, each after the tables that it references. Names are unique across all groups. */
  readonly tables: Readonly<Record<string, BackupTable>>
  /**
   * With the embedded database, the tables are in a separate file with this name. Otherwise they are in the configured
   * database.
   */
  readonly ownFile?: string
  /** Whether a backup is valid without these tables. */
  readonly isOptional?: true
  /** Tables that are not backed up because their rows can be rebuilt from other tables. */
  readonly derived?: {
    /** The schema version that created each table. */
    readonly tables: Readonly<Record<string, string>>
    /** Rebuilds the rows. If absent, the host creates them when it needs them. */
    readonly make?: (db: Database) => Promise<void>
  }
  /** Called with the tables' schema version after they were restored. */
  readonly restored?: (db: Database, version: string) => Promise<void>
}

/** The data that a backup of a platform or a control center contains. */
export type Saved = {
  readonly name: 'platform' | 'control center'
  /** The service that uses the data. */
  readonly user: 'host' | 'control center'
  readonly restoreCommand: string
  /** The platform's tables come first. */
  readonly tables: readonly [SavedTables, ...SavedTables[]]
  /** Folders of PLATFORM_HOME. */
  readonly folders: readonly ('databases' | 'plugins')[]
  /**
   * A file in PLATFORM_HOME that contains a secret. A restore moves it away, because the secret belongs to the replaced
   * platform.
   */
  readonly secretFile: string
  /** Whether a restore may replace existing data. */
  readonly mayReplace: boolean
}

export const PLATFORM_TABLES: SavedTables = {
  name: 'platform',
  migrations: PLATFORM_MIGRATIONS,
  tables: BACKUP_TABLES,
  derived: { tables: { media_pieces: '009-media-pieces' } },
  restored: pauseJobs,
}

export const PLATFORM: Saved = {
  name: 'platform',
  user: 'host',
  restoreCommand: `${SOLHOST} restore`,
  tables: [PLATFORM_TABLES],
  folders: ['databases', 'plugins'],
  secretFile: 'admin-password',
  mayReplace: true,
}

/** Returns the tables that exist in a schema version, in order. */
export function tablesAt(
  { migrations, tables }: SavedTables,
  version: string,
): readonly (readonly [name: string, table: BackupTable])[] {
  const versions = Object.keys(migrations.versions)
  const last = versions.indexOf(version)
  return Object.entries(tables).filter(([, { since }]) => versions.indexOf(since) <= last)
}

/** Returns the derived tables that exist in a schema version. */
export function derivedAt({ migrations, derived }: SavedTables, version: string): readonly string[] {
  const versions = Object.keys(migrations.versions)
  return Object.entries(derived?.tables ?? {}).flatMap(([name, since]) =>
    versions.indexOf(since) <= versions.indexOf(version) ? [name] : [],
  )
}

/** One database and the table groups that it stores. */
export type SavedPlace = { readonly settings: DatabaseSettings; readonly tables: readonly SavedTables[] }

export function placesOf(settings: DatabaseSettings, all: readonly SavedTables[]): readonly SavedPlace[] {
  const { kind, name } = settings.database
  if (kind !== 'embedded') return [{ settings, tables: all }]
  const files = Map.groupBy(all, ({ ownFile = name }) => ownFile)
  return [...files].map(([file, tables]) => ({
    settings: { ...settings, database: { kind, name: file } },
    tables,
  }))
}
