import {
  chmodSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { PlatformError } from '../../runtime/errors.ts'
import { keyCheckOf } from '../config/platform-key.ts'
import { embeddedDialect } from '../database/embedded.ts'
import type { ServerKindName } from '../database/kind.ts'
import { SERVER_KINDS } from '../database/kinds.ts'
import { type Database, type DatabaseSettings, openOnServer, serverFor } from '../database/open.ts'
import { openKysely } from '../database/open-kysely.ts'
import { counted } from '../program/counted.ts'
import { isRestoreUnfinished, takeHome } from './home-lock.ts'
import { forgetHomeVersion } from './home-version.ts'
import { type BackupManifest, invalid, KEY_PART, kindOfPart, partOfTable, schemasOf } from './manifest.ts'
import { type Archive, openArchive } from './read-archive.ts'
import { occupiedNames, prepareReplacement, type Replacement } from './replace-files.ts'
import { readLines } from './row-lines.ts'
import { PLATFORM, placesOf, type Saved, type SavedTables, tablesAt } from './saved.ts'
import { columnsOf, emptyTables, isEmptyDatabase, makeTables, otherConnections, writeRows } from './write-tables.ts'

export type RestoreOptions = {
  readonly settings: DatabaseSettings & { readonly platformKey: string }
  readonly file: string
  /** Replaces existing data: files are moved to a folder beside them, and rows in a server database are deleted. */
  readonly replace: boolean
  /** Whether to continue even if there are other connections to the server's database. */
  readonly force: boolean
  /** Called twice for each part: when it is checked, and when it is written. */
  readonly onPart?: (doing: 'checking' | 'writing', name: string) => void
  readonly now?: () => Date
}

export type RestoreReport = {
  readonly manifest: BackupManifest
  /** The folder with the replaced files; null if there were none. */
  readonly replaced: string | null
}

/**
 * Restores a platform to the database that the settings select, which can be of any kind. The whole backup is checked
 * before anything is changed. If the restore fails, the existing data stays in place.
 * @throws ERR_BACKUP_INVALID, ERR_DATABASE_VERSION, ERR_PLATFORM_KEY, ERR_PLATFORM_IN_USE, ERR_RESTORE_NOT_EMPTY,
 * ERR_DATABASE_UNREACHABLE
 */
export function restorePlatform(options: RestoreOptions): Promise<RestoreReport> {
  return restore(PLATFORM, options)
}

/** Restores a platform or a control center. */
export async function restore(saved: Saved, options: RestoreOptions): Promise<RestoreReport> {
  const { settings, file, onPart = () => {} } = options
  const { home } = settings
  const archive = await openArchive(file, saved)
  try {
    const { manifest } = archive
    const restoring: Restoring = { ...options, saved, archive, tables: versionedTables(saved, manifest, file) }
    checkTables(restoring)
    for (const name of Object.keys(manifest.parts)) {
      onPart('checking', name)
      for await (const _piece of archive.read(name));
    }
    const writesKey = await checkKey(restoring)
    const lock = takeHome(home, saved)
    try {
      removeLeftovers(home)
      checkSpace(home, manifest)
      return { manifest, replaced: await restoreChecked(restoring, writesKey) }
    } finally {
      lock.release()
    }
  } finally {
    archive.close()
  }
}

type Restoring = RestoreOptions & {
  readonly saved: Saved
  readonly archive: Archive
  readonly tables: readonly VersionedTables[]
}
type VersionedTables = SavedTables & { readonly version: string }

/** Returns the groups of tables that the backup contains, with their schema versions. */
function versionedTables({ tables }: Saved, manifest: BackupManifest, file: string): readonly VersionedTables[] {
  const versions = schemasOf(manifest)
  return tables.flatMap((one) => {
    const version = versions.get(one.name)
    if (version === undefined && one.isOptional !== true)
      throw invalid(file, `the backup does not contain the tables for "${one.name}"`)
    if (version === undefined) return []
    return [{ ...one, version }]
  })
}

function checkTables({ tables, saved, file, archive }: Restoring): void {
  const { parts } = archive.manifest
  const names = tables.flatMap((one) => tablesAt(one, one.version).map(([name]) => partOfTable(name)))
  const missing = names.find((name) => !Object.hasOwn(parts, name))
  if (missing !== undefined) throw invalid(file, `the backup does not contain the part ${missing}`)
  const more = Object.keys(parts).find((name) => kindOfPart(name, saved) === 'table' && !names.includes(name))
  if (more !== undefined)
    throw invalid(file, `the backup contains the table ${more}, which does not exist in the backup’s schema version`)
}

/** @returns whether the key from the backup must be written */
async function checkKey({ settings, file, archive, saved }: Restoring): Promise<boolean> {
  const { home, platformKey } = settings
  const { manifest, read } = archive
  const { keyCheck } = manifest
  const fits = (secret: string) => keyCheck === null || keyCheckOf(secret) === keyCheck
  if (platformKey !== '') {
    if (fits(platformKey)) return false
    throw wrongKey(
      `PLATFORM_KEY is not the key used to create the backup ${file}`,
      `Set it to the original ${saved.name}’s key`,
    )
  }
  if (Object.hasOwn(manifest.parts, KEY_PART)) {
    const pieces: Buffer[] = []
    for await (const piece of read(KEY_PART)) pieces.push(piece)
    if (fits(Buffer.concat(pieces).toString('utf8').trim())) return true
    throw wrongKey(
      `The key in the backup ${file} does not match the database in that backup`,
      `Set PLATFORM_KEY to the original ${saved.name}’s key`,
    )
  }
  const keyFile = join(home, 'platform-key')
  if (keyCheck === null || (existsSync(keyFile) && fits(readFileSync(keyFile, 'utf8').trim()))) return false
  throw wrongKey(
    existsSync(keyFile)
      ? `${keyFile} does not contain the key used to create the backup ${file}`
      : `Neither the backup ${file} nor ${home} contains the key`,
    `Set PLATFORM_KEY to the original ${saved.name}’s key, or copy the file platform-key from the original ${saved.name} to ${home}`,
  )
}

function wrongKey(what: string, advice: string): PlatformError {
  return new PlatformError(
    'ERR_PLATFORM_KEY',
    `${what}, so the backup’s secrets cannot be read. ${advice}. Nothing was changed.`,
  )
}

const STAGED = '.restore-'

/** Deletes the temporary files that an interrupted restore left behind. */
function removeLeftovers(home: string): void {
  for (const name of readdirSync(home)) {
    if (name.startsWith(STAGED)) rmSync(join(home, name), { recursive: true })
  }
}

/**
 * Requires free space for twice the size of the backup's parts. In the backup, base64 and JSON make rows longer than in
 * the database. But the database's transaction log may contain each row a second time.
 */
function checkSpace(home: string, { parts }: BackupManifest): void {
  const { bavail, bsize } = statfsSync(home)
  const needed = Object.values(parts).reduce((sum, { bytes }) => sum + bytes, 0) * 2
  if (needed <= bavail * bsize) return
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 ** 2)} MB`
  throw new PlatformError(
    'ERR_BACKUP_FAILED',
    `There may not be enough disk space in ${home}: ${megabytes(bavail * bsize)} is free, but the restore can need up to ` +
      `${megabytes(needed)}. Nothing was changed. Free some space, then restore again.`,
  )
}

async function restoreChecked(restoring: Restoring, writesKey: boolean): Promise<string | null> {
  const { settings, saved, archive, replace, now = () => new Date() } = restoring
  const { home } = settings
  const { kind } = settings.database
  const databases = kind === 'embedded' ? placesOf(settings, saved.tables).map((one) => one.settings.database.name) : []
  const key = writesKey ? keyInHome(home, archive.manifest) : 'the same'
  const giveWay = [...occupiedNames(home, databases, saved.folders), ...(key === 'another' ? [KEY_FILE] : [])]
  if (giveWay.length > 0 && !replace) throw notEmpty(saved, `${home} contains ${giveWay.join(', ')}`)
  if (isRestoreUnfinished(home) && !replace)
    throw notEmpty(saved, `${home} contains the files of an interrupted restore`)
  const staged = mkdtempSync(join(home, STAGED))
  // The secret file belongs to the platform that is replaced, so it is moved away too.
  const names = [...giveWay, saved.secretFile]
  const replaced = join(home, `replaced-${now().toISOString().replace(/[:.]/g, '-')}`)
  const replacement = prepareReplacement(home, staged, names, replaced)
  try {
    await writeFiles(restoring, staged, key !== 'the same')
    if (kind === 'embedded') {
      for (const place of placesOf(settings, restoring.tables)) {
        const tables = restoring.tables.filter(({ name }) => place.tables.some((one) => one.name === name))
        await writeEmbedded(join(staged, `${place.settings.database.name}.sqlite`), { ...restoring, tables })
      }
      replacement.apply()
    } else await writeOnServer(kind, restoring, replacement)
    forgetHomeVersion(home)
    return replacement.finish()
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
}

const KEY_FILE = 'platform-key'

function keyInHome(home: string, { keyCheck }: BackupManifest): 'none' | 'the same' | 'another' {
  const file = join(home, KEY_FILE)
  if (!existsSync(file)) return 'none'
  return keyCheckOf(readFileSync(file, 'utf8').trim()) === keyCheck ? 'the same' : 'another'
}

function notEmpty({ name, mayReplace }: Saved, what: string): PlatformError {
  const or = mayReplace ? ', or use --replace to replace the existing data' : ''
  return new PlatformError(
    'ERR_RESTORE_NOT_EMPTY',
    `${what}. A restore would mix the data from two ${name}s, so nothing was changed. Set PLATFORM_HOME ` +
      `to an empty folder and PLATFORM_DATABASE_NAME to an empty database${or}.`,
  )
}

/** Writes all parts except tables to a temporary folder. Its content is moved into PLATFORM_HOME later. */
async function writeFiles(
  { archive: { manifest, read }, saved, onPart = () => {} }: Restoring,
  staged: string,
  writesKey: boolean,
): Promise<void> {
  for (const name of Object.keys(manifest.parts)) {
    const kind = kindOfPart(name, saved)
    if (kind === 'table' || (kind === 'key' && !writesKey)) continue
    onPart('writing', name)
    const path = join(staged, name)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    await pipeline(read(name), createWriteStream(path, { mode: 0o600, flags: 'wx', flush: true }))
  }
}

async function writeEmbedded(path: string, restoring: Restoring): Promise<void> {
  const db = openKysely(embeddedDialect(path))
  try {
    chmodSync(path, 0o600)
    for (const one of restoring.tables) await makeTables(db, one, one.version, `The database ${path}`)
    await db.transaction().execute((transaction) => writeTables(transaction, restoring))
  } finally {
    await db.destroy()
  }
}

async function writeOnServer(kind: ServerKindName, restoring: Restoring, replacement: Replacement): Promise<void> {
  const { settings, saved, tables, replace, force } = restoring
  const title = `The database "${settings.database.name}" (${settings.database.kind})`
  const db = await openOnServer(SERVER_KINDS[kind], serverFor(settings, kind), settings.database.name)
  try {
    const isEmpty = await isEmptyDatabase(db, saved.tables)
    if (!isEmpty && !replace) throw notEmpty(saved, `${title} already contains the data of a ${saved.name}`)
    const others = isEmpty ? 0 : await otherConnections(db)
    if (others > 0 && !force) {
      throw new PlatformError(
        'ERR_PLATFORM_IN_USE',
        `${title} has ${counted(others, 'other connection')}, so a host may be using it. Stop all hosts and run this command again. ` +
          'If the connections are not from hosts, use --force. Nothing was changed.',
      )
    }
    const drops: (() => Promise<void>)[] = []
    try {
      for (const one of tables) drops.unshift(await makeTables(db, one, one.version, title))
      await db.transaction().execute(async (transaction) => {
        await writeTables(transaction, restoring)
        // The files are replaced last in the transaction. If the commit fails, the files are moved back and the rows
        // are rolled back.
        replacement.apply()
      })
    } catch (error) {
      replacement.undo()
      for (const drop of drops) await drop()
      throw error
    }
  } finally {
    await db.destroy()
  }
}

/** Deletes existing rows first, because migrations insert rows into some tables. */
async function writeTables(db: Database, restoring: Restoring): Promise<void> {
  const { tables, archive, file, onPart = () => {} } = restoring
  const columns = await columnsOf(db)
  for (const one of tables.toReversed()) await emptyTables(db, one, one.version)
  for (const [name, table] of tables.flatMap((one) => tablesAt(one, one.version))) {
    onPart('writing', name)
    const part = partOfTable(name)
    const lines = readLines(archive.read(part), table)
    const count = await writeRows(db, name, table, columns.get(name) ?? new Set(), lines).catch((error: unknown) => {
      throw error instanceof TypeError ? invalid(file, `the part ${part} is invalid (${error.message})`, error) : error
    })
    if (count !== archive.manifest.parts[part]?.rows)
      throw invalid(file, `the number of rows in ${part} does not match the manifest`)
  }
  for (const { name, derived } of tables) {
    if (derived?.make === undefined) continue
    onPart('writing', name)
    await derived.make(db)
  }
  for (const { restored, version } of tables) await restored?.(db, version)
}
