import { DONE } from '../../base/api/route.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Member } from '../access/access.ts'
import { type MemberRoute, route } from '../access/route.ts'
import type { EnvironmentTokens, EnvironmentToken as StoredToken } from './environment-tokens.ts'
import type { Environment, Environments } from './environments.ts'

export type EnvironmentTokenApiParts = {
  readonly environments: Environments
  readonly environmentTokens: EnvironmentTokens
}

/** Maximum tokens per environment. */
const MOST_TOKENS = 50

const NewEnvironmentToken = z
  .strictObject({ name: z.string().trim().min(1).max(200) })
  .meta({ id: 'NewEnvironmentToken' })

const EnvironmentToken = z
  .object({
    id: z.string(),
    name: z.string(),
    createdAt: z.int(),
    lastUsedAt: z.int().nullable(),
    token: z.string().optional().describe('the token itself; only in the responses to POST'),
  })
  .meta({ id: 'EnvironmentToken' })

type OfEnvironment = { readonly who: Member; readonly params: { readonly environment: string } }
type OfToken = OfEnvironment & { readonly params: { readonly id: string } }

type Found = { readonly environment: Environment; readonly token: StoredToken }

/**
 * Routes for remote environment tokens. They require a separate permission, because anyone who has a token can act as
 * the environment's Satellite.
 */
export function environmentTokenRoutes(parts: EnvironmentTokenApiParts): MemberRoute[] {
  const { environments, environmentTokens } = parts

  function need({ who, params }: OfEnvironment): Promise<Environment> {
    return environments.need(who.organisation.id, params.environment)
  }

  async function needToken(asking: OfToken): Promise<Found> {
    const environment = await need(asking)
    const token = (await environmentTokens.list(environment.id)).find((one) => one.id === asking.params.id)
    if (token !== undefined) return { environment, token }
    throw new PlatformError(
      'ERR_NOT_FOUND',
      `The environment "${environment.name}" has no token with the id "${asking.params.id.slice(0, 100)}". It may have been revoked.`,
    )
  }

  function named({ params, found }: OfToken & { readonly found: Found }) {
    return { target: `${params.environment} ${found.token.name}` }
  }

  async function create({ id }: Environment, name: string) {
    if ((await environmentTokens.list(id)).length >= MOST_TOKENS) {
      throw new PlatformError(
        'ERR_REQUEST_INVALID',
        `An environment can have at most ${MOST_TOKENS} tokens. Revoke one first.`,
      )
    }
    return environmentTokens.create(id, name)
  }

  return [
    route(
      'GET /organisations/:organisation/environments/:environment/tokens',
      {
        summary: 'List the remote environment tokens',
        right: 'credentials',
        answers: { 200: z.object({ items: z.array(EnvironmentToken) }) },
      },
      async (asked) => ({ items: await environmentTokens.list((await need(asked)).id) }),
    ),
    route(
      'POST /organisations/:organisation/environments/:environment/tokens',
      {
        summary: 'Create a remote environment token, which is shown only once',
        right: 'credentials',
        act: 'environment-token-create',
        before: need,
        body: NewEnvironmentToken,
        answers: { 201: EnvironmentToken },
      },
      ({ found: environment, body, names }) => {
        names.target = `${environment.name} ${body.name}`
        return create(environment, body.name)
      },
    ),
    route(
      'POST /organisations/:organisation/environments/:environment/tokens/:id/rotate',
      {
        summary: 'Create a replacement token, which is shown only once; the old token works until you revoke it',
        right: 'credentials',
        act: 'environment-token-rotate',
        before: needToken,
        names: named,
        answers: { 201: EnvironmentToken },
      },
      ({ found: { environment, token } }) => create(environment, token.name),
    ),
    route(
      'DELETE /organisations/:organisation/environments/:environment/tokens/:id',
      {
        summary: 'Revoke a token immediately',
        right: 'credentials',
        act: 'environment-token-revoke',
        before: needToken,
        names: named,
        answers: DONE,
      },
      ({ found: { environment, token } }) => environmentTokens.remove(environment.id, token.id),
    ),
  ]
}
