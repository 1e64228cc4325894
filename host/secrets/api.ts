import { readWith } from '../../base/api/read-with.ts'
import { DONE } from '../../base/api/route.ts'
import { secretTarget } from '../../base/api/targets.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { findSolution, namedSolution, type OfSolution } from '../solutions/find-solution.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { GrantedHosts } from './granted-host.ts'
import { SecretName, type Secrets } from './secrets.ts'
import { isText } from './storable-text.ts'

export type SecretApiParts = { readonly store: SolutionStore; readonly secrets: Secrets }

const SecretForm = z
  .strictObject({
    value: z.string().min(1).max(16_384).refine(isText, { error: 'must not contain a NUL character' }),
    hosts: GrantedHosts,
  })
  .meta({ id: 'SecretForm' })

const Secret = z.object({ name: z.string(), hosts: z.array(z.string()) }).meta({ id: 'Secret' })

/** Routes for a solution's secrets and the hosts that they may be sent to. */
export function secretRoutes({ store, secrets }: SecretApiParts): AdminRoute[] {
  const find = ({ params }: OfSolution) => findSolution(store, params.name)
  // Don't audit an invalid name: it may be the secret itself, entered in the wrong field.
  const secretNamed = ({ params }: { readonly params: { readonly name: string; readonly secret: string } }) =>
    SecretName.safeParse(params.secret).success
      ? { solution: params.name, target: secretTarget(params.secret) }
      : namedSolution({ params })

  return [
    route(
      'GET /solutions/:name/secrets',
      {
        summary: 'List the names of the secrets, and the hosts that they can be sent to',
        right: 'solutions:{name}:read',
        before: find,
        answers: { 200: z.object({ items: z.array(Secret) }) },
      },
      async ({ params: { name } }) => ({ items: await secrets.list(name) }),
    ),
    route(
      'PUT /solutions/:name/secrets/:secret',
      {
        summary: 'Set a secret; its value cannot be read again',
        right: 'solutions:{name}:write',
        act: 'solution-secret',
        names: secretNamed,
        async before({ params: { name, secret } }) {
          await findSolution(store, name)
          readWith(SecretName, secret)
        },
        body: SecretForm,
        answers: DONE,
      },
      ({ params: { name, secret }, body: { value, hosts } }) => secrets.put(name, secret, value, hosts),
    ),
    route(
      'DELETE /solutions/:name/secrets/:secret',
      {
        summary: 'Delete a secret',
        right: 'solutions:{name}:write',
        act: 'solution-secret',
        names: secretNamed,
        before: find,
        answers: DONE,
      },
      async ({ params: { name, secret } }) => {
        if (await secrets.remove(name, secret)) return
        throw new PlatformError(
          'ERR_NOT_FOUND',
          `The solution "${name}" has no secret "${secret.slice(0, 100)}". It may have been deleted.`,
        )
      },
    ),
  ]
}
