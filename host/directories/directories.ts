import { isDeepStrictEqual } from 'node:util'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { put } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createBriefCache } from '../database/brief-cache.ts'
import type { HostDatabase } from '../database/tables.ts'
import { type DirectoryForm, type DirectorySettings, type TestStepName, tidyUrls } from './directory-settings.ts'

/** A directory's settings, including the password of its bind account. */
export type Directory = DirectorySettings & {
  readonly name: string
  /** Null without a bind account. */
  readonly bindPassword: string | null
}

/** The last test of a directory's current settings. */
export type LastTest = {
  /** In epoch ms. */
  readonly time: number
  /** The first step that failed; null if none did. */
  readonly failed: TestStepName | null
}

/** A directory's settings without the password, for responses. */
export type ShownDirectory = DirectorySettings & {
  readonly name: string
  readonly hasBindPassword: boolean
  /** Null if the settings haven't been tested since they were last changed. */
  readonly lastTest: LastTest | null
}

/** The directories (LDAP) that are a source of users. */
export interface Directories {
  /** @returns the directories in the order in which they are searched */
  list(): Promise<readonly ShownDirectory[]>
  /**
   * Returns the same directories, with their passwords. The result is cached for at most 1 s; a change on this host
   * applies immediately.
   * @throws ERR_PLATFORM_KEY if a password cannot be decrypted
   */
  all(): Promise<readonly Directory[]>
  /**
   * Stores a directory's settings. If the form has no password, the stored one is kept, unless the servers or the bind
   * account have changed.
   * @throws ERR_REQUEST_INVALID if there are too many directories, or the bind account has no password
   */
  put(name: string, form: DirectoryForm): Promise<ShownDirectory>
  /** @returns false if there is no such directory */
  remove(name: string): Promise<boolean>
  /** Stores the result of a test, unless the settings have been changed since. */
  noteTest(tested: Directory, failed: TestStepName | null): Promise<void>
}

type Stored = DirectorySettings & { readonly sealedPassword: string | null; readonly lastTest?: LastTest }
type Row = Stored & { readonly name: string; readonly updatedAt: number }

const MOST_DIRECTORIES = 10
/** The only key in the cache, because all directories are read together. */
const ALL = ''

/** @param now returns the current time in epoch milliseconds */
export function createDirectories(db: HostDatabase, key: PlatformKey, now: () => number = Date.now): Directories {
  const cache = createBriefCache(async () => (await readAll()).map(opened), now)
  // The encryption purpose includes the row's key, so that a password copied to another row can't be decrypted there.
  const purposeOf = (name: string) => `directory ${name}`

  async function readAll(): Promise<readonly Row[]> {
    const rows = await db.selectFrom('directories').select(['name', 'value', 'updated_at']).orderBy('name').execute()
    const all = rows.map(({ name, value, updated_at }) => ({
      ...(JSON.parse(value) as Stored),
      name,
      updatedAt: updated_at,
    }))
    return all.toSorted((one, other) => one.order - other.order)
  }

  function opened({ sealedPassword, lastTest: _, updatedAt: _at, ...settings }: Row): Directory {
    if (sealedPassword === null) return { ...settings, bindPassword: null }
    const bindPassword = key.decrypt(purposeOf(settings.name), sealedPassword)
    if (bindPassword !== null) return { ...settings, bindPassword }
    throw new PlatformError(
      'ERR_PLATFORM_KEY',
      `The bind password of the directory "${settings.name}" cannot be decrypted with the platform’s key. Enter it again in the directory’s settings.`,
    )
  }

  function sealed(name: string, { bindDn, bindPassword, urls }: DirectoryForm, before: Stored | undefined) {
    if (bindDn === null) return null
    if (bindPassword !== undefined) return key.encrypt(purposeOf(name), bindPassword)
    // Never send the stored password to another server.
    const isSame = before?.bindDn === bindDn && JSON.stringify(before.urls) === JSON.stringify(urls)
    if (isSame && before.sealedPassword !== null) return before.sealedPassword
    throw new PlatformError(
      'ERR_REQUEST_INVALID',
      'bindPassword is missing, and no password is stored for this combination of bindDn and urls. Send bindPassword.',
    )
  }

  return {
    async list() {
      return (await readAll()).map(shown)
    },
    all: () => cache.get(ALL),
    async put(name, written) {
      const form = { ...written, urls: tidyUrls(written.urls) }
      const all = await readAll()
      const before = all.find((one) => one.name === name)
      if (before === undefined && all.length >= MOST_DIRECTORIES) {
        throw new PlatformError(
          'ERR_REQUEST_INVALID',
          `There are already ${MOST_DIRECTORIES} directories, which is the maximum. Delete one first.`,
        )
      }
      const { bindPassword: _, ...settings } = form
      const stored = { ...settings, sealedPassword: sealed(name, form, before) }
      await put(db, 'directories', ['name'], { name, value: JSON.stringify(stored), updated_at: now() })
      cache.forget(ALL)
      return shown({ ...stored, name, updatedAt: 0 })
    },
    async remove(name) {
      const isRemoved = await deletedAny(db.deleteFrom('directories').where('name', '=', name))
      cache.forget(ALL)
      return isRemoved
    },
    async noteTest(tested, failed) {
      const row = (await readAll()).find(({ name }) => name === tested.name)
      if (row === undefined || !isDeepStrictEqual(opened(row), tested)) return
      const { name, updatedAt, ...stored } = row
      const value = JSON.stringify({ ...stored, lastTest: { time: now(), failed } })
      await db
        .updateTable('directories')
        .set({ value })
        .where('name', '=', name)
        .where('updated_at', '=', updatedAt)
        .execute()
    },
  }
}

function shown({ sealedPassword, lastTest, updatedAt: _, ...settings }: Row): ShownDirectory {
  return { ...settings, hasBindPassword: sealedPassword !== null, lastTest: lastTest ?? null }
}
