import type { WrittenEntry } from '../../base/api/journal.ts'
import { pageOf } from '../../base/api/open-api.ts'
import { DONE } from '../../base/api/route.ts'
import { tokenTarget } from '../../base/api/targets.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { ApiTokens } from './api-tokens.ts'
import type { Audit } from './audit.ts'
import { RoleName } from './roles.ts'
import { type MemberRoute, route } from './route.ts'

export type AccessApiParts = { readonly apiTokens: ApiTokens; readonly audit: Audit }

const NewApiToken = z
  .strictObject({
    name: z.string().trim().min(1).max(200),
    role: RoleName.exclude(['owner']).describe('the token’s role; tokens cannot have the role `owner`'),
    expiresAt: z
      .int()
      .min(0)
      .nullable()
      .default(null)
      .describe('when the token expires, in epoch ms; null if it never expires'),
  })
  .meta({ id: 'NewApiToken' })

export const AuditQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  before: z.coerce.number().int().min(1).optional().describe('the value of `next` in the previous response'),
  actor: z
    .string()
    .trim()
    .min(1)
    .max(250)
    .optional()
    .describe('the actor, such as `user:anna@example.org` or `token:{id}`'),
  action: z.string().trim().min(1).max(100).optional().describe('the action, such as `environment-create`'),
  outcome: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .describe('the outcome: `ok`, `refused`, `throttled` or an error code'),
})

const ApiToken = z
  .object({
    id: z.string(),
    name: z.string(),
    role: RoleName,
    createdAt: z.int(),
    expiresAt: z.int().nullable(),
    token: z.string().optional().describe('the token; returned only in the response that creates it'),
  })
  .meta({ id: 'ApiToken' })

const Act = z
  .object({
    id: z.int(),
    time: z.int(),
    actor: z.string(),
    action: z.string(),
    subject: z.string(),
    outcome: z.string(),
    address: z.string(),
    correlationId: z.string(),
  })
  .meta({ id: 'Act' })

/** Renames an audit entry's fields to the names used in the API and on the page. */
export function shownEntry({ target = '', correlationId = '', ...entry }: WrittenEntry) {
  return { ...entry, subject: target, correlationId }
}

export function accessRoutes({ apiTokens, audit }: AccessApiParts): MemberRoute[] {
  return [
    route(
      'GET /organisations/:organisation/access-tokens',
      {
        summary: 'List the organisation’s API tokens, which authenticate requests to this API',
        right: 'api-tokens',
        answers: { 200: z.object({ items: z.array(ApiToken) }) },
      },
      async ({ who }) => ({ items: await apiTokens.list(who.organisation.id) }),
    ),
    route(
      'POST /organisations/:organisation/access-tokens',
      {
        summary: 'Create an API token, which is shown only once',
        right: 'api-tokens',
        act: 'access-token-create',
        body: NewApiToken,
        answers: { 201: ApiToken },
      },
      async ({ who, body, names }) => {
        names.target = body.name
        const token = await apiTokens.create(who.organisation.id, body)
        names.target = tokenTarget(token)
        return token
      },
    ),
    route(
      'DELETE /organisations/:organisation/access-tokens/:id',
      {
        summary: 'Revoke an API token immediately',
        right: 'api-tokens',
        act: 'access-token-delete',
        answers: DONE,
      },
      async ({ who: { organisation }, params: { id }, names }) => {
        const token = (await apiTokens.list(organisation.id)).find((one) => one.id === id)
        names.target = token === undefined ? `token:${id}` : tokenTarget(token)
        if (await apiTokens.remove(organisation.id, id)) return
        throw new PlatformError(
          'ERR_NOT_FOUND',
          `There is no API token with the id "${id.slice(0, 100)}". It may have been deleted.`,
        )
      },
    ),
    route(
      'GET /organisations/:organisation/activity',
      {
        summary:
          'List audit entries, newest first. With a filter, a page can have fewer than `limit` entries even if another page follows',
        right: 'audit',
        query: AuditQuery,
        answers: { 200: pageOf(Act) },
      },
      async ({ who, query }) => {
        const { items, ...more } = await audit.read({ organisation: who.organisation.id, ...query })
        return { items: items.map(shownEntry), ...more }
      },
    ),
  ]
}
