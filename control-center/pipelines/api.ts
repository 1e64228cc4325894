import { DONE, SENT } from '../../base/api/route.ts'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { wantsEvents } from '../../base/http/event-stream.ts'
import { createFollowers } from '../../base/http/followers.ts'
import { Sha256, SolutionName } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Access, Member } from '../access/access.ts'
import { type MemberRoute, route } from '../access/route.ts'
import { BuildStamp, GivenStamp } from '../packages/build-stamp.ts'
import { type Packages, packageNameOf } from '../packages/packages.ts'
import type { Registries } from '../registries/registries.ts'
import type { Artifacts } from './artifacts.ts'
import { BaseImage, RepositoryName } from './image-names.ts'
import type { InformationFinder } from './information-finder.ts'
import { PipelineName, type Pipelines } from './pipelines.ts'
import type { Run } from './run-rows.ts'
import { RUN_STATES, RUN_STEPS, Step } from './run-states.ts'
import { followRun } from './run-stream.ts'
import type { Runs } from './runs.ts'

export type PipelineApiParts = {
  readonly access: Access
  readonly packages: Packages
  readonly pipelines: Pipelines
  readonly runs: Runs
  readonly artifacts: Artifacts
  readonly registries: Registries
  readonly dockerInformation: InformationFinder
}

const PipelineChange = z
  .strictObject({
    registry: z.string().min(1).max(100).describe('the id of a registry in the organisation'),
    repository: RepositoryName.describe('<docker-repo-name>'),
    baseImage: BaseImage.describe('the base image: a host image that the solution is added to'),
  })
  .meta({ id: 'PipelineChange' })

const NewPipeline = z
  .strictObject({
    name: PipelineName.describe('the name, which is part of URLs and cannot be changed'),
    package: SolutionName.describe('the name of the package'),
    ...PipelineChange.shape,
  })
  .meta({ id: 'NewPipeline' })

const NewRun = z
  .strictObject({
    sha256: Sha256.optional().describe('the version to build; default: the last one uploaded'),
    ...GivenStamp.shape,
  })
  .meta({ id: 'NewPipelineRun' })

const PipelineAnswer = z
  .object({
    name: z.string(),
    package: z.string(),
    registry: z.string(),
    repository: z.string(),
    baseImage: z.string(),
    createdAt: z.int(),
  })
  .meta({ id: 'Pipeline' })

const PipelineRegistry = z
  .object({
    id: z.string(),
    name: z.string(),
    host: z.string(),
    region: z.string(),
    namespace: z.string(),
  })
  .meta({ id: 'PipelineRegistry' })

const RunAnswer = z
  .object({
    number: z.int(),
    sha256: z.string(),
    version: z.string(),
    state: z.enum(RUN_STATES),
    steps: z.array(Step),
    stamp: BuildStamp,
    startedAt: z.int(),
    endedAt: z.int().nullable(),
    startedBy: z.string(),
  })
  .meta({ id: 'PipelineRun' })

const RunLine = z
  .object({ number: z.int(), time: z.int(), step: z.enum(RUN_STEPS), text: z.string() })
  .meta({ id: 'PipelineRunLine' })

const Commands = z.object({
  configFile: z.string(),
  logIn: z.string(),
  pull: z.string(),
  folder: z.string().describe('command that creates the folder that `run` mounts'),
  run: z.string(),
})
const DockerAnswer = z
  .object({
    registryHost: z.string(),
    namespaceName: z.string(),
    regionName: z.string(),
    dockerRepoName: z.string(),
    image: z.string(),
    isElastic: z.boolean(),
    config: z
      .string()
      .nullable()
      .describe('content of the container runtime’s config.json; null if no entry is needed'),
    commands: z.object({ unix: Commands, windows: Commands }),
  })
  .meta({ id: 'DockerInformation' })

const ArtifactAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(['context', 'image']),
    name: z.string(),
    sha256: z.string(),
    version: z.string(),
    pipeline: z.string(),
    run: z.int(),
    bytes: z.int(),
    contentSha256: z.string().nullable(),
    reference: z.string().nullable(),
    digest: z.string().nullable(),
    createdAt: z.int(),
  })
  .meta({ id: 'Artifact' })

