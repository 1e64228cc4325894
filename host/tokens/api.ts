import { DONE } from '../../base/api/route.ts'
import { tokenTarget } from '../../base/api/targets.ts'
import { Name, TenantValues } from '../../plugins/security/host.ts'
import { PermissionName } from '../../runtime/bundle/schema-parts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type ApiTokens, Scope } from '../access/api-tokens.ts'
import { type AdminRoute, route } from '../access/route.ts'

export type TokenApiParts = { readonly tokens: ApiTokens }

const EpochMs = z.int().min(0)

/** 90 days in ms, plus a minute: the page computes the expiry time before it sends the form. */
const LONGEST_ADMIN = 90 * 86_400_000 + 60_000

const NewApiToken = z
  .strictObject({
    name: Name,
    scopes: z
      .array(Scope)
      .min(1, 'must have at least one scope')
      .max(100)
      .overwrite((scopes) => [...new Set(scopes)]),
    expiresAt: EpochMs.nullish(),
    permissions: z
      .array(PermissionName)
      .max(1000)
      .overwrite((permissions) => [...new Set(permissions)])
      .optional(),
    tenant: TenantValues.nullish(),
  })
  .meta({ id: 'NewApiToken' })

const ApiToken = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.string()),
    expiresAt: EpochMs.nullable(),
    permissions: z.array(z.string()),
    tenant: z.array(z.union([z.string(), z.number()])).nullable(),
  })
  .meta({ id: 'ApiToken' })

const CreatedApiToken = ApiToken.extend({ token: z.string() }).meta({ id: 'CreatedApiToken' })

/** Routes for API tokens. A token can't create another token, so deleting a leaked token ends all access through it. */
export function tokenRoutes({ tokens }: TokenApiParts): AdminRoute[] {
  return [
    route(
      'GET /tokens',
      {
        summary: 'List the API tokens, without their secret values',
        right: 'account',
        answers: { 200: z.object({ items: z.array(ApiToken) }) },
      },
      async () => ({ items: await tokens.list() }),
    ),
    route(
      'POST /tokens',
      {
        summary: 'Create an API token. Only this response contains its secret value',
        right: 'account',
        act: 'token-create',
        body: NewApiToken,
        answers: { 201: CreatedApiToken },
      },
      async ({ body: { name, scopes, expiresAt = null, permissions = [], tenant = null }, names, ctx }) => {
        if (expiresAt !== null && expiresAt <= Date.now()) {
          throw new PlatformError('ERR_REQUEST_INVALID', 'expiresAt must be a future time in milliseconds since 1970.')
        }
        if (scopes.includes('admin') && (expiresAt === null || expiresAt > Date.now() + LONGEST_ADMIN)) {
          throw new PlatformError(
            'ERR_REQUEST_INVALID',
            'A token with the scope admin must expire within 90 days. Set expiresAt to a time within that period.',
          )
        }
        if ((permissions.length > 0 || tenant !== null) && !scopes.some((scope) => scope.endsWith(':call'))) {
          throw new PlatformError(
            'ERR_REQUEST_INVALID',
            'permissions and tenant apply only to endpoint calls. Add the scope solutions:{name}:call, or omit both properties.',
          )
        }
        const token = await tokens.create({ name, scopes, expiresAt, permissions, tenant })
        names.target = tokenTarget(token)
        ctx.set('Location', `/admin/api/tokens/${token.id}`)
        return token
      },
    ),
    route(
      'DELETE /tokens/:id',
      {
        summary: 'Delete an API token',
        right: 'account',
        act: 'token-delete',
        names: ({ params }) => ({ target: `token:${params.id}` }),
        answers: DONE,
      },
      async ({ params: { id }, names }) => {
        const token = (await tokens.list()).find((one) => one.id === id)
        if (token !== undefined) names.target = tokenTarget(token)
        if (await tokens.remove(id)) return
        throw new PlatformError('ERR_NOT_FOUND', `There is no API token with the id "${id.slice(0, 100)}".`)
      },
    ),
  ]
}
