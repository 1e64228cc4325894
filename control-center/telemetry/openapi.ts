import { inPath, inQuery, json, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'
import { EnvironmentName } from '../environments/environments.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { LEVEL_NAMES, type Level } from './otlp/read-logs.ts'
import { RANGE_NAMES, type Range } from './ranges.ts'

const RangeName = z.enum(RANGE_NAMES as [Range, ...Range[]])
const LevelName = z.enum(LEVEL_NAMES as [Level, ...Level[]])
/** A select that was left at "all" sends ''. */
const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional())
const SolutionLabel = z.string().max(200)
const Time = z.coerce.number().int().min(0)

export const FiguresQuery = z.strictObject({
  range: RangeName.default('24h'),
  environment: optional(EnvironmentName),
  solution: optional(SolutionLabel),
})

export const LogQuery = z.strictObject({
  environment: optional(EnvironmentName),
  solution: optional(SolutionLabel),
  level: optional(LevelName),
  words: optional(z.string().max(500)),
  range: optional(RangeName),
  from: optional(Time),
  to: optional(Time),
  before: optional(z.coerce.number().int().min(1)),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
})
export type LogQuery = z.infer<typeof LogQuery>

export const TraceQuery = z.strictObject({
  range: RangeName.default('24h'),
  environment: optional(EnvironmentName),
  solution: optional(SolutionLabel),
  only: optional(z.enum(['slow', 'failed'])),
  limit: z.coerce.number().int().min(1).max(500).default(100),
})

const Figures = z.object({
  range: RangeName,
  times: z.array(z.int()).describe('beginnings of the slots, epoch ms'),
  charts: z.array(
    z.object({
      key: z.enum(['sessions', 'logins', 'scripts', 'memory', 'kills']),
      unit: z.enum(['count', 'ms', 'bytes']),
      lines: z.array(
        z.object({
          name: z.string(),
          values: z.array(z.number().nullable()).describe('of a gauge the highest of each slot'),
          last: z.number().nullable().describe('what a gauge was when it was told last'),
        }),
      ),
      isOfSolution: z.boolean().describe('false: it tells of all solutions together'),
    }),
  ),
  entries: z.array(
    z.object({
      entry: z.string(),
      count: z.number(),
      p50: z.number().nullable().describe('ms'),
      p95: z.number().nullable().describe('ms'),
      isSlow: z.boolean().describe('p95 is over 500 ms'),
    }),
  ),
  errors: z.array(
    z.object({
      environment: z.string(),
      solution: z.string(),
      file: z.string(),
      line: z.int(),
      count: z.int(),
      lastAt: z.int(),
      lastMessage: z.string(),
    }),
  ),
})

const LogLine = z.object({
  id: z.int(),
  time: z.int().describe('epoch ms'),
  level: LevelName,
  message: z.string(),
  environment: z.string(),
  solution: z.string().optional(),
  scope: z.string().optional(),
  code: z.string().optional(),
  file: z.string().optional(),
  line: z.int().optional(),
  correlationId: z.string().optional(),
  trace: z.string().optional(),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
})

const TracedRequest = z.object({
  trace: z.string(),
  environment: z.string(),
  name: z.string(),
  start: z.number().describe('epoch ms'),
  duration: z.number().describe('ms'),
  isFailed: z.boolean(),
})

const Trace = z.object({
  environment: z.string(),
  start: z.number().describe('epoch ms'),
  spans: z.array(z.looseObject({ name: z.string(), start: z.number(), duration: z.number(), isFailed: z.boolean() })),
})

const SCHEMAS = { Figures, LogLine, TracedRequest, Trace }

export const telemetrySchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const organisation = inPath('organisation')
const text = { type: 'string' }
const range = (initial?: Range) =>
  inQuery('range', { type: 'string', enum: RANGE_NAMES, ...(initial === undefined ? {} : { default: initial }) })
const environment = inQuery('environment', text, 'its name; all by default')
const solution = inQuery('solution', text, 'its name; all by default')

export const telemetryPaths = {
  [`${ORGANISATION}/analysis`]: {
    parameters: [organisation],
    get: {
      ...operation('Figures of what Satellites did', { 200: json(ref('Figures')) }),
      parameters: [range('24h'), environment, solution],
    },
  },
  [`${ORGANISATION}/analysis/page`]: {
    parameters: [organisation],
    get: {
      ...operation('The same as the parts of the page, for the page itself', {
        200: json({ type: 'object', required: ['html'], properties: { html: text } }),
      }),
      parameters: [range('24h'), environment, solution],
    },
  },
  [`${ORGANISATION}/logs`]: {
    parameters: [organisation],
    get: {
      ...operation(
        'The newest lines, the oldest of them first; with Accept: text/event-stream each new line as an event, from now on (10 ' +
          'at a time of one person or token, 50 of one environment; else 429)',
        { 200: json(list(ref('LogLine'))) },
      ),
      parameters: [
        environment,
        solution,
        inQuery('level', { type: 'string', enum: LEVEL_NAMES }, 'the lowest'),
        inQuery('words', text, 'all are in the line; with * at its end the start of a word'),
        range(),
        inQuery('from', { type: 'integer' }, 'epoch ms'),
        inQuery('to', { type: 'integer' }, 'epoch ms'),
        inQuery('before', { type: 'integer' }, 'the `next` of an earlier answer'),
        inQuery('limit', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
      ],
    },
  },
  [`${ORGANISATION}/logs/{id}`]: {
    parameters: [organisation, inPath('id')],
    get: operation('One line', { 200: json(ref('LogLine')) }),
  },
  [`${ORGANISATION}/traces`]: {
    parameters: [organisation],
    get: {
      ...operation('Requests that were traced', { 200: json(list(ref('TracedRequest'))) }),
      parameters: [
        range('24h'),
        environment,
        solution,
        inQuery('only', { type: 'string', enum: ['slow', 'failed'] }),
        inQuery('limit', { type: 'integer', minimum: 1, maximum: 500, default: 100 }),
      ],
    },
  },
  [`${ORGANISATION}/traces/{trace}`]: {
    parameters: [organisation, inPath('trace')],
    get: operation('One request with its parts', { 200: json(ref('Trace')) }),
  },
}
