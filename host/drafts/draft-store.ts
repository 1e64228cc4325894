import { deletedAny } from '../../base/database/deleted-any.ts'
import { byteLength } from '../../base/database/portable.ts'
import { timeOrderedId } from '../../base/database/time-ordered-id.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import { contentEtag } from '../solutions/content-etag.ts'

export type Draft = {
  readonly id: string
  readonly solution: string
  /** The SHA-256 of the version that the draft changes; null for a new solution. */
  readonly base: string | null
  /** The creator: `admin` or `token:{id}`. */
  readonly owner: string
  /** Incremented with each change. */
  readonly revision: number
  readonly createdAt: number
  readonly changedAt: number
  readonly expiresAt: number
}

/** A file that differs from the draft's base. `etag` is null if the draft deletes the file. */
export type DraftEntry = { readonly etag: string | null; readonly bytes: number }
export type DraftEntries = ReadonlyMap<string, DraftEntry>

export type DraftChange = {
  /** The new base; undefined if it stays the same. */
  readonly base?: string | null | undefined
  /** New contents by path; null deletes the file. */
  readonly put?: ReadonlyMap<string, Uint8Array | null>
  /** Paths of files that no longer differ from the base. */
  readonly drop?: readonly string[]
}

/** Stores drafts. A draft consists of a base version and the files that differ from it. */
export interface DraftStore {
  /** @throws ERR_TOO_MANY_DRAFTS */
  create(
    draft: Pick<Draft, 'solution' | 'base' | 'owner'>,
    files: ReadonlyMap<string, Uint8Array | null>,
  ): Promise<Draft>
  /** Lists a solution's drafts, each with its number of changed files. The most recently changed draft is first. */
  list(solution: string): Promise<readonly (Draft & { readonly changedFiles: number })[]>
  /** @throws ERR_DRAFT_NOT_FOUND */
  need(solution: string, id: string): Promise<Draft>
  entries(id: string): Promise<DraftEntries>
  /** @returns the file's content in the draft; null if the draft doesn't change the file, or deletes it */
  content(id: string, path: string): Promise<Uint8Array | null>
  contents(id: string): Promise<ReadonlyMap<string, Uint8Array | null>>
  /**
   * Changes a draft. If two changes are made at the same time, even on different hosts, the second one builds on the
   * first.
   * @param decide returns the change, or null if there is nothing to change. `decide` is called again if the draft
   *   changes in the meantime
   * @throws ERR_DRAFT_NOT_FOUND, and the errors of `decide`
   */
  change(
    solution: string,
    id: string,
    decide: (draft: Draft, entries: DraftEntries) => DraftChange | null | Promise<DraftChange | null>,
  ): Promise<Draft>
  /** @throws ERR_DRAFT_NOT_FOUND */
  remove(solution: string, id: string): Promise<void>
  /** Removes drafts that nobody has changed for `DRAFT_KEPT`. */
  sweep(): Promise<void>
}

/** The etag that marks a file as deleted. No content has this etag. */
const DELETED = ''
/** Maximum attempts to write a change. An attempt fails only if someone else's change was written first. */
const MOST_ATTEMPTS = 20

