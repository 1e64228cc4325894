import { createReadStream, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { backup as copyDatabase, DatabaseSync } from 'node:sqlite'
import { PlatformError } from '../../runtime/errors.ts'
import type { DatabaseSettings } from '../database/open.ts'
import { refuseTargetInside } from './check-target.ts'
import { type BackupManifest, FORMAT, KEY_PART, kindOfPart, partOfTable } from './manifest.ts'
import { readRows, type Snapshot, withSnapshot } from './read-tables.ts'
import { piecesOf } from './row-lines.ts'
import { PLATFORM, placesOf, type Saved, type SavedPlace } from './saved.ts'
import { type ArchiveWriter, writeArchive } from './write-archive.ts'

export type BackupOptions = {
  readonly settings: DatabaseSettings & { readonly platformKey: string }
  /** The file to create, which must not exist yet. */
  readonly file: string
  /** Whether to include the platform's key if it is stored in PLATFORM_HOME. */
  readonly withKey: boolean
  readonly version: string
  /** Called before each part is written. */
  readonly onPart?: (name: string) => void
  readonly now?: () => Date
}

export type BackupReport = {
  readonly manifest: BackupManifest
  /** Size of the file in bytes. */
  readonly size: number
  /** Where to find the key that encrypts the backup's secrets. */
  readonly key: 'in the backup' | 'left out' | 'PLATFORM_KEY'
  /** Links and other entries in the plugins folder that are not regular files, as paths below PLATFORM_HOME. */
  readonly skipped: readonly string[]
}

/**
 * Backs up everything that a platform needs: the tables in its database, the solutions' embedded databases, the
 * operator's plugins and the key. Hosts can keep running. The tables are one consistent snapshot, and each solution's
 * database is a separate one.
 * @throws ERR_BACKUP_FAILED, ERR_DATABASE_UNREACHABLE, ERR_DATABASE_VERSION
 */
export function backUpPlatform(options: BackupOptions): Promise<BackupReport> {
  return backUp(PLATFORM, options)
}

/** Backs up a platform or a control center. */
export async function backUp(saved: Saved, options: BackupOptions): Promise<BackupReport> {
  const { settings, file, withKey, version, onPart = () => {}, now = () => new Date() } = options
  const { home } = settings
  refuseTargetInside(home, saved, file)
  const keyFile = join(home, 'platform-key')
  const hasKey = settings.platformKey === '' && existsSync(keyFile)
  const skipped: string[] = []

  async function addTables({ db, tables }: Snapshot, writer: ArchiveWriter): Promise<void> {
    for (const [name, table] of tables) {
      onPart(name)
      let rows = 0
      async function* lines(): AsyncGenerator<Buffer> {
        for await (const page of readRows(db, name, table)) {
          rows += page.length
          yield* piecesOf(page, table)
        }
      }
      await writer.add(partOfTable(name), lines(), () => rows)
    }
  }

  async function factsOf(snapshots: readonly [Snapshot, ...Snapshot[]]): Promise<Omit<BackupManifest, 'parts'>> {
    const [{ db }] = snapshots
    const check = await db.selectFrom('platform').select('value').where('key', '=', 'key_check').executeTakeFirst()
    const { platform, ...others } = Object.assign({}, ...snapshots.map(({ schemas }) => schemas)) as Versions
    return {
      format: FORMAT,
      ...(saved.name === 'platform' ? {} : { of: saved.name }),
      solhost: version,
      createdAt: now().toISOString(),
      kind: settings.database.kind,
      schema: platform,
      ...(Object.keys(others).length === 0 ? {} : { schemas: others }),
      keyCheck: check?.value ?? null,
    }
  }

  const manifest = await withSnapshots(placesOf(settings, saved.tables), (snapshots) =>
    writeArchive(file, async (writer) => {
      const facts = await factsOf(snapshots)
      for (const snapshot of snapshots) await addTables(snapshot, writer)
      if (saved.folders.includes('databases')) await addSolutionDatabases(home, file, writer, onPart)
      if (saved.folders.includes('plugins')) await addPlugins(home, writer, skipped)
      if (hasKey && withKey) await writer.add(KEY_PART, oneBuffer(readFileSync(keyFile)))
      return facts
    }),
  )
  const key = settings.platformKey !== '' ? 'PLATFORM_KEY' : hasKey && withKey ? 'in the backup' : 'left out'
  return { manifest, size: statSync(file).size, key, skipped }
}

type Versions = { readonly platform: string } & Readonly<Record<string, string>>

/**
 * Opens all snapshots before reading the first, so that the snapshots of different databases are taken at almost the
 * same time.
 */
async function withSnapshots<T>(
  [place, ...others]: readonly SavedPlace[],
  work: (snapshots: readonly [Snapshot, ...Snapshot[]]) => Promise<T>,
): Promise<T> {
  if (place === undefined) throw new TypeError('a backup needs at least one database')
  return withSnapshot(place, (snapshot) =>
    others.length === 0 ? work([snapshot]) : withSnapshots(others, (more) => work([snapshot, ...more])),
  )
}

/**
 * Copies the databases with SQLite's backup API. It doesn't run SQL from the file, which is not trusted because the
 * solution controls its content. Each file is copied in one step, so the copy is a consistent snapshot. Writers are not
 * blocked.
 */
async function addSolutionDatabases(
  home: string,
  file: string,
  writer: ArchiveWriter,
  onPart: (name: string) => void,
): Promise<void> {
  const folder = join(home, 'databases')
  const names = existsSync(folder) ? readdirSync(folder).sort() : []
  // The temporary copies are created beside the backup file, because that disk needs enough space anyway.
  const copies = mkdtempSync(join(dirname(resolve(file)), '.solhost-backup-'))
  try {
    for (const name of names) {
      const part = `databases/${name}`
      if (kindOfPart(part) !== 'solutionDatabase') continue
      onPart(part)
      const copy = join(copies, 'copy.sqlite')
      await copySolutionDatabase(join(folder, name), copy)
      await writer.add(part, createReadStream(copy))
      rmSync(copy)
    }
  } finally {
    rmSync(copies, { recursive: true, force: true })
  }
}

/** A number larger than any file's page count, so that all pages are copied in one step. */
const EVERY_PAGE = 2 ** 31 - 1

async function copySolutionDatabase(file: string, copy: string): Promise<void> {
  try {
    const source = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
    try {
      await copyDatabase(source, copy, { rate: EVERY_PAGE })
    } finally {
      source.close()
    }
  } catch (error) {
    const { message } = error as Error
    throw new PlatformError(
      'ERR_BACKUP_FAILED',
      `Cannot copy ${file}: ${message}. Stop the host and back up again.`,
      {},
      { cause: error },
    )
  }
}

async function addPlugins(home: string, writer: ArchiveWriter, skipped: string[]): Promise<void> {
  async function addFolder(path: string): Promise<void> {
    const entries = readdirSync(join(home, path), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      const part = `${path}/${entry.name}`
      if (entry.isDirectory()) await addFolder(part)
      else if (entry.isFile() && kindOfPart(part) === 'plugin')
        await writer.add(part, createReadStream(join(home, part)))
      else skipped.push(part)
    }
  }
  if (existsSync(join(home, 'plugins'))) await addFolder('plugins')
}

async function* oneBuffer(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}
