import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { explainUpload } from '../../base/bundles/explain-findings.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { readBytes } from '../../base/http/read-body.ts'
import { Sha256 } from '../../base/protocol/protocol.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import type { BundleChecks } from './bundle-checks.ts'
import { type Packages, packageNameOf } from './packages.ts'

export type PackageApiParts = {
  readonly access: Access
  readonly packages: Packages
  readonly bundleChecks: Pick<BundleChecks, 'needRoom' | 'nameOf'>
  readonly activity: Activity
  readonly limits: Limits
}

export function addPackageRoutes(router: Router, parts: PackageApiParts): void {
  const { access, packages, bundleChecks, activity, limits } = parts
  const all = '/organisations/:organisation/packages'
  const one = `${all}/:name`
  const sha256Of = (ctx: Context) => readWith(Sha256, (ctx.params as { sha256?: string }).sha256)

  /** @param name null: the one in the manifest */
  async function upload(ctx: Context, name: string | null): Promise<void> {
    const member = await access.need(ctx, 'packages')
    // Before its body is taken in.
    bundleChecks.needRoom(Math.min(ctx.request.length ?? limits.BUNDLE_SIZE, limits.BUNDLE_SIZE))
    const packed = await readBytes(ctx, ['application/zip'], limits.BUNDLE_SIZE)
    const act = { action: 'package-upload', subject: name ?? (await bundleChecks.nameOf(packed)) }
    async function keep() {
      const done = await packages.upload(member.organisation.id, packed, name, member.name)
      act.subject = `${done.name} ${done.sha256.slice(0, 12)}`
      return done
    }
    const { isNew, ...uploaded } = await explainUpload(packed, limits, () => recorded(ctx, activity, member, act, keep))
    ctx.status = isNew ? 201 : 200
    ctx.set('Location', `/api/organisations/${member.organisation.name}/packages/${uploaded.name}`)
    ctx.body = uploaded
  }

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    ctx.body = { items: await packages.list(organisation.id) }
  })

  router.post(all, (ctx) => upload(ctx, null))

  router.get(one, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    ctx.body = await packages.need(organisation.id, packageNameOf(ctx.params))
  })

  router.put(one, (ctx) => upload(ctx, packageNameOf(ctx.params)))

  router.get(`${one}/versions/:sha256/bundle`, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const [name, sha256] = [packageNameOf(ctx.params), sha256Of(ctx)]
    const packed = await packages.bundle(organisation.id, name, sha256)
    if (packed === null) throw versionNotFound(name, sha256)
    ctx.type = 'application/zip'
    ctx.attachment(`${name}-${sha256.slice(0, 12)}.zip`)
    ctx.body = Buffer.from(packed)
  })

  router.delete(`${one}/versions/:sha256`, async (ctx) => {
    const member = await access.need(ctx, 'packages')
    const [name, sha256] = [packageNameOf(ctx.params), sha256Of(ctx)]
    const act = { action: 'package-version-delete', subject: `${name} ${sha256.slice(0, 12)}` }
    await recorded(ctx, activity, member, act, () => packages.removeVersion(member.organisation.id, name, sha256))
    ctx.status = 204
  })
}