export function createDraftStore(
  db: HostDatabase,
  limits: Pick<Limits, 'DRAFTS' | 'DRAFT_KEPT'>,
  now: () => number = Date.now,
): DraftStore {
  const draftsOf = (solution: string) =>
    db
      .selectFrom('drafts')
      .where('solution', '=', solution)
      .where('changed_at', '>', now() - limits.DRAFT_KEPT)

  const draftOf = (row: DraftRow): Draft => ({
    id: row.id,
    solution: row.solution,
    base: row.base_sha256,
    owner: row.owner,
    revision: Number(row.revision),
    createdAt: row.created_at,
    changedAt: row.changed_at,
    expiresAt: row.changed_at + limits.DRAFT_KEPT,
  })

  async function need(solution: string, id: string): Promise<Draft> {
    const row = await draftsOf(solution).where('id', '=', id).selectAll().executeTakeFirst()
    if (row === undefined) throw draftNotFound(solution, id)
    return draftOf(row)
  }

  async function entries(id: string): Promise<DraftEntries> {
    const rows = await db
      .selectFrom('draft_files')
      .select(['path', 'etag', byteLength(db, 'content').as('bytes')])
      .where('draft', '=', id)
      .execute()
    return new Map(
      rows.map(({ path, etag, bytes }) => [path, { etag: etag === DELETED ? null : etag, bytes: Number(bytes) }]),
    )
  }

  async function write(draft: Draft, { base, put = new Map(), drop = [] }: DraftChange): Promise<Draft | null> {
    const changed = { revision: draft.revision + 1, changed_at: now() }
    const isWritten = await db.transaction().execute(async (transaction) => {
      // Update this row first. The update locks the draft, so only one of two simultaneous changes succeeds.
      const { numUpdatedRows } = await transaction
        .updateTable('drafts')
        .set(base === undefined ? changed : { ...changed, base_sha256: base })
        .where('id', '=', draft.id)
        .where('revision', '=', draft.revision)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return false
      for (const path of [...drop, ...put.keys()])
        await transaction.deleteFrom('draft_files').where('draft', '=', draft.id).where('path', '=', path).execute()
      for (const row of rowsOf(draft.id, put)) await transaction.insertInto('draft_files').values(row).execute()
      return true
    })
    if (!isWritten) return null
    return {
      ...draft,
      base: base === undefined ? draft.base : base,
      revision: changed.revision,
      changedAt: changed.changed_at,
      expiresAt: changed.changed_at + limits.DRAFT_KEPT,
    }
  }

  return {
    async create({ solution, base, owner }, files) {
      const time = now()
      const row = { solution, base_sha256: base, owner, revision: 1, created_at: time, changed_at: time }
      const created = { id: timeOrderedId(time), ...row }
      await db.transaction().execute(async (transaction) => {
        await transaction.insertInto('drafts').values(created).execute()
        for (const file of rowsOf(created.id, files)) await transaction.insertInto('draft_files').values(file).execute()
      })
      // Count after inserting the draft, so that simultaneous requests can't exceed the limit.
      const there = await draftsOf(solution).select('id').execute()
      if (there.length <= limits.DRAFTS) return draftOf(created)
      await db.deleteFrom('drafts').where('id', '=', created.id).execute()
      throw new PlatformError(
        'ERR_TOO_MANY_DRAFTS',
        `"${solution}" already has ${limits.DRAFTS} drafts. Publish or discard one of them first.`,
        { limit: limits.DRAFTS },
      )
    },
    async list(solution) {
      const rows = await draftsOf(solution).selectAll().orderBy('changed_at', 'desc').execute()
      const counts = await db
        .selectFrom('draft_files')
        .innerJoin('drafts', 'drafts.id', 'draft_files.draft')
        .where('drafts.solution', '=', solution)
        .groupBy('draft')
        .select(({ fn }) => ['draft', fn.countAll().as('count')])
        .execute()
      const countOf = new Map(counts.map(({ draft, count }) => [draft, Number(count)]))
      return rows.map((row) => ({ ...draftOf(row), changedFiles: countOf.get(row.id) ?? 0 }))
    },
    need,
    entries,
    async content(id, path) {
      const row = await db
        .selectFrom('draft_files')
        .select(['etag', 'content'])
        .where('draft', '=', id)
        .where('path', '=', path)
        .executeTakeFirst()
      return row === undefined || row.etag === DELETED ? null : new Uint8Array(row.content)
    },
    async contents(id) {
      const rows = await db
        .selectFrom('draft_files')
        .select(['path', 'etag', 'content'])
        .where('draft', '=', id)
        .execute()
      return new Map(
        rows.map(({ path, etag, content }) => [path, etag === DELETED ? null : new Uint8Array(content)] as const),
      )
    },
    async change(solution, id, decide) {
      for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
        // Read the draft before its files. If a file changes in between, the draft has a new revision, so `write`
        // changes nothing.
        const draft = await need(solution, id)
        const change = await decide(draft, await entries(id))
        const changed = change === null ? draft : await write(draft, change)
        if (changed !== null) return changed
      }
      const message = 'Others kept changing this draft at the same time, so your change was not applied. Try again.'
      throw new PlatformError('ERR_CHANGED_MEANWHILE', message)
    },
    async remove(solution, id) {
      const draft = db.deleteFrom('drafts').where('id', '=', id).where('solution', '=', solution)
      if (!(await deletedAny(draft))) throw draftNotFound(solution, id)
    },
    async sweep() {
      await db
        .deleteFrom('drafts')
        .where('changed_at', '<=', now() - limits.DRAFT_KEPT)
        .execute()
    },
  }
}

type DraftRow = {
  readonly id: string
  readonly solution: string
  readonly base_sha256: string | null
  readonly owner: string
  readonly revision: number
  readonly created_at: number
  readonly changed_at: number
}

function rowsOf(draft: string, files: ReadonlyMap<string, Uint8Array | null>) {
  return [...files].map(([path, content]) => {
    return {
      draft,
      path,
      etag: content === null ? DELETED : contentEtag(content),
      content: content ?? new Uint8Array(),
    }
  })
}

function draftNotFound(solution: string, id: string): PlatformError {
  return new PlatformError(
    'ERR_DRAFT_NOT_FOUND',
    `The solution "${solution}" has no draft with the id ${id}. It may have been published or discarded.`,
    {
      solution,
      id,
    },
  )
}
