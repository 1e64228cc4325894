import { mayDo } from '../access/roles.ts'
import type { PageRouter } from '../pages/page.ts'
import { type Packages, packageNameOf } from './packages.ts'

export type PackagePageParts = { readonly packages: Packages }

export function addPackagePages(pages: PageRouter, { packages }: PackagePageParts): void {
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
}

/** The heading, links and tabs shared by the pages of a package. */
export function frameOf(organisation: string, name: string, title: string, tab: 'versions' | 'artifacts') {
  const list = `/o/${organisation}/packages`
  return { list, base: `${list}/${name}`, api: `/api/organisations/${organisation}/packages/${name}`, name, title, tab }
}
