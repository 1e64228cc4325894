import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { KIND_NAMES } from '../database/kind.ts'
import { refuseNewerSchema } from '../database/schema-version.ts'
import { PLATFORM, type Saved } from './saved.ts'

/** The part that lists all other parts. It is written last and read first. */
export const MANIFEST = 'manifest.json'
/** The platform's key, if it is stored in PLATFORM_HOME. */
export const KEY_PART = 'platform-key'
/** Increment this when older versions can't read the backups of a newer version. */
export const FORMAT = 1

const Part = z.strictObject({
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Set for tables only. */
  rows: z.int().nonnegative().optional(),
})

const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  /** The service that was backed up. If absent, it was a platform. */
  of: z.literal('control center').optional(),
  /** The version of Solhost that wrote the backup. */
  solhost: z.string().max(100),
  createdAt: z.iso.datetime(),
  /** The kind of database that stored the platform's data. The backup can be restored to any kind. */
  kind: z.enum(KIND_NAMES),
  schema: z.string().max(100),
  /**
   * The schema versions of the other groups of tables, by `SavedTables.name`. The version of the platform's tables is
   * in `schema`.
   */
  schemas: z.record(z.string().max(100), z.string().max(100)).optional(),
  /** The result of `keyCheckOf` in base/config/platform-key.ts; null if no host ever used the database. */
  keyCheck: z.string().max(200).nullable(),
  parts: z.record(z.string(), Part),
})
export type BackupManifest = z.infer<typeof Manifest>
export type BackupPart = z.infer<typeof Part>

/**
 * Allowed part names by kind, apart from tables. All other names are rejected, so that no part can be written outside
 * its folder.
 */
const FILE_NAMES = {
  solutionDatabase: /^databases\/[a-z0-9][a-z0-9-]{0,62}\.sqlite$/,
  plugin: /^plugins(?:\/(?!\.{1,2}(?:\/|$))[^/\\\p{Cc}]{1,255}){1,32}$/u,
  key: new RegExp(`^${KEY_PART}$`),
}
const TABLE_NAME = /^database\/([a-z_]{1,63})\.jsonl$/

export function partOfTable(name: string): string {
  return `database/${name}.jsonl`
}

export function kindOfPart(name: string, saved: Saved = PLATFORM): 'table' | keyof typeof FILE_NAMES | null {
  if (name.length > 4000) return null
  const table = TABLE_NAME.exec(name)?.[1]
  if (table !== undefined) return saved.tables.some(({ tables }) => Object.hasOwn(tables, table)) ? 'table' : null
  if (name !== KEY_PART && !saved.folders.some((folder) => name.startsWith(`${folder}/`))) return null
  const kinds = Object.keys(FILE_NAMES) as (keyof typeof FILE_NAMES)[]
  return kinds.find((kind) => FILE_NAMES[kind].test(name)) ?? null
}

/** Returns the schema versions of the backup's tables, by `SavedTables.name`. */
export function schemasOf({ schema, schemas = {} }: BackupManifest): ReadonlyMap<string, string> {
  return new Map([['platform', schema], ...Object.entries(schemas)])
}

/** @throws ERR_BACKUP_INVALID, or ERR_DATABASE_VERSION if a newer version of Solhost wrote the backup */
export function readManifest(text: string, file: string, saved: Saved = PLATFORM): BackupManifest {
  let written: unknown
  try {
    written = JSON.parse(text)
  } catch {
    throw invalid(file, 'the manifest is not valid JSON')
  }
  const format = z.object({ format: z.int() }).safeParse(written).data?.format
  if (format !== undefined && format > FORMAT) {
    throw invalid(
      file,
      `a newer version of Solhost created it (backup format ${format}; this version supports up to ${FORMAT})`,
    )
  }
  const read = Manifest.safeParse(written)
  if (!read.success) throw invalid(file, `"${read.error.issues[0]?.path.join('.')}" in the manifest is invalid`)
  const { of = 'platform' } = read.data
  if (of !== saved.name)
    throw invalid(file, `the file is a backup of a ${of}, but this command restores a ${saved.name}`)
  // Check this before the parts, because backups of newer versions can contain tables that don't exist in this version.
  const versions = schemasOf(read.data)
  for (const { name, migrations } of saved.tables) {
    const version = versions.get(name)
    if (version !== undefined) refuseNewerSchema([version], `The backup ${file}`, migrations)
  }
  const odd = Object.keys(read.data.parts).find((name) => kindOfPart(name, saved) === null)
  if (odd !== undefined)
    throw invalid(file, `the file contains ${JSON.stringify(odd.slice(0, 100))}, which does not belong in a backup`)
  return read.data
}

/** @param why the reason, for the error message */
export function invalid(file: string, why: string, cause?: unknown): PlatformError {
  const text = `Cannot use ${file} as a backup: ${why}. Nothing was changed. Use another backup.`
  return new PlatformError('ERR_BACKUP_INVALID', text, {}, cause === undefined ? {} : { cause })
}
