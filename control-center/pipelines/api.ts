import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access, Member } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import { type Packages, packageNameOf } from '../packages/packages.ts'
import type { Registries } from '../registries/registries.ts'
import type { Artifacts } from './artifacts.ts'
import type { InformationFinder } from './information-finder.ts'
import { NewPipeline, NewRun, PipelineChange } from './openapi.ts'
import type { Pipeline, Pipelines } from './pipelines.ts'
import type { Run } from './run-rows.ts'
import { followRun } from './run-stream.ts'
import type { Runs } from './runs.ts'

export type PipelineApiParts = {
  readonly access: Access
  readonly activity: Activity
  readonly limits: Limits
  readonly packages: Packages
  readonly pipelines: Pipelines
  readonly runs: Runs
  readonly artifacts: Artifacts
  readonly registries: Registries
  readonly dockerInformation: InformationFinder
}

export function addPipelineRoutes(router: Router, parts: PipelineApiParts): void {
  const { access, activity, limits, packages, pipelines, runs, registries, dockerInformation } = parts
  const all = '/organisations/:organisation/pipelines'
  const one = `${all}/:pipeline`

  async function needRegistry(organisation: string, id: string): Promise<void> {
    if ((await registries.find(organisation, id)) !== null) return
    throw new PlatformError('ERR_REQUEST_INVALID', '"registry" must be the id of a registry of the organisation.')
  }

  // Chosen here: who reads pipelines sees where they push to; of the keys nothing is told.
  router.get('/organisations/:organisation/pipeline-registries', async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const items = await registries.list(organisation.id)
    ctx.body = { items: items.map(({ id, name, host, region, namespace }) => ({ id, name, host, region, namespace })) }
  })

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    ctx.body = { items: (await pipelines.list(organisation.id)).map(shown) }
  })

  router.post(all, async (ctx) => {
    const member = await access.need(ctx, 'pipelines')
    const wanted = readWith(NewPipeline, await readJson(ctx, limits))
    const { id } = member.organisation
    const act = { action: 'pipeline-create', subject: wanted.name }
    const pipeline = await recorded(ctx, activity, member, act, async () => {
      await packages.need(id, wanted.package)
      await needRegistry(id, wanted.registry)
      return pipelines.create(id, wanted)
    })
    ctx.status = 201
    ctx.set('Location', `/api/organisations/${member.organisation.name}/pipelines/${pipeline.name}`)
    ctx.body = shown(pipeline)
  })

  router.get(one, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    ctx.body = shown(await pipelines.need(organisation.id, nameOf(ctx)))
  })

  router.put(one, async (ctx) => {
    const member = await access.need(ctx, 'pipelines')
    const settings = readWith(PipelineChange, await readJson(ctx, limits))
    const { id } = member.organisation
    const act = { action: 'pipeline-change', subject: nameOf(ctx) }
    const pipeline = await recorded(ctx, activity, member, act, async () => {
      await needRegistry(id, settings.registry)
      return pipelines.change(id, nameOf(ctx), settings)
    })
    ctx.body = shown(pipeline)
  })

  router.delete(one, async (ctx) => {
    const member = await access.need(ctx, 'pipelines')
    const { id } = member.organisation
    await recorded(ctx, activity, member, { action: 'pipeline-delete', subject: nameOf(ctx) }, async () => {
      const pipeline = await pipelines.need(id, nameOf(ctx))
      if (await runs.isGoingOn(pipeline.id)) {
        throw new PlatformError('ERR_RUN_GOING_ON', `A run of "${pipeline.name}" goes on: wait for it, or cancel it.`)
      }
      await pipelines.remove(id, pipeline.name)
    })
    ctx.status = 204
  })

  router.get(`${one}/docker-information`, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const pipeline = await pipelines.need(organisation.id, nameOf(ctx))
    const information = await dockerInformation(ctx, pipeline)
    if (information !== null) ctx.body = information
    else throw new PlatformError('ERR_NOT_FOUND', 'The pipeline’s registry was deleted: choose another one.')
  })

  addRunRoutes(router, parts)
  addArtifactRoutes(router, parts)
}

