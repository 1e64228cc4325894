import { z } from '../../runtime/zod.ts'
import { EnvironmentName } from '../environments/environments.ts'
import { hasTooManyWords, MOST_SEARCHED } from './log-search/words.ts'
import { LEVEL_NAMES, type Level } from './otlp/read-logs.ts'
import { RANGE_NAMES, type Range } from './ranges.ts'

const RangeName = z.enum(RANGE_NAMES as [Range, ...Range[]])
const LevelName = z.enum(LEVEL_NAMES as [Level, ...Level[]])
/** If `<select>` is left at "all", the form sends ''. */
const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional())
const SolutionLabel = z.string().max(200)
const Time = z.coerce.number().int().min(0)

export const FiguresQuery = z.strictObject({
  range: RangeName.default('24h'),
  environment: optional(EnvironmentName).describe('name of an environment; default: all'),
  solution: optional(SolutionLabel).describe('name of a solution; default: all'),
})

export const LogQuery = z.strictObject({
  environment: optional(EnvironmentName).describe('name of an environment; default: all'),
  solution: optional(SolutionLabel).describe('name of a solution; default: all'),
  level: optional(LevelName).describe('only lines of this level or a more severe one'),
  words: optional(
    z
      .string()
      .max(500)
      .refine((text) => !hasTooManyWords(text), `must have at most ${MOST_SEARCHED} words`),
  ).describe(
    `at most ${MOST_SEARCHED} words, all of which must occur in the line; abc* matches every word that starts with abc`,
  ),
  range: optional(RangeName),
  from: optional(Time).describe('epoch ms'),
  to: optional(Time).describe('epoch ms'),
  before: optional(z.coerce.number().int().min(1)).describe('the value of `next` in the previous response'),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
})
export type LogQuery = z.infer<typeof LogQuery>

export const TraceQuery = z.strictObject({
  range: RangeName.default('24h'),
  environment: optional(EnvironmentName).describe('name of an environment; default: all'),
  solution: optional(SolutionLabel).describe('name of a solution; default: all'),
  only: optional(z.enum(['slow', 'failed'])),
  limit: z.coerce.number().int().min(1).max(500).default(100),
})

export const Figures = z
  .object({
    range: RangeName,
    times: z.array(z.int()).describe('start of each interval, in epoch ms'),
    charts: z.array(
      z.object({
        key: z.enum(['sessions', 'logins', 'scripts', 'memory', 'kills']),
        unit: z.enum(['count', 'ms', 'bytes']),
        lines: z.array(
          z.object({
            name: z.string(),
            values: z
              .array(z.number().nullable())
              .describe('one value per interval; for a gauge, its maximum in the interval'),
            last: z.number().nullable().describe('the last reported value of a gauge'),
          }),
        ),
        isOfSolution: z.boolean().describe('false if the chart covers all solutions together'),
      }),
    ),
    entries: z.array(
      z.object({
        entry: z.string(),
        count: z.number(),
        p50: z.number().nullable().describe('ms'),
        p95: z.number().nullable().describe('ms'),
        isSlow: z.boolean().describe('whether p95 is over 500 ms'),
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
  .meta({ id: 'Figures' })

export const LogLine = z
  .object({
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
  .meta({ id: 'LogLine' })

export const TracedRequest = z
  .object({
    trace: z.string(),
    environment: z.string(),
    name: z.string(),
    start: z.number().describe('epoch ms'),
    duration: z.number().describe('ms'),
    isFailed: z.boolean(),
  })
  .meta({ id: 'TracedRequest' })

export const Trace = z
  .object({
    environment: z.string(),
    start: z.number().describe('epoch ms'),
    spans: z.array(z.looseObject({ name: z.string(), start: z.number(), duration: z.number(), isFailed: z.boolean() })),
  })
  .meta({ id: 'Trace' })