export function pipelineRoutes(parts: PipelineApiParts): MemberRoute[] {
  const { packages, pipelines, runs, registries, dockerInformation } = parts
  const named = ({ params }: { readonly params: { readonly pipeline: string } }) => ({ target: params.pipeline })

  async function needRegistry(organisation: string, id: string): Promise<void> {
    if ((await registries.find(organisation, id)) !== null) return
    throw new PlatformError(
      'ERR_REQUEST_INVALID',
      'The id in "registry" does not match any registry in this organisation. Use the id of an existing registry.',
    )
  }

  return [
    // Chosen here: anyone who can read pipelines can see which registries they use, but never the credentials.
    route(
      'GET /organisations/:organisation/pipeline-registries',
      {
        summary: 'List the registries that a pipeline can push to',
        right: 'read',
        answers: { 200: z.object({ items: z.array(PipelineRegistry) }) },
      },
      async ({ who }) => ({ items: await registries.list(who.organisation.id) }),
    ),
    route(
      'GET /organisations/:organisation/pipelines',
      { summary: 'List the pipelines', right: 'read', answers: { 200: z.object({ items: z.array(PipelineAnswer) }) } },
      async ({ who }) => ({ items: await pipelines.list(who.organisation.id) }),
    ),
    route(
      'POST /organisations/:organisation/pipelines',
      {
        summary: 'Create a pipeline',
        right: 'pipelines',
        act: 'pipeline-create',
        body: NewPipeline,
        answers: { 201: PipelineAnswer },
      },
      async ({ who: { organisation }, body, names, ctx }) => {
        names.target = body.name
        await packages.need(organisation.id, body.package)
        await needRegistry(organisation.id, body.registry)
        const pipeline = await pipelines.create(organisation.id, body)
        ctx.set('Location', `/api/organisations/${organisation.name}/pipelines/${pipeline.name}`)
        return pipeline
      },
    ),
    route(
      'GET /organisations/:organisation/pipelines/:pipeline',
      { summary: 'Get a pipeline', right: 'read', answers: { 200: PipelineAnswer } },
      ({ who, params }) => pipelines.need(who.organisation.id, params.pipeline),
    ),
    route(
      'PUT /organisations/:organisation/pipelines/:pipeline',
      {
        summary: 'Change a pipeline',
        right: 'pipelines',
        act: 'pipeline-change',
        names: named,
        body: PipelineChange,
        answers: { 200: PipelineAnswer },
      },
      async ({ who, params, body }) => {
        await needRegistry(who.organisation.id, body.registry)
        return pipelines.change(who.organisation.id, params.pipeline, body)
      },
    ),
    route(
      'DELETE /organisations/:organisation/pipelines/:pipeline',
      {
        summary: 'Delete a pipeline and its runs; artifacts are not deleted',
        right: 'pipelines',
        act: 'pipeline-delete',
        names: named,
        answers: DONE,
      },
      async ({ who: { organisation }, params }) => {
        const pipeline = await pipelines.need(organisation.id, params.pipeline)
        if (await runs.isGoingOn(pipeline.id)) {
          throw new PlatformError(
            'ERR_RUN_GOING_ON',
            `A run of "${pipeline.name}" is in progress. Wait until it ends, or cancel it.`,
          )
        }
        await pipelines.remove(organisation.id, pipeline.name)
      },
    ),
    route(
      'GET /organisations/:organisation/pipelines/:pipeline/docker-information',
      {
        summary: 'Get the commands that deploy a pipeline’s image',
        right: 'read',
        answers: { 200: DockerAnswer },
      },
      async ({ who, params, ctx }) => {
        const pipeline = await pipelines.need(who.organisation.id, params.pipeline)
        const information = await dockerInformation(ctx, pipeline)
        if (information !== null) return information
        throw new PlatformError('ERR_NOT_FOUND', 'The pipeline’s registry was deleted. Choose another one.')
      },
    ),
    ...runRoutes(parts),
    ...artifactRoutes(parts),
  ]
}

type OfRun = { readonly who: Member; readonly params: { readonly pipeline: string; readonly number: string } }

