import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { solutionTarget, versionTarget } from '../../base/api/targets.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { createQueue } from '../../base/work/queue.ts'
import { unpackBundle } from '../../runtime/bundle/unpack-bundle.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../audit/audit.ts'
import { type ComparedVersion, compareVersions, type VersionDifference } from '../solutions/compare-versions.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Uploads } from '../solutions/upload.ts'
import { needScope } from './actor.ts'
import { audited } from './audited.ts'
import { findSolution } from './find-solution.ts'
import { DifferenceQuery, Sha256 } from './versions-openapi.ts'

export type VersionApiParts = {
  readonly store: SolutionStore
  readonly uploads: Uploads
  readonly audit: Audit
  readonly limits: Limits
}

/** The versions of a solution: what differs, the bundles themselves, and erasing old ones. */
export function addVersionRoutes(router: Router, { store, uploads, audit, limits }: VersionApiParts): void {
  const nameOf = (ctx: Context) => (ctx.params as { name: string }).name
  const sha256Of = (ctx: Context) => readWith(Sha256, (ctx.params as { sha256: string }).sha256)

  router.get('/solutions/:name/diff', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'read')
    const { name } = await findSolution(store, nameOf(ctx))
    const { from, to } = readWith(DifferenceQuery, { ...ctx.query })
    ctx.body = { from, to, ...(await differenceOf(store, name, from, to, limits)) }
  })

  router.get('/solutions/:name/versions/:sha256/bundle', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'read')
    const { name } = await findSolution(store, nameOf(ctx))
    const sha256 = sha256Of(ctx)
    const packed = await store.bundle(name, sha256)
    if (packed === null) throw versionNotFound(name, sha256)
    ctx.type = 'application/zip'
    ctx.attachment(`${name}-${sha256.slice(0, 12)}.zip`)
    ctx.body = Buffer.from(packed)
  })

  router.delete('/solutions/:name/versions/:sha256', async (ctx) => {
    const name = nameOf(ctx)
    await audited(
      ctx,
      audit,
      'solution-version-delete',
      { solution: name, target: solutionTarget(name) },
      async (named) => {
        needScope(ctx, `solutions:${name}`, 'write')
        const sha256 = sha256Of(ctx)
        named.target = versionTarget(sha256)
        await uploads.removeVersion(name, sha256)
      },
    )
    ctx.status = 204
  })
}

/** Of one solution one at a time: each holds two bundles unpacked, which a small request asks for. */
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
