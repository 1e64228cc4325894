import type { Context } from 'koa'
import type { VersionDifference } from '../../base/bundles/compare-versions.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { mayDo } from '../access/roles.ts'
import type { PageRouter } from '../pages/page.ts'
import type { BundleChecks } from './bundle-checks.ts'
import type { PackageVersion } from './package-rows.ts'
import { type Packages, packageNameOf } from './packages.ts'

export type PackagePageParts = { readonly packages: Packages; readonly bundleChecks: Pick<BundleChecks, 'compare'> }

export function addPackagePages(pages: PageRouter, { packages, bundleChecks }: PackagePageParts): void {
  pages.ofOrganisation('/packages', 'read', async (_ctx, text, { organisation, role }) => ({
    template: 'packages',
    heading: text('center.part.packages'),
    part: 'packages',
    model: {
      base: `/o/${organisation.name}/packages`,
      api: `/api/organisations/${organisation.name}/packages`,
      items: await packages.list(organisation.id),
      mayChange: mayDo(role, 'packages'),
    },
  }))

  pages.ofOrganisation('/packages/:name', 'read', async (ctx, _text, { organisation, role }) => {
    const { name, versions } = await packages.need(organisation.id, packageNameOf(ctx.params))
    const frame = frameOf(organisation.name, name, versions[0]?.title ?? name, 'versions')
    const rollouts = mayDo(role, 'rollouts') ? `/o/${organisation.name}/rollouts` : null
    const model = { ...frame, versions, rollouts, mayChange: mayDo(role, 'packages') }
    return { template: 'package', heading: frame.title, part: 'packages', model }
  })

  pages.ofOrganisation('/packages/:name/compare', 'read', async (ctx, text, { organisation }) => {
    const { name, versions } = await packages.need(organisation.id, packageNameOf(ctx.params))
    const frame = frameOf(organisation.name, name, versions[0]?.title ?? name, null)
    const [from, to] = chosenVersions(ctx, versions)
    const model = { ...frame, versions, from, to, difference: await differenceOf(organisation.id, name, from, to) }
    return { template: 'package-compare', heading: text('admin.diff.title'), part: 'packages', model }
  })

  /** @throws ERR_VERSION_NOT_FOUND, and the errors of `BundleChecks.compare` */
  async function differenceOf(
    organisation: string,
    name: string,
    from: string,
    to: string,
  ): Promise<VersionDifference | null> {
    if (from === '' || to === '') return null
    const read = (sha256: string) => async () => {
      const packed = await packages.bundle(organisation, name, sha256)
      if (packed === null) throw versionNotFound(name, sha256)
      return packed
    }
    return bundleChecks.compare(read(from), read(to), true)
  }
}

/** The heading, links and tabs that all of a package's pages share. */
export function frameOf(organisation: string, name: string, title: string, tab: 'versions' | 'artifacts' | null) {
  const list = `/o/${organisation}/packages`
  return { list, base: `${list}/${name}`, api: `/api/organisations/${organisation}/packages/${name}`, name, title, tab }
}

/** The two versions to compare, as in the URL. The defaults are the newest version and the one before it. */
function chosenVersions({ query }: Context, versions: readonly PackageVersion[]): readonly [from: string, to: string] {
  const named = (value: string | string[] | undefined) => (typeof value === 'string' ? value : undefined)
  return [named(query.from) ?? versions[1]?.sha256 ?? '', named(query.to) ?? versions[0]?.sha256 ?? '']
}
