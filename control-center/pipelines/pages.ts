import type { Context } from 'koa'
import { mayDo } from '../access/roles.ts'
import type { Packages } from '../packages/packages.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Registries } from '../registries/registries.ts'
import { type DockerInformation, SYSTEMS } from './docker-information.ts'
import type { InformationFinder } from './information-finder.ts'
import type { Pipeline, Pipelines } from './pipelines.ts'
import type { Run } from './run-rows.ts'
import { RUN_STEPS, STEP_STATES } from './run-states.ts'
import type { Runs } from './runs.ts'

export type PipelinePageParts = {
  readonly pipelines: Pipelines
  readonly runs: Runs
  readonly packages: Packages
  readonly registries: Registries
  readonly dockerInformation: InformationFinder
}

/** The data that the page needs for a Docker Information dialog. */
export type ShownDialog = {
  /** The pipeline's name. */
  readonly pipeline: string
  readonly package: string
  readonly information: DockerInformation
  readonly systems: typeof SYSTEMS
}

export function addPipelinePages(pages: PageRouter, parts: PipelinePageParts): void {
  const { pipelines, runs, packages, registries, dockerInformation } = parts

  pages.ofOrganisation('/pipelines', 'read', async (ctx, text, { organisation, role }) => {
    const { id, name } = organisation
    const [items, last, registered] = await Promise.all([pipelines.list(id), runs.last(id), registries.list(id)])
    const dialogs = await dialogsOf(ctx, items, dockerInformation)
    const places = new Map(registered.map((registry) => [registry.id, `${registry.host}/${registry.namespace}`]))
    return {
      template: 'pipelines',
      heading: text('center.part.pipelines'),
      part: 'pipelines',
      model: {
        base: `/o/${name}/pipelines`,
        packagesPath: `/o/${name}/packages`,
        credentialsPath: mayDo(role, 'credentials') ? `/o/${name}/credentials` : null,
        api: `/api/organisations/${name}/pipelines`,
        items: items.map((pipeline) => ({
          ...pipeline,
          place: places.get(pipeline.registry) ?? null,
          last: last.get(pipeline.id) ?? null,
        })),
        dialogs,
        packages: (await packages.list(id)).map((one) => one.name),
        registries: registered.map(({ id: value, name: title, host }) => ({ value, title: `${title} (${host})` })),
        mayChange: mayDo(role, 'pipelines'),
      },
    }
  })

  pages.ofOrganisation('/pipelines/:pipeline', 'read', async (ctx, _text, { organisation, role }) => {
    const { id, name } = organisation
    const pipeline = await pipelines.need(id, nameOf(ctx))
    const [found, registered, ran] = await Promise.all([
      packages.find(id, pipeline.package),
      registries.list(id),
      runs.list(pipeline.id),
    ])
    return {
      template: 'pipeline',
      heading: pipeline.name,
      part: 'pipelines',
      model: {
        list: `/o/${name}/pipelines`,
        base: `/o/${name}/pipelines/${pipeline.name}`,
        packagePath: `/o/${name}/packages/${pipeline.package}`,
        api: `/api/organisations/${name}/pipelines/${pipeline.name}`,
        pipeline,
        dialogs: await dialogsOf(ctx, [pipeline], dockerInformation),
        versions: found?.versions ?? [],
        registries: registered.map(({ id: value, name: title, host }) => ({ value, title: `${title} (${host})` })),
        runs: ran,
        mayChange: mayDo(role, 'pipelines'),
      },
    }
  })

  pages.ofOrganisation('/pipelines/:pipeline/runs/:number', 'read', async (ctx, text, { organisation, role }) => {
    const pipeline = await pipelines.need(organisation.id, nameOf(ctx))
    const { number = '' } = ctx.params as { number?: string }
    const run = await runs.need(pipeline.id, /^[1-9]\d{0,8}$/.test(number) ? Number(number) : 0)
    const base = `/o/${organisation.name}/pipelines/${pipeline.name}`
    return {
      template: 'pipeline-run',
      heading: text('center.run.title', run.number, pipeline.name),
      part: 'pipelines',
      model: {
        list: `/o/${organisation.name}/pipelines`,
        base,
        artifactsPath: `/o/${organisation.name}/packages/${pipeline.package}/artifacts`,
        api: `/api/organisations/${organisation.name}/pipelines/${pipeline.name}/runs/${run.number}`,
        pipeline,
        run,
        lines: await runs.log(run.id, 0),
        ended: endedSteps(run),
        stepNames: RUN_STEPS,
        stepStates: STEP_STATES,
        mayChange: mayDo(role, 'pipelines'),
      },
    }
  })
}

/** Creates dialogs for the pipelines whose registry still exists. */
export async function dialogsOf(
  ctx: Context,
  pipelines: readonly Pipeline[],
  find: InformationFinder,
): Promise<readonly ShownDialog[]> {
  const found = await Promise.all(
    pipelines.map(async (pipeline) => {
      const information = await find(ctx, pipeline)
      return information === null
        ? []
        : [{ pipeline: pipeline.name, package: pipeline.package, information, systems: SYSTEMS }]
    }),
  )
  return found.flat()
}

/** The number of steps that have ended. */
function endedSteps({ steps }: Run): number {
  return steps.filter(({ state }) => state !== 'waiting' && state !== 'running').length
}

function nameOf(ctx: Context): string {
  return String((ctx.params as { pipeline?: string }).pipeline ?? '').slice(0, 100)
}
