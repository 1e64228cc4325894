import { readWith } from '../../base/api/read-with.ts'
import { DONE } from '../../base/api/route.ts'
import { solutionTarget, versionTarget } from '../../base/api/targets.ts'
import { type ComparedVersion, compareVersions, type VersionDifference } from '../../base/bundles/compare-versions.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { unpackBundle } from '../../runtime/bundle/unpack-bundle.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { findSolution } from './find-solution.ts'
import { createQueue } from './queue.ts'
import type { SolutionStore } from './solution-store.ts'
import type { Uploads } from './upload.ts'

export type VersionApiParts = { readonly store: SolutionStore; readonly uploads: Uploads; readonly limits: Limits }

export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hexadecimal digits')

const DifferenceQuery = z.strictObject({ from: Sha256, to: Sha256 })

const Hunk = z.object({
  oldStart: z.int(),
  oldLines: z.int(),
  newStart: z.int(),
  newLines: z.int(),
  lines: z.array(z.string()).describe('each line starts with a space (unchanged), + (added) or - (removed)'),
})

export const Difference = z
  .object({
    from: Sha256,
    to: Sha256,
    files: z.array(
      z.object({
        file: z.string(),
        change: z.enum(['added', 'removed', 'changed']),
        fromBytes: z.int().nullable(),
        toBytes: z.int().nullable(),
        hunks: z
          .array(Hunk)
          .nullable()
          .describe('the changed lines; null if the file is not text or has too many lines to compare'),
        isTooMuch: z.boolean().describe('true if there were too many lines to compare them or to list them all'),
      }),
    ),
    moreFiles: z.int().describe('number of changed files that are not listed'),
    manifest: z
      .array(z.object({ key: z.string(), from: z.unknown(), to: z.unknown() }))
      .describe('changed manifest properties that control who can sign in and what scripts can access'),
  })
  .meta({ id: 'VersionDifference' })

/** API routes for a solution's versions: compare, download and erase them. */
export function versionRoutes({ store, uploads, limits }: VersionApiParts): AdminRoute[] {
  const find = ({ params }: { readonly params: { readonly name: string } }) => findSolution(store, params.name)

  return [
    route(
      'GET /solutions/:name/diff',
      {
        summary: 'Compare two versions: changed files, text lines and manifest properties',
        right: 'solutions:{name}:read',
        before: find,
        query: DifferenceQuery,
        answers: { 200: Difference },
      },
      async ({ params: { name }, query: { from, to } }) => ({
        from,
        to,
        ...(await differenceOf(store, name, from, to, limits)),
      }),
    ),
    route(
      'GET /solutions/:name/versions/:sha256/bundle',
      {
        summary: 'Download the bundle as it was uploaded',
        right: 'solutions:{name}:read',
        before: find,
        answers: { 200: { description: 'a zip with this SHA-256', type: 'application/zip' } },
      },
      async ({ params, ctx }) => {
        const sha256 = readWith(Sha256, params.sha256)
        const packed = await store.bundle(params.name, sha256)
        if (packed === null) throw versionNotFound(params.name, sha256)
        ctx.type = 'application/zip'
        ctx.attachment(`${params.name}-${sha256.slice(0, 12)}.zip`)
        return Buffer.from(packed)
      },
    ),
    route(
      'DELETE /solutions/:name/versions/:sha256',
      {
        summary: 'Erase a version that is not active',
        right: 'solutions:{name}:write',
        act: 'solution-version-delete',
        names: ({ params: { name } }) => ({ solution: name, target: solutionTarget(name) }),
        answers: DONE,
      },
      async ({ params, names }) => {
        const sha256 = readWith(Sha256, params.sha256)
        names.target = versionTarget(sha256)
        await uploads.removeVersion(params.name, sha256)
      },
    ),
  ]
}

/**
 * Only one comparison per solution runs at a time, because each keeps two unpacked bundles in memory. A small request
 * is enough to start one.
 */
const inTurn = createQueue()

/** @throws ERR_VERSION_NOT_FOUND */
export function differenceOf(
  store: Pick<SolutionStore, 'bundle' | 'prepared'>,
  name: string,
  from: string,
  to: string,
  limits: Limits,
): Promise<VersionDifference> {
  async function read(sha256: string): Promise<ComparedVersion> {
    const [packed, found] = await Promise.all([store.bundle(name, sha256), store.prepared(name, sha256)])
    if (packed === null || found === null) throw versionNotFound(name, sha256)
    return { manifest: found.prepared.manifest, files: await unpackBundle(packed, limits) }
  }
  return inTurn(name, async () => compareVersions(await read(from), await read(to)))
}