function runRoutes({ access, packages, pipelines, runs }: PipelineApiParts): MemberRoute[] {
  const followers = createFollowers()

  async function needRun({ who, params: { pipeline: name, number } }: OfRun): Promise<Run> {
    const pipeline = await pipelines.need(who.organisation.id, name)
    return runs.need(pipeline.id, /^[1-9]\d{0,8}$/.test(number) ? Number(number) : 0)
  }

  async function start({ organisation, name: by }: Member, name: string, wanted: z.infer<typeof NewRun>) {
    const { sha256, ...stamp } = wanted
    const pipeline = await pipelines.need(organisation.id, name)
    const newest = (await packages.need(organisation.id, pipeline.package)).versions[0]
    const version =
      sha256 === undefined ? newest : await packages.findVersion(organisation.id, pipeline.package, sha256)
    if (!version) throw versionNotFound(pipeline.package, sha256 ?? '')
    return runs.start(pipeline, version, stamp, by)
  }

  return [
    route(
      'GET /organisations/:organisation/pipelines/:pipeline/runs',
      {
        summary: 'List the runs, newest first',
        right: 'read',
        answers: { 200: z.object({ items: z.array(RunAnswer) }) },
      },
      async ({ who, params }) => {
        const { id } = await pipelines.need(who.organisation.id, params.pipeline)
        return { items: await runs.list(id) }
      },
    ),
    route(
      'POST /organisations/:organisation/pipelines/:pipeline/runs',
      {
        summary: 'Start a run for a version',
        right: 'pipelines',
        act: 'pipeline-run',
        names: ({ params }) => ({ target: params.pipeline }),
        body: NewRun,
        answers: { 201: RunAnswer },
      },
      async ({ who, params: { pipeline }, body, ctx }) => {
        const run = await start(who, pipeline, body)
        ctx.set('Location', `/api/organisations/${who.organisation.name}/pipelines/${pipeline}/runs/${run.number}`)
        return run
      },
    ),
    route(
      'GET /organisations/:organisation/pipelines/:pipeline/runs/:number',
      { summary: 'Get a run', right: 'read', answers: { 200: RunAnswer } },
      (asked) => needRun(asked),
    ),
    route(
      'GET /organisations/:organisation/pipelines/:pipeline/runs/:number/log',
      {
        summary:
          'Get a run’s log. With Accept: text/event-stream, new lines are sent as `{line}` events and changes to the run as `{run}` events. ' +
          'Each person or token can follow 10 runs, and each run can have 50 followers; further requests return 429',
        right: 'read',
        answers: { 200: z.object({ items: z.array(RunLine) }) },
      },
      async (asked) => {
        const run = await needRun(asked)
        if (!wantsEvents(asked.ctx)) return { items: await runs.log(run.id, 0) }
        await followRun(asked.ctx, run, asked.who.name, { runs, access, followers })
        return SENT
      },
    ),
    route(
      'POST /organisations/:organisation/pipelines/:pipeline/runs/:number/cancel',
      {
        summary: 'Cancel a run in progress',
        right: 'pipelines',
        act: 'pipeline-cancel',
        names: ({ params }) => ({ target: `${params.pipeline} ${params.number}` }),
        answers: { 200: RunAnswer },
      },
      async (asked) => {
        await runs.cancel(await needRun(asked))
        return needRun(asked)
      },
    ),
  ]
}

function artifactRoutes({ artifacts }: PipelineApiParts): MemberRoute[] {
  return [
    route(
      'GET /organisations/:organisation/packages/:name/artifacts',
      {
        summary: 'List the artifacts that pipelines created from a package, newest first',
        right: 'read',
        answers: { 200: z.object({ items: z.array(ArtifactAnswer) }) },
      },
      async ({ who, params }) => ({ items: await artifacts.list(who.organisation.id, packageNameOf(params)) }),
    ),
    route(
      'GET /organisations/:organisation/packages/:name/artifacts/:artifact/content',
      {
        summary: 'Download a build context',
        right: 'read',
        answers: { 200: { description: 'the zip', type: 'application/zip' } },
      },
      async ({ who, params, ctx }) => {
        const { name, bytes } = await artifacts.content(who.organisation.id, packageNameOf(params), params.artifact)
        ctx.type = 'application/zip'
        ctx.attachment(name)
        return Buffer.from(bytes)
      },
    ),
    route(
      'DELETE /organisations/:organisation/packages/:name/artifacts/:artifact',
      {
        summary: 'Delete an artifact. If it is an image, the image stays in its registry',
        right: 'pipelines',
        act: 'artifact-delete',
        async names({ who, params }) {
          const name = packageNameOf(params)
          const all = await artifacts.list(who.organisation.id, name)
          return { target: `${name} ${all.find((one) => one.id === params.artifact)?.name ?? params.artifact}` }
        },
        answers: DONE,
      },
      ({ who, params }) => artifacts.remove(who.organisation.id, packageNameOf(params), params.artifact),
    ),
  ]
}
