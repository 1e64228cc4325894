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
import type { Settings } from '../config/settings.ts'
import { embeddedDialect } from '../database/embedded.ts'
import type { ServerKindName } from '../database/kind.ts'
import { SERVER_KINDS } from '../database/kinds.ts'
import { type Database, openOnServer } from '../database/open.ts'
import { openKysely } from '../database/open-kysely.ts'
import { refuseNewerSchema } from '../database/schema-version.ts'
import { isRestoreUnfinished, takeHome } from './home-lock.ts'
import { type BackupManifest, invalid, KEY_PART, kindOfPart } from './manifest.ts'
import { type Archive, openArchive } from './read-archive.ts'
import { occupiedNames, prepareReplacement, type Replacement } from './replace-files.ts'
import { readLines } from './row-lines.ts'
import { type TableName, tablesOf } from './tables.ts'
import { columnsOf, emptyTables, isEmptyDatabase, makeTables, otherConnections, writeRows } from './write-tables.ts'

export type RestoreOptions = {
  readonly settings: Pick<Settings, 'home' | 'platformKey' | 'database' | 'databaseServers'>
  readonly file: string
  /** What is there gives way: files go to a folder beside them, rows of a database on a server are removed. */
  readonly replace: boolean
  /** Goes on although others are connected to the database on the server. */
  readonly force: boolean
  /** Told of each part that is checked, and of each that is written. */
  readonly onPart?: (doing: 'checking' | 'writing', name: string) => void
  readonly now?: () => Date
}

export type RestoreReport = {
  readonly manifest: BackupManifest
  /** Where the files lie that were there before; null: there were none. */
  readonly replaced: string | null
}

/**
 * Puts a platform back, into the kind of database that the settings name. The whole backup is checked before anything is
 * changed, and a restore that fails leaves what was there.
 * @throws ERR_BACKUP_INVALID, ERR_DATABASE_VERSION, ERR_PLATFORM_KEY, ERR_PLATFORM_IN_USE, ERR_RESTORE_NOT_EMPTY,
 *   ERR_DATABASE_UNREACHABLE
 */
export async function restorePlatform(options: RestoreOptions): Promise<RestoreReport> {
  const { settings, file, onPart = () => {} } = options
  const { home } = settings
  const archive = await openArchive(file)
  try {
    const { manifest } = archive
    refuseNewerSchema([manifest.schema], `The backup ${file}`)
    checkTables(manifest, file)
    for (const name of Object.keys(manifest.parts)) {
      onPart('checking', name)
      for await (const _piece of archive.read(name));
    }
    const writesKey = await checkKey(options, archive)
    const lock = takeHome(home)
    try {
      removeLeftovers(home)
      checkSpace(home, manifest)
      return { manifest, replaced: await restoreChecked(options, archive, writesKey) }
    } finally {
      lock.release()
    }
  } finally {
    archive.close()
  }
}

function checkTables({ schema, parts }: BackupManifest, file: string): void {
  const names = tablesOf(schema).map(([name]) => `database/${name}.jsonl`)
  const missing = names.find((name) => !Object.hasOwn(parts, name))
  if (missing !== undefined) throw invalid(file, `the part ${missing} is missing`)
  const more = Object.keys(parts).find((name) => kindOfPart(name) === 'table' && !names.includes(name))
  if (more !== undefined) throw invalid(file, `the part ${more} does not belong to its schema`)
}

/** @returns whether the key of the backup has to be written */
async function checkKey({ settings, file }: RestoreOptions, { manifest, read }: Archive): Promise<boolean> {
  const { home, platformKey } = settings
  const { keyCheck } = manifest
  const fits = (secret: string) => keyCheck === null || keyCheckOf(secret) === keyCheck
  if (platformKey !== '') {
    if (fits(platformKey)) return false
    throw wrongKey(`PLATFORM_KEY is not the key of the backup ${file}`, 'Set it to the one that the platform had')
  }
  if (Object.hasOwn(manifest.parts, KEY_PART)) {
    const pieces: Buffer[] = []
    for await (const piece of read(KEY_PART)) pieces.push(piece)
    if (fits(Buffer.concat(pieces).toString('utf8').trim())) return true
    throw wrongKey(`The key in the backup ${file} is not the one of its database`, 'Set PLATFORM_KEY to that')
  }
  const keyFile = join(home, 'platform-key')
  if (keyCheck === null || (existsSync(keyFile) && fits(readFileSync(keyFile, 'utf8').trim()))) return false
  throw wrongKey(
    existsSync(keyFile)
      ? `${keyFile} is not the key of the backup ${file}`
      : `The backup ${file} holds no key, and there is none in ${home}`,
    `Set PLATFORM_KEY to the one that the platform had, or put its file platform-key into ${home}`,
  )
}

function wrongKey(what: string, advice: string): PlatformError {
  return new PlatformError(
    'ERR_PLATFORM_KEY',
    `${what}: its secrets could not be read. ${advice}. Nothing was changed.`,
  )
}

const STAGED = '.restore-'

/** Of a restore that was killed. */
function removeLeftovers(home: string): void {
  for (const name of readdirSync(home)) {
    if (name.startsWith(STAGED)) rmSync(join(home, name), { recursive: true })
  }
}

