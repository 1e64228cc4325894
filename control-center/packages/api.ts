import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { type Bytes, DONE } from '../../base/api/route.ts'
import { explainUpload } from '../../base/bundles/explain-findings.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { Sha256 } from '../../base/protocol/protocol.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import type { Member } from '../access/access.ts'
import { type MemberRoute, type Names, route } from '../access/route.ts'
import { BuildStamp } from './build-stamp.ts'
import type { BundleChecks } from './bundle-checks.ts'
import { type Packages, packageNameOf } from './packages.ts'

export type PackageApiParts = {
  readonly packages: Packages
  readonly bundleChecks: Pick<BundleChecks, 'needRoom' | 'nameOf'>
  readonly limits: Limits
}

const PackageVersion = z.object({
  sha256: z.string(),
  version: z.string(),
  title: z.string(),
  authenticator: z.string(),
  bytes: z.int(),
  stamp: BuildStamp.nullable().describe('build information from the last pipeline run'),
  uploadedAt: z.int(),
  uploadedBy: z.string(),
})

const PackageSummary = z.object({ name: z.string(), newest: PackageVersion.nullable() }).meta({ id: 'PackageSummary' })
const Package = z
  .object({ name: z.string(), versions: z.array(PackageVersion).describe('newest first') })
  .meta({ id: 'Package' })
const UploadedPackage = z
  .object({
    name: z.string(),
    version: z.string(),
    sha256: z.string(),
    warnings: z.array(z.looseObject({ message: z.string() })),
  })
  .meta({ id: 'UploadedPackage' })

const BUNDLE = { types: ['application/zip'], most: 'BUNDLE_SIZE' } as const satisfies Bytes
const UPLOADED = { 200: UploadedPackage, 201: UploadedPackage } as const

type Asked = { readonly who: Member; readonly body: Buffer; readonly names: Names; readonly ctx: Context }

export function packageRoutes({ packages, bundleChecks, limits }: PackageApiParts): MemberRoute[] {
  /** Rejects the request if there is not enough memory for its body. Call this before reading the body. */
  function needRoom({ ctx }: { readonly ctx: Context }): void {
    bundleChecks.needRoom(Math.min(ctx.request.length ?? limits.BUNDLE_SIZE, limits.BUNDLE_SIZE))
  }

  /** @param name null to use the name in the manifest */
  async function upload({ who, body, names, ctx }: Asked, name: string | null) {
    names.target = name ?? (await bundleChecks.nameOf(body))
    const keep = () => packages.upload(who.organisation.id, body, name, who.name)
    const done = await explainUpload(body, limits, keep)
    names.target = `${done.name} ${done.sha256.slice(0, 12)}`
    ctx.status = done.isNew ? 201 : 200
    ctx.set('Location', `/api/organisations/${who.organisation.name}/packages/${done.name}`)
    return done
  }

  return [
    route(
      'GET /organisations/:organisation/packages',
      {
        summary: 'List the packages, each with its newest version',
        right: 'read',
        answers: { 200: z.object({ items: z.array(PackageSummary) }) },
      },
      async ({ who }) => ({ items: await packages.list(who.organisation.id) }),
    ),
    route(
      'POST /organisations/:organisation/packages',
      {
        summary: 'Upload a bundle under the name in its manifest; returns 200 if the version already exists',
        right: 'packages',
        act: 'package-upload',
        before: needRoom,
        body: BUNDLE,
        answers: UPLOADED,
      },
      (asked) => upload(asked, null),
    ),
    route(
      'GET /organisations/:organisation/packages/:name',
      { summary: 'Get a package with its versions', right: 'read', answers: { 200: Package } },
      ({ who, params }) => packages.need(who.organisation.id, packageNameOf(params)),
    ),
    route(
      'PUT /organisations/:organisation/packages/:name',
      {
        summary: 'Upload a bundle of this package; returns 200 if the version already exists',
        right: 'packages',
        act: 'package-upload',
        before: needRoom,
        body: BUNDLE,
        answers: UPLOADED,
      },
      (asked) => upload(asked, packageNameOf(asked.params)),
    ),
    route(
      'GET /organisations/:organisation/packages/:name/versions/:sha256/bundle',
      {
        summary: 'Download the bundle as it was uploaded',
        right: 'read',
        answers: { 200: { description: 'the zip', type: 'application/zip' } },
      },
      async ({ who, params, ctx }) => {
        const [name, sha256] = [packageNameOf(params), readWith(Sha256, params.sha256)]
        const packed = await packages.bundle(who.organisation.id, name, sha256)
        if (packed === null) throw versionNotFound(name, sha256)
        ctx.type = 'application/zip'
        ctx.attachment(`${name}-${sha256.slice(0, 12)}.zip`)
        return Buffer.from(packed)
      },
    ),
    route(
      'DELETE /organisations/:organisation/packages/:name/versions/:sha256',
      {
        summary: 'Delete a version that is not in use',
        right: 'packages',
        act: 'package-version-delete',
        names: ({ params }) => ({
          target: `${packageNameOf(params)} ${readWith(Sha256, params.sha256).slice(0, 12)}`,
        }),
        answers: DONE,
      },
      ({ who, params }) => packages.removeVersion(who.organisation.id, packageNameOf(params), params.sha256),
    ),
  ]
}
