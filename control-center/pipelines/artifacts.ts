import { hash, randomUUID } from 'node:crypto'
import { firstRows } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { Storage } from '../packages/storage.ts'

/**
 * The result of a run for a package version: a build context to download, or an image in a registry. Times are epoch
 * ms.
 */
export type Artifact = {
  readonly id: string
  readonly kind: 'context' | 'image'
  readonly name: string
  /** Hash of the version's bundle. */
  readonly sha256: string
  readonly version: string
  /** The pipeline's name; `run` is the run's number in that pipeline. */
  readonly pipeline: string
  readonly run: number
  /** Size of the context; 0 for an image. */
  readonly bytes: number
  /** Hash of the context; null for an image. */
  readonly contentSha256: string | null
  /** The image with its tag; null for a context. */
  readonly reference: string | null
  /** The image's digest in the registry (`sha256:…`); null for a context, or if the builder reported no digest. */
  readonly digest: string | null
  readonly createdAt: number
}

/** The run and version that an artifact belongs to. `organisation` is the organisation's id. */
export type ArtifactOrigin = Pick<Artifact, 'sha256' | 'version' | 'pipeline' | 'run'> & {
  readonly organisation: string
  readonly package: string
}

export interface Artifacts {
  /** @throws ERR_STORAGE_FULL */
  keepContext(origin: ArtifactOrigin, name: string, content: Uint8Array): Promise<void>
  noteImage(origin: ArtifactOrigin, reference: string, digest: string | null): Promise<void>
  /** @returns the package's artifacts, newest first, at most `MOST_LISTED` */
  list(organisation: string, name: string): Promise<readonly Artifact[]>
  /** Reads a build context. @throws ERR_NOT_FOUND, also for an image, because its content is in a registry */
  content(
    organisation: string,
    name: string,
    id: string,
  ): Promise<{ readonly name: string; readonly bytes: Uint8Array }>
  /** Deletes an artifact's row. An image itself stays in its registry. @throws ERR_NOT_FOUND */
  remove(organisation: string, name: string, id: string): Promise<void>
  /** The number of artifacts that were built from a version. `from` may be a transaction. */
  countOf(from: CenterDatabase, organisation: string, name: string, sha256: string): Promise<number>
}

const MOST_LISTED = 500

const COLUMNS = [
  ...(['id', 'kind', 'name', 'sha256', 'version', 'pipeline', 'run', 'bytes'] as const),
  ...(['content_sha256', 'reference', 'digest', 'created_at'] as const),
] as const

/** @param now returns the current time in epoch milliseconds */
export function createArtifacts(db: CenterDatabase, storage: Storage, now: () => number = Date.now): Artifacts {
  const of = (organisation: string, name: string, from = db) =>
    from.selectFrom('artifacts').where('organisation', '=', organisation).where('package', '=', name)
  const nothing = { content: null, content_sha256: null, reference: null, digest: null }

  return {
    async keepContext(origin, name, content) {
      await storage.needRoom(origin.organisation, content.length)
      const row = { ...origin, ...nothing, id: randomUUID(), kind: 'context', name, bytes: content.length }
      const kept = { content: Buffer.from(content), content_sha256: hash('sha256', content, 'hex') }
      await db
        .insertInto('artifacts')
        .values({ ...row, ...kept, created_at: now() })
        .execute()
    },
    async noteImage(origin, reference, digest) {
      const row = { ...origin, ...nothing, id: randomUUID(), kind: 'image', name: reference, bytes: 0 }
      await db
        .insertInto('artifacts')
        .values({ ...row, reference, digest, created_at: now() })
        .execute()
    },
    async list(organisation, name) {
      const query = of(organisation, name).select(COLUMNS).orderBy('created_at', 'desc').orderBy('id')
      const rows = await firstRows(db, query, MOST_LISTED).execute()
      return rows.map(({ kind, content_sha256, created_at, ...row }) => {
        return { ...row, kind: kind as Artifact['kind'], contentSha256: content_sha256, createdAt: created_at }
      })
    },
    async content(organisation, name, id) {
      const row = await of(organisation, name).select(['name', 'content']).where('id', '=', id).executeTakeFirst()
      if (row === undefined || row.content === null) throw noArtifact(id)
      return { name: row.name, bytes: new Uint8Array(row.content) }
    },
    async remove(organisation, name, id) {
      const { numDeletedRows } = await db
        .deleteFrom('artifacts')
        .where('organisation', '=', organisation)
        .where('package', '=', name)
        .where('id', '=', id)
        .executeTakeFirst()
      if (numDeletedRows === 0n) throw noArtifact(id)
    },
    async countOf(from, organisation, name, sha256) {
      const { count } = await of(organisation, name, from)
        .select(({ fn }) => fn.countAll().as('count'))
        .where('sha256', '=', sha256)
        .executeTakeFirstOrThrow()
      return Number(count)
    },
  }
}

function noArtifact(id: string): PlatformError {
  const text = `There is no artifact with the id "${id.slice(0, 100)}". It may have been deleted.`
  return new PlatformError('ERR_NOT_FOUND', text)
}