/** Base64 and JSON make rows longer than they are in a database, whose log may hold them once more. */
function checkSpace(home: string, { parts }: BackupManifest): void {
  const { bavail, bsize } = statfsSync(home)
  const needed = Object.values(parts).reduce((sum, { bytes }) => sum + bytes, 0) * 2
  if (needed <= bavail * bsize) return
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 ** 2)} MB`
  throw new PlatformError(
    'ERR_BACKUP_FAILED',
    `There is too little room in ${home}: ${megabytes(bavail * bsize)} are free, and the restore may need ` +
      `${megabytes(needed)}. Nothing was changed.`,
  )
}

async function restoreChecked(options: RestoreOptions, archive: Archive, writesKey: boolean): Promise<string | null> {
  const { settings, replace, now = () => new Date() } = options
  const { home } = settings
  const { kind, name } = settings.database
  const key = writesKey ? keyInHome(home, archive.manifest) : 'the same'
  const giveWay = [...occupiedNames(home, kind === 'embedded' ? name : null), ...(key === 'another' ? [KEY_FILE] : [])]
  if (giveWay.length > 0 && !replace) throw notEmpty(`${home} holds ${giveWay.join(', ')}`)
  if (isRestoreUnfinished(home) && !replace) throw notEmpty(`${home} is what a restore left that was cut off`)
  const staged = mkdtempSync(join(home, STAGED))
  // The password in that file is that of the platform before.
  const names = [...giveWay, 'admin-password']
  const replaced = join(home, `replaced-${now().toISOString().replace(/[:.]/g, '-')}`)
  const replacement = prepareReplacement(home, staged, names, replaced)
  try {
    await writeFiles(archive, staged, key !== 'the same', options)
    if (kind === 'embedded') {
      await writeEmbedded(join(staged, `${name}.sqlite`), archive, options)
      replacement.apply()
    } else await writeOnServer(kind, archive, options, replacement)
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

function notEmpty(what: string): PlatformError {
  return new PlatformError(
    'ERR_RESTORE_NOT_EMPTY',
    `${what}, and a restore does not mix two platforms. Nothing was changed. Set PLATFORM_HOME and PLATFORM_DATABASE_NAME ` +
      'to an empty folder and an empty database, or say --replace: the backup then takes the place of what is there.',
  )
}

/** All but the tables, below a folder that becomes part of PLATFORM_HOME. */
async function writeFiles(
  { manifest, read }: Archive,
  staged: string,
  writesKey: boolean,
  { onPart = () => {} }: RestoreOptions,
): Promise<void> {
  for (const name of Object.keys(manifest.parts)) {
    const kind = kindOfPart(name)
    if (kind === 'table' || (kind === 'key' && !writesKey)) continue
    onPart('writing', name)
    const path = join(staged, name)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    await pipeline(read(name), createWriteStream(path, { mode: 0o600, flags: 'wx', flush: true }))
  }
}

async function writeEmbedded(path: string, archive: Archive, options: RestoreOptions): Promise<void> {
  const db = openKysely(embeddedDialect(path))
  try {
    chmodSync(path, 0o600)
    await makeTables(db, archive.manifest.schema, `The database ${path}`)
    await db.transaction().execute((transaction) => writeTables(transaction, archive, options))
  } finally {
    await db.destroy()
  }
}

async function writeOnServer(
  kind: ServerKindName,
  archive: Archive,
  options: RestoreOptions,
  replacement: Replacement,
): Promise<void> {
  const { settings, replace, force } = options
  const { schema } = archive.manifest
  const title = `The database "${settings.database.name}" (${settings.database.kind})`
  const db = await openOnServer(SERVER_KINDS[kind], settings.databaseServers[kind], settings.database.name)
  try {
    const isEmpty = await isEmptyDatabase(db)
    if (!isEmpty && !replace) throw notEmpty(`${title} holds a platform`)
    const others = isEmpty ? 0 : await otherConnections(db)
    if (others > 0 && !force) {
      throw new PlatformError(
        'ERR_PLATFORM_IN_USE',
        `${title} has ${others} other connections, so hosts may run with it. Stop all of them and run this again; ` +
          'if these are no hosts, say --force. Nothing was changed.',
      )
    }
    const drop = await makeTables(db, schema, title)
    try {
      await db.transaction().execute(async (transaction) => {
        await emptyTables(transaction, schema)
        await writeTables(transaction, archive, options)
        // Last, so that files and rows change together; a commit that fails undoes both.
        replacement.apply()
      })
    } catch (error) {
      replacement.undo()
      await drop()
      throw error
    }
  } finally {
    await db.destroy()
  }
}

async function writeTables(
  db: Database,
  { manifest, read }: Archive,
  { file, onPart = () => {} }: RestoreOptions,
): Promise<void> {
  const columns = await columnsOf(db)
  for (const [name, table] of tablesOf(manifest.schema)) {
    onPart('writing', name)
    const part = `database/${name}.jsonl`
    const count = await writeTable(db, name, columns.get(name) ?? new Set()).catch((error: unknown) => {
      throw error instanceof TypeError ? invalid(file, `in ${part} ${error.message}`, error) : error
    })
    if (count !== manifest.parts[part]?.rows) throw invalid(file, `${part} has other rows than its manifest says`)

    function writeTable(db: Database, name: TableName, columns: ReadonlySet<string>): Promise<number> {
      return writeRows(db, name, table, columns, readLines(read(part), table))
    }
  }
}
