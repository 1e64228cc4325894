import { inPath, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { z } from '../../runtime/zod.ts'
import { EnvironmentName } from '../environments/environments.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { PACES, ROLLOUT_STATES, STEP_STATES } from './rollouts.ts'

const VERSION = /^([a-z0-9-]{1,63})@([0-9a-f]{64})$/
export const DEFAULT_PATIENCE = 600

export const NewRollout = z.strictObject({
  version: z
    .string()
    .regex(VERSION, 'must be the package’s name, "@" and the SHA-256 of one of its versions')
    .describe('`{package}@{sha256}`'),
  environments: z
    .array(EnvironmentName)
    .min(1)
    .max(200)
    .refine((names) => new Set(names).size === names.length, 'must name no environment twice')
    .describe('in their order'),
  pace: z.enum(PACES).default('one-by-one').describe('all: at the same time'),
  patience: z.coerce
    .number()
    .int()
    .min(10)
    .max(86_400)
    .default(DEFAULT_PATIENCE)
    .describe('seconds within which an environment must answer'),
})

/** Of what `NewRollout` let through. */
export function versionOf(text: string): { readonly package: string; readonly sha256: string } {
  const [, name = '', sha256 = ''] = VERSION.exec(text) ?? []
  return { package: name, sha256 }
}

const Failure = z.object({
  code: z.enum(['refused', 'silent', 'changed', 'statement']),
  message: z.string(),
  faults: z.array(z.object({ message: z.string(), file: z.string().optional(), line: z.int().optional() })),
})

const Rollout = z.object({
  id: z.string(),
  package: SolutionName,
  sha256: z.string(),
  version: z.string(),
  state: z.enum(ROLLOUT_STATES),
  pace: z.enum(PACES),
  patience: z.int().describe('seconds'),
  createdAt: z.int().describe('epoch ms'),
  createdBy: z.string(),
  steps: z.array(
    z.object({
      environment: z.string(),
      state: z.enum(STEP_STATES),
      number: z.int().nullable().describe('of the desired state that it must answer'),
      startedAt: z.int().nullable(),
      endedAt: z.int().nullable(),
      before: z.string().nullable().describe('the version that it had before'),
      failure: Failure.nullable(),
    }),
  ),
})

const SCHEMAS = { Rollout, NewRollout }

export const rolloutSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const organisation = inPath('organisation')
const move = (summary: string) => ({
  parameters: [organisation, inPath('rollout')],
  post: operation(summary, { 200: json(ref('Rollout')) }),
})

export const rolloutPaths = {
  [`${ORGANISATION}/rollouts`]: {
    parameters: [organisation],
    get: operation('The rollouts, newest first', { 200: json(list(ref('Rollout'))) }),
    post: {
      ...operation('Bring a version of a package to several environments', { 201: json(ref('Rollout')) }),
      requestBody: jsonBody(ref('NewRollout')),
    },
  },
  [`${ORGANISATION}/rollouts/{rollout}`]: {
    parameters: [organisation, inPath('rollout')],
    get: operation('How it goes', { 200: json(ref('Rollout')) }),
  },
  [`${ORGANISATION}/rollouts/{rollout}/continue`]: move('After a halt: try the failed environments again, then go on'),
  [`${ORGANISATION}/rollouts/{rollout}/cancel`]: move('Change no further environment'),
  [`${ORGANISATION}/rollouts/{rollout}/roll-back`]: move('Give those that were changed back what they had'),
}