function addRunRoutes(router: Router, parts: PipelineApiParts): void {
  const { access, activity, limits, packages, pipelines, runs } = parts
  const all = '/organisations/:organisation/pipelines/:pipeline/runs'
  const one = `${all}/:number`

  async function needRun(ctx: Context, { organisation }: Member): Promise<Run> {
    const pipeline = await pipelines.need(organisation.id, nameOf(ctx))
    const { number = '' } = ctx.params as { number?: string }
    return runs.need(pipeline.id, /^[1-9]\d{0,8}$/.test(number) ? Number(number) : 0)
  }

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const { id } = await pipelines.need(organisation.id, nameOf(ctx))
    ctx.body = { items: (await runs.list(id)).map(shownRun) }
  })

  router.post(all, async (ctx) => {
    const member = await access.need(ctx, 'pipelines')
    const { sha256, ...stamp } = readWith(NewRun, await readJson(ctx, limits))
    const { id } = member.organisation
    const act = { action: 'pipeline-run', subject: nameOf(ctx) }
    const run = await recorded(ctx, activity, member, act, async () => {
      const pipeline = await pipelines.need(id, nameOf(ctx))
      const newest = (await packages.need(id, pipeline.package)).versions[0]
      const version = sha256 === undefined ? newest : await packages.findVersion(id, pipeline.package, sha256)
      if (!version) throw versionNotFound(pipeline.package, sha256 ?? '')
      return runs.start(pipeline, version, stamp, member.name)
    })
    ctx.status = 201
    ctx.set('Location', `/api/organisations/${member.organisation.name}/pipelines/${nameOf(ctx)}/runs/${run.number}`)
    ctx.body = shownRun(run)
  })

  router.get(one, async (ctx) => {
    ctx.body = shownRun(await needRun(ctx, await access.need(ctx, 'read')))
  })

  router.get(`${one}/log`, async (ctx) => {
    const run = await needRun(ctx, await access.need(ctx, 'read'))
    const isStream = ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream'
    if (isStream) await followRun(ctx, run, runs, access)
    else ctx.body = { items: await runs.log(run.id, 0) }
  })

  router.post(`${one}/cancel`, async (ctx) => {
    const member = await access.need(ctx, 'pipelines')
    const { number = '' } = ctx.params as { number?: string }
    const act = { action: 'pipeline-cancel', subject: `${nameOf(ctx)} ${number}` }
    await recorded(ctx, activity, member, act, async () => runs.cancel(await needRun(ctx, member)))
    ctx.body = shownRun(await needRun(ctx, member))
  })
}

function addArtifactRoutes(router: Router, { access, activity, artifacts }: PipelineApiParts): void {
  const all = '/organisations/:organisation/packages/:name/artifacts'
  const idOf = (ctx: Context) => String((ctx.params as { artifact?: string }).artifact ?? '').slice(0, 100)

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    ctx.body = { items: await artifacts.list(organisation.id, packageNameOf(ctx.params)) }
  })

  router.get(`${all}/:artifact/content`, async (ctx) => {
    const { organisation } = await access.need(ctx, 'read')
    const { name, bytes } = await artifacts.content(organisation.id, packageNameOf(ctx.params), idOf(ctx))
    ctx.type = 'application/zip'
    ctx.attachment(name)
    ctx.body = Buffer.from(bytes)
  })

  router.delete(`${all}/:artifact`, async (ctx) => {
    const member = await access.need(ctx, 'pipelines')
    const name = packageNameOf(ctx.params)
    const id = idOf(ctx)
    const artifact = (await artifacts.list(member.organisation.id, name)).find((one) => one.id === id)
    const act = { action: 'artifact-delete', subject: `${name} ${artifact?.name ?? id}` }
    await recorded(ctx, activity, member, act, () => artifacts.remove(member.organisation.id, name, id))
    ctx.status = 204
  })
}

function nameOf(ctx: Context): string {
  return String((ctx.params as { pipeline?: string }).pipeline ?? '').slice(0, 100)
}

function shown({ name, package: of, registry, repository, baseImage, createdAt }: Pipeline) {
  return { name, package: of, registry, repository, baseImage, createdAt }
}

function shownRun({ id: _, ...run }: Run) {
  return run
}
