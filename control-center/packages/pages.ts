import type { Context } from 'koa'
import { mayDo } from '../access/roles.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Artifacts } from '../pipelines/artifacts.ts'
import type { InformationFinder } from '../pipelines/information-finder.ts'
import { dialogsOf, type ShownDialog } from '../pipelines/pages.ts'
import type { Pipelines } from '../pipelines/pipelines.ts'
import { type Packages, packageNameOf } from './packages.ts'

export type PackagePageParts = {
  readonly packages: Packages
  readonly artifacts: Artifacts
  readonly pipelines: Pipelines
  readonly dockerInformation: InformationFinder
}

export function addPackagePages(pages: PageRouter, parts: PackagePageParts): void {
  const { packages, artifacts, pipelines, dockerInformation } = parts

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

  pages.ofOrganisation('/packages/:name/artifacts', 'read', async (ctx, _text, { organisation, role }) => {
    const { name, versions } = await packages.need(organisation.id, packageNameOf(ctx.params))
    const frame = frameOf(organisation.name, name, versions[0]?.title ?? name, 'artifacts')
    const dialogs = await dialogsOfPackage(ctx, organisation.id, name)
    const model = {
      ...frame,
      artifacts: await artifacts.list(organisation.id, name),
      dialogs,
      hasDialog: dialogs.map(({ pipeline }) => pipeline),
      mayChange: mayDo(role, 'pipelines'),
    }
    return { template: 'package-artifacts', heading: frame.title, part: 'packages', model }
  })

  async function dialogsOfPackage(ctx: Context, organisation: string, name: string): Promise<readonly ShownDialog[]> {
    const all = await pipelines.list(organisation)
    const own = all.filter((pipeline) => pipeline.package === name)
    return dialogsOf(ctx, own, dockerInformation)
  }
}

/** What the pages of a package have above. */
function frameOf(organisation: string, name: string, title: string, tab: 'versions' | 'artifacts') {
  const list = `/o/${organisation}/packages`
  return { list, base: `${list}/${name}`, api: `/api/organisations/${organisation}/packages/${name}`, name, title, tab }
}
