import type { Context } from 'koa'
import { mayDo } from '../access/roles.ts'
import { type Packages, packageNameOf } from '../packages/packages.ts'
import { frameOf } from '../packages/pages.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Artifacts } from './artifacts.ts'
import type { InformationFinder } from './information-finder.ts'
import { dialogsOf, type ShownDialog } from './pages.ts'
import type { Pipelines } from './pipelines.ts'

export type ArtifactPageParts = {
  readonly packages: Packages
  readonly artifacts: Artifacts
  readonly pipelines: Pipelines
  readonly dockerInformation: InformationFinder
}

export function addArtifactPage(pages: PageRouter, parts: ArtifactPageParts): void {
  const { packages, artifacts, pipelines, dockerInformation } = parts

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
