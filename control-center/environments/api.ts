import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { DONE } from '../../base/api/route.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type MemberRoute, route } from '../access/route.ts'
import { ENVIRONMENT_TYPES, EnvironmentName, type Environments } from './environments.ts'
import type { EnvironmentStates } from './states.ts'

export type EnvironmentApiParts = {
  readonly environments: Environments
  readonly environmentStates: EnvironmentStates
}

/** Maximum solutions per environment. A desired state can't contain more. */
const MOST_SOLUTIONS = 200

const NewEnvironment = z
  .strictObject({ name: EnvironmentName, type: z.enum(ENVIRONMENT_TYPES) })
  .meta({ id: 'NewEnvironment' })

const State = z.object({
  isConnected: z.boolean().describe('whether a Satellite sent a request in the last 2 minutes'),
  lastSeenAt: z.int(),
  version: z.string().nullable(),
  health: z.object({ health: z.enum(['good', 'warning', 'bad']), findings: z.array(z.string()) }).nullable(),
})

const Environment = z
  .object({
    name: z.string(),
    type: z.enum(ENVIRONMENT_TYPES),
    createdAt: z.int(),
    state: State.nullable().describe('the state of its Satellites; null if no Satellite has ever connected'),
  })
  .meta({ id: 'Environment' })

const EnvironmentDetails = Environment.extend({
  solutions: z
    .array(z.string())
    .describe('solutions to which the environment’s tokens can sign users in, and whose login page they can read'),
}).meta({ id: 'EnvironmentDetails' })

const ConfirmQuery = z.object({
  confirm: z.string().optional().describe('the environment’s name, to confirm the deletion; required'),
})

export function environmentRoutes({ environments, environmentStates }: EnvironmentApiParts): MemberRoute[] {
  return [
    route(
      'GET /organisations/:organisation/environments',
      {
        summary: 'List the environments',
        right: 'read',
        answers: { 200: z.object({ items: z.array(Environment) }) },
      },
      async ({ who: { organisation } }) => {
        const states = await environmentStates.ofOrganisation(organisation.id)
        const items = await environments.list(organisation.id)
        return { items: items.map((one) => ({ ...one, state: states.get(one.id) ?? null })) }
      },
    ),
    route(
      'POST /organisations/:organisation/environments',
      {
        summary: 'Create an environment',
        right: 'environments',
        act: 'environment-create',
        body: NewEnvironment,
        answers: { 201: Environment },
      },
      async ({ who: { organisation }, body, names, ctx }) => {
        names.target = body.name
        const environment = await environments.create(organisation.id, body)
        ctx.set('Location', `/api/organisations/${organisation.name}/environments/${environment.name}`)
        return { ...environment, state: null }
      },
    ),
    route(
      'GET /organisations/:organisation/environments/:environment',
      { summary: 'Get an environment', right: 'read', answers: { 200: EnvironmentDetails } },
      async ({ who: { organisation }, params }) => {
        const environment = await environments.need(organisation.id, params.environment)
        const state = await environmentStates.find(environment.id)
        return { ...environment, state, solutions: await environments.solutions(environment.id) }
      },
    ),
    route(
      'DELETE /organisations/:organisation/environments/:environment',
      {
        summary: 'Delete an environment, its tokens and all its data',
        right: 'environments',
        act: 'environment-delete',
        names: ({ params }) => ({ target: params.environment }),
        query: ConfirmQuery,
        answers: DONE,
      },
      async ({ who: { organisation }, params: { environment: name }, query }) => {
        await environments.need(organisation.id, name)
        if (query.confirm !== name) {
          throw new PlatformError(
            'ERR_REQUEST_INVALID',
            `The environment was not deleted. To confirm the deletion, add this to the URL: ?confirm=${name}`,
          )
        }
        await environments.remove(organisation.id, name)
      },
    ),
    ...solutionRoutes(environments),
  ]
}

/** Routes for managing the solutions whose users may sign in through an environment's token. */
function solutionRoutes(environments: Environments): MemberRoute[] {
  return [
    route(
      'PUT /organisations/:organisation/environments/:environment/solutions/:solution',
      {
        summary: 'Allow an environment’s tokens to sign users in to a solution',
        right: 'environments',
        act: 'environment-solution-add',
        async before({ who, params }) {
          const environment = await environments.need(who.organisation.id, params.environment)
          readWith(SolutionName, params.solution)
          return environment
        },
        names: ({ params }) => ({ target: `${params.environment} ${params.solution}` }),
        answers: DONE,
      },
      async ({ found: { id }, params: { solution } }) => {
        const others = (await environments.solutions(id)).filter((other) => other !== solution)
        if (others.length >= MOST_SOLUTIONS) {
          throw new PlatformError(
            'ERR_REQUEST_INVALID',
            `An environment can have at most ${MOST_SOLUTIONS} solutions. Remove one first.`,
          )
        }
        await environments.addSolution(id, solution)
      },
    ),
    route(
      'DELETE /organisations/:organisation/environments/:environment/solutions/:solution',
      {
        summary: 'Stop an environment’s tokens from signing users in to a solution',
        right: 'environments',
        act: 'environment-solution-remove',
        before: ({ who, params }) => environments.need(who.organisation.id, params.environment),
        names: ({ params }) => ({ target: `${params.environment} ${params.solution}` }),
        answers: DONE,
      },
      async ({ found: { id, name }, params: { solution } }) => {
        if (await environments.removeSolution(id, solution)) return
        throw new PlatformError(
          'ERR_NOT_FOUND',
          `The environment "${name}" has no solution "${solution}". It may have been removed.`,
        )
      },
    ),
  ]
}

export function environmentIn(ctx: Context): string {
  return String((ctx.params as { environment?: unknown }).environment ?? '').slice(0, 100)
}
