import { inPath, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { Sha256, SolutionName } from '../../base/protocol/protocol.ts'
import { z } from '../../runtime/zod.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { BuildStamp, GivenStamp } from '../packages/build-stamp.ts'
import { BaseImage, RepositoryName } from './image-names.ts'
import { PipelineName } from './pipelines.ts'
import { RUN_STATES, RUN_STEPS, Step } from './run-states.ts'

export const PipelineChange = z.strictObject({
  registry: z.string().min(1).max(100).describe('the id of a registry of the organisation'),
  repository: RepositoryName.describe('<docker-repo-name>'),
  baseImage: BaseImage.describe('the image of a host that the solution is baked into'),
})

export const NewPipeline = z.strictObject({
  name: PipelineName.describe('part of addresses; it never changes'),
  package: SolutionName.describe('the package’s name'),
  ...PipelineChange.shape,
})

export const NewRun = z.strictObject({
  sha256: Sha256.optional().describe('the version to run it for; absent: the one that was uploaded last'),
  ...GivenStamp.shape,
})

const Pipeline = z.object({
  name: z.string(),
  package: z.string(),
  registry: z.string(),
  repository: z.string(),
  baseImage: z.string(),
  createdAt: z.int(),
})

const PipelineRegistry = z.object({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  region: z.string(),
  namespace: z.string(),
})

const Run = z.object({
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

const RunLine = z.object({ number: z.int(), time: z.int(), step: z.enum(RUN_STEPS), text: z.string() })

const Commands = z.object({
  configFile: z.string(),
  logIn: z.string(),
  pull: z.string(),
  folder: z.string().describe('creates the folder that `run` mounts'),
  run: z.string(),
})
const DockerInformation = z.object({
  registryHost: z.string(),
  namespaceName: z.string(),
  regionName: z.string(),
  dockerRepoName: z.string(),
  image: z.string(),
  isElastic: z.boolean(),
  config: z.string().nullable().describe('content of config.json of the container runtime; null: it needs no entry'),
  commands: z.object({ unix: Commands, windows: Commands }),
})

const Artifact = z.object({
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

const SCHEMAS = {
  ...{ Pipeline, NewPipeline, PipelineChange, PipelineRegistry, DockerInformation },
  ...{ PipelineRun: Run, NewPipelineRun: NewRun, PipelineRunLine: RunLine, Artifact },
}

export const pipelineSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const organisation = inPath('organisation')
const one = [organisation, inPath('pipeline')]
const run = [...one, inPath('number')]
const artifact = [organisation, inPath('name'), inPath('artifact')]
const PIPELINE = `${ORGANISATION}/pipelines/{pipeline}`
const ARTIFACTS = `${ORGANISATION}/packages/{name}/artifacts`

export const pipelinePaths = {
  [`${ORGANISATION}/pipeline-registries`]: {
    parameters: [organisation],
    get: operation('Registries that a pipeline can push to', { 200: json(list(ref('PipelineRegistry'))) }),
  },
  [`${ORGANISATION}/pipelines`]: {
    parameters: [organisation],
    get: operation('The pipelines', { 200: json(list(ref('Pipeline'))) }),
    post: { ...operation('Make one', { 201: json(ref('Pipeline')) }), requestBody: jsonBody(ref('NewPipeline')) },
  },
  [PIPELINE]: {
    parameters: one,
    get: operation('One of them', { 200: json(ref('Pipeline')) }),
    put: { ...operation('Change it', { 200: json(ref('Pipeline')) }), requestBody: jsonBody(ref('PipelineChange')) },
    delete: operation('Delete it with its runs; artifacts stay', { 204: { description: 'deleted' } }),
  },
  [`${PIPELINE}/docker-information`]: {
    parameters: one,
    get: operation('How its image is deployed', { 200: json(ref('DockerInformation')) }),
  },
  [`${PIPELINE}/runs`]: {
    parameters: one,
    get: operation('Its runs, newest first', { 200: json(list(ref('PipelineRun'))) }),
    post: {
      ...operation('Run it for a version', { 201: json(ref('PipelineRun')) }),
      requestBody: jsonBody(ref('NewPipelineRun')),
    },
  },
  [`${PIPELINE}/runs/{number}`]: {
    parameters: run,
    get: operation('One of them', { 200: json(ref('PipelineRun')) }),
  },
  [`${PIPELINE}/runs/{number}/cancel`]: {
    parameters: run,
    post: operation('End one that goes on', { 200: json(ref('PipelineRun')) }),
  },
  [`${PIPELINE}/runs/{number}/log`]: {
    parameters: run,
    get: operation('Its log; as text/event-stream live: events with `{line}` or `{run}`, until the run ends', {
      200: {
        description: 'as it says',
        content: {
          'application/json': { schema: list(ref('PipelineRunLine')) },
          'text/event-stream': { schema: { type: 'string' } },
        },
      },
    }),
  },
  [ARTIFACTS]: {
    parameters: [organisation, inPath('name')],
    get: operation('What pipelines made of a package, newest first', { 200: json(list(ref('Artifact'))) }),
  },
  [`${ARTIFACTS}/{artifact}`]: {
    parameters: artifact,
    delete: operation('Delete one; an image stays in its registry', { 204: { description: 'deleted' } }),
  },
  [`${ARTIFACTS}/{artifact}/content`]: {
    parameters: artifact,
    get: operation('A build context', {
      200: { description: 'the zip', content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } } },
    }),
  },
}
