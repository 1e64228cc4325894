import type { ExpressionBuilder } from 'kysely'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import { deletedAny } from '../../base/database/deleted-any.ts'
import { byteLength, firstRows, insertOnce } from '../../base/database/portable.ts'
import type { Bundle } from '../../runtime/bundle/bundle.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase, HostTables } from '../database/tables.ts'
import { contentEtag } from './content-etag.ts'
import { createMediaReader, writePieces } from './media-pieces.ts'
import { readStored, type StoredSolution, writeStored } from './stored-solution.ts'

export type SolutionSummary = {
  readonly name: string
  readonly title: string
  readonly type: string
  readonly authenticator: string
  readonly active: string | null
  readonly activeVersion: string | null
  readonly state: 'active' | 'inactive'
  readonly listed: boolean
}

export type VersionSummary = {
  readonly sha256: string
  readonly version: string
  readonly uploadedAt: number
  readonly bytes: number
}

/**
 * The SHA-256 of the version that must be active for a change to take effect. Null: no version may be active.
 * Undefined: there is no condition.
 */
export type ExpectedActive = string | null | undefined

/** Stores solutions and their versions in the platform's database. Each change is one transaction. */
export interface SolutionStore {
  list(): Promise<readonly SolutionSummary[]>
  get(name: string): Promise<SolutionSummary | null>
  /** The SHA-256 of the active version; null if no version is active. */
  activeSha256(name: string): Promise<string | null>
  versions(name: string): Promise<readonly VersionSummary[]>
  hasVersion(name: string, sha256: string): Promise<boolean>
  /** The bytes as uploaded; null if there is no such version. */
  bundle(name: string, sha256: string): Promise<Uint8Array | null>
  /**
   * Adds a version with its media unless it exists, and activates it.
   * @returns false, without a change, if the active version is not `expected`
   */
  add(bundle: Bundle, packed: Uint8Array, prepared: PreparedSolution, expected?: ExpectedActive): Promise<boolean>
  /** Replaces the prepared data of a version that an older host wrote. Other hosts may still use their cached data. */
  renew(name: string, sha256: string, prepared: PreparedSolution): Promise<void>
  /** @returns false, without a change, if the active version is not `expected` */
  activate(name: string, sha256: string, expected?: ExpectedActive): Promise<boolean>
  /** `size` is the length of the stored JSON in characters. */
  prepared(name: string, sha256: string): Promise<(StoredSolution & { readonly size: number }) | null>
  /** Metadata of a media file. `size` is in bytes. */
  media(name: string, sha256: string, path: string): Promise<{ readonly etag: string; readonly size: number } | null>
  /** Reads the content of a media file lazily, in pieces of `PIECE_SIZE`. */
  mediaContent(name: string, sha256: string, path: string, size: number): AsyncGenerator<Uint8Array, void>
  /**
   * Erases a version with its media, unless it is active or the base of a draft.
   * @returns false if it was not erased or does not exist
   */
  removeVersion(name: string, sha256: string): Promise<boolean>
  /** Returns the number of drafts that are based on this version. */
  draftsOf(name: string, sha256: string): Promise<number>
  /** Marks the solution as deleted. @returns false if it does not exist */
  remove(name: string): Promise<boolean>
  /** Yields the names of the solutions that were deleted longer than `DELETED_KEPT` ago. */
  expired(): AsyncGenerator<string>
  /**
   * Erases an expired solution and its versions, unless it was uploaded again or another host erased it.
   * @param eraseOthers erases the solution's other data. During this call, the solution cannot be uploaded. If the call
   *   rejects, its changes in the database are rolled back and the solution remains expired
   */
  erase(name: string, eraseOthers: (transaction: HostDatabase) => Promise<void>): Promise<void>
}

