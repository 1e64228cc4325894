import { PLATFORM_SCHEMA, type Schema } from '../database/migrations.ts'
import type { Database, DatabaseSettings } from '../database/open.ts'
import { SOLHOST } from '../program/program-name.ts'
import { BACKUP_TABLES, type BackupTable } from './tables.ts'

/** Tables that are brought up to date together, and so are saved together. */
export type SavedTables = {
  /** What their version is called in a manifest. */
  readonly name: string
  readonly schema: Schema
  /** All of them, a table after those that its rows point to. Names are unique among all that is saved. */
  readonly tables: Readonly<Record<string, BackupTable>>
  /** Where the database is embedded: the name of a file of their own. Else they are where the settings say. */
  readonly ownFile?: string
  /** Whether a backup may lack them. */
  readonly isOptional?: true
  /** Tables that are in no backup, and what makes their rows of the others. */
  readonly derived?: {
    /** The schema version that created each. */
    readonly tables: Readonly<Record<string, string>>
    /** Left out: the host creates the rows when it needs them. */
    readonly make?: (db: Database) => Promise<void>
  }
}

/** All that makes a platform, or a control center, what it is. */
export type Saved = {
  readonly name: 'platform' | 'control center'
  /** Who uses it, and how its own restore is called. */
  readonly user: 'host' | 'control center'
  readonly restoreCommand: string
  /** The platform's own come first. */
  readonly tables: readonly [SavedTables, ...SavedTables[]]
  /** Folders of PLATFORM_HOME. */
  readonly folders: readonly ('databases' | 'plugins')[]
  /** A file of PLATFORM_HOME with a secret of the one before, which gives way too. */
  readonly secretFile: string
  /** Whether a restore may take the place of what is there. */
  readonly mayReplace: boolean
}

export const PLATFORM_TABLES: SavedTables = {
  name: 'platform',
  schema: PLATFORM_SCHEMA,
  tables: BACKUP_TABLES,
  derived: { tables: { media_pieces: '009-media-pieces' } },
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

/** The tables that a version of their schema has, in their order. */
export function tablesAt(
  { schema, tables }: SavedTables,
  version: string,
): readonly (readonly [name: string, table: BackupTable])[] {
  const versions = Object.keys(schema.versions)
  const last = versions.indexOf(version)
  return Object.entries(tables).filter(([, { since }]) => versions.indexOf(since) <= last)
}

/** Those that are in no backup. */
export function derivedAt({ schema, derived }: SavedTables, version: string): readonly string[] {
  const versions = Object.keys(schema.versions)
  return Object.entries(derived?.tables ?? {}).flatMap(([name, since]) =>
    versions.indexOf(since) <= versions.indexOf(version) ? [name] : [],
  )
}

/** One database, and what of all that is saved lies there. */
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