export function createSolutionStore(db: HostDatabase, limits: Limits, now: () => number = Date.now): SolutionStore {
  const summaries = () =>
    db
      .selectFrom('solutions')
      .leftJoin('solution_versions', (join) =>
        join
          .onRef('solution_versions.solution', '=', 'solutions.name')
          .onRef('solution_versions.sha256', '=', 'solutions.active_sha256'),
      )
      .where('solutions.deleted_at', 'is', null)
      .select(['name', 'title', 'type', 'authenticator', 'active_sha256', 'version', 'listed'])

  const version = (name: string, sha256: string) =>
    db.selectFrom('solution_versions').where('solution', '=', name).where('sha256', '=', sha256)

  const readMedia = createMediaReader(db)

  return {
    async list() {
      return (await summaries().orderBy('name').execute()).map(summaryOf)
    },
    async get(name) {
      const row = await summaries().where('name', '=', name).executeTakeFirst()
      return row ? summaryOf(row) : null
    },
    async activeSha256(name) {
      const query = db.selectFrom('solutions').select('active_sha256').where('name', '=', name)
      return (await query.where('deleted_at', 'is', null).executeTakeFirst())?.active_sha256 ?? null
    },
    async versions(name) {
      const rows = await db
        .selectFrom('solution_versions')
        .select(['sha256', 'version', 'uploaded_at', 'bytes'])
        .where('solution', '=', name)
        .orderBy('uploaded_at')
        .execute()
      return rows.map(({ sha256, version, uploaded_at, bytes }) => ({
        sha256,
        version,
        uploadedAt: uploaded_at,
        bytes,
      }))
    },
    async hasVersion(name, sha256) {
      return (await version(name, sha256).select('sha256').executeTakeFirst()) !== undefined
    },
    async bundle(name, sha256) {
      const row = await version(name, sha256).select('bundle').executeTakeFirst()
      return row === undefined ? null : new Uint8Array(row.bundle)
    },
    async add(bundle, packed, prepared, expected) {
      const { name, version, title, type, authenticator, listed } = bundle.manifest
      const { sha256 } = bundle
      const media = [...bundle.media].map(([path, content]) => ({
        solution: name,
        sha256,
        path,
        etag: contentEtag(content),
        content,
      }))
      return db.transaction().execute(async (transaction) => {
        // Insert this row first, because it decides which of two simultaneous uploads is activated.
        const row = { name, created_at: now(), active_sha256: sha256, deleted_at: null }
        const isFirst = typeof expected !== 'string' && (await insertOnce(transaction, 'solutions', row))
        if (!isFirst && !(await activate(transaction, name, sha256, expected))) return false
        const isNew = await insertOnce(transaction, 'solution_versions', {
          solution: name,
          sha256,
          version,
          title,
          type,
          authenticator,
          listed: listed ? 1 : 0,
          prepared: writeStored(prepared),
          bundle: packed,
          bytes: packed.length,
          uploaded_at: now(),
        })
        // If the version is not new, another host has just stored the same bundle with its media.
        for (const file of isNew ? media : []) {
          await transaction.insertInto('media').values(file).execute()
          await writePieces(transaction, file)
        }
        return true
      })
    },
    async renew(name, sha256, prepared) {
      const changed = { prepared: writeStored(prepared) }
      const update = db.updateTable('solution_versions').set(changed)
      await update.where('solution', '=', name).where('sha256', '=', sha256).execute()
    },
    activate: (name, sha256, expected) => activate(db, name, sha256, expected),
    async prepared(name, sha256) {
      const row = await version(name, sha256).select('prepared').executeTakeFirst()
      return row ? { ...readStored(row.prepared), size: row.prepared.length } : null
    },
    async media(name, sha256, path) {
      const row = await db
        .selectFrom('media')
        .select(['etag', byteLength(db, 'content').as('size')])
        .where('solution', '=', name)
        .where('sha256', '=', sha256)
        .where('path', '=', path)
        .executeTakeFirst()
      return row ?? null
    },
    mediaContent: (name, sha256, path, size) => readMedia({ solution: name, sha256, path }, size),
    async removeVersion(name, sha256) {
      const isActive = db
        .selectFrom('solutions')
        .select('name')
        .where('name', '=', name)
        .where('active_sha256', '=', sha256)
      const isBase = db.selectFrom('drafts').select('id').where('solution', '=', name).where('base_sha256', '=', sha256)
      const version = db.deleteFrom('solution_versions').where('solution', '=', name).where('sha256', '=', sha256)
      return deletedAny(version.where(({ and, not, exists }) => and([not(exists(isActive)), not(exists(isBase))])))
    },
    async draftsOf(name, sha256) {
      const drafts = db.selectFrom('drafts').where('solution', '=', name).where('base_sha256', '=', sha256)
      return Number((await drafts.select(({ fn }) => fn.countAll().as('count')).executeTakeFirst())?.count ?? 0)
    },
    async remove(name) {
      const result = await db
        .updateTable('solutions')
        .set({ deleted_at: now() })
        .where('name', '=', name)
        .where('deleted_at', 'is', null)
        .executeTakeFirst()
      return result.numUpdatedRows > 0n
    },
    ...createErasure(db, limits, now),
  }
}

function createErasure(db: HostDatabase, limits: Limits, now: () => number): Pick<SolutionStore, 'expired' | 'erase'> {
  const isExpired = ({ eb }: ExpressionBuilder<HostTables, 'solutions'>) =>
    eb('deleted_at', '<', now() - limits.DELETED_KEPT)

  return {
    async *expired() {
      for (let last = ''; ; ) {
        const next = db.selectFrom('solutions').select('name').where('name', '>', last).where(isExpired)
        const [row] = await firstRows(db, next.orderBy('name'), 1).execute()
        if (row === undefined) return
        yield row.name
        last = row.name
      }
    },
    async erase(name, eraseOthers) {
      await db.transaction().execute(async (transaction) => {
        // Delete this row first: the lock makes uploads and other hosts wait until the transaction has ended.
        const solution = transaction.deleteFrom('solutions').where('name', '=', name).where(isExpired)
        if (await deletedAny(solution)) await eraseOthers(transaction)
      })
    },
  }
}

/** This is one conditional update, so only one of two simultaneous changes can find the expected version. */
async function activate(db: HostDatabase, name: string, sha256: string, expected: ExpectedActive): Promise<boolean> {
  let query = db.updateTable('solutions').set({ active_sha256: sha256, deleted_at: null }).where('name', '=', name)
  if (typeof expected === 'string') query = query.where('active_sha256', '=', expected).where('deleted_at', 'is', null)
  if (expected === null)
    query = query.where((where) => where.or([where('deleted_at', 'is not', null), where('active_sha256', 'is', null)]))
  return (await query.executeTakeFirst()).numUpdatedRows > 0n
}

function summaryOf(row: {
  name: string
  title: string | null
  type: string | null
  authenticator: string | null
  active_sha256: string | null
  version: string | null
  listed: number | null
}): SolutionSummary {
  return {
    name: row.name,
    title: row.title ?? row.name,
    type: row.type ?? 'solution',
    authenticator: row.authenticator ?? 'DEFAULT',
    active: row.version === null ? null : row.active_sha256,
    activeVersion: row.version,
    state: row.version === null ? 'inactive' : 'active',
    listed: row.listed === 1,
  }
}
