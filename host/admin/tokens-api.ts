import type Router from '@koa/router'
import { readWith } from '../../base/api/read-with.ts'
import { tokenTarget } from '../../base/api/targets.ts'
import { readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../audit/audit.ts'
import { NewToken } from './access-openapi.ts'
import { needScope } from './actor.ts'
import type { ApiTokens } from './api-tokens.ts'
import { audited } from './audited.ts'

export type TokenApiParts = { readonly tokens: ApiTokens; readonly audit: Audit; readonly limits: Limits }

/** The API's tokens: a token makes no other, so that a leaked one ends when it is deleted. */
export function addTokenRoutes(router: Router, { tokens, audit, limits }: TokenApiParts): void {
  router.get('/tokens', async (ctx) => {
    needScope(ctx, null, 'read')
    ctx.body = { items: await tokens.list() }
  })

  router.post('/tokens', async (ctx) => {
    const made = await audited(ctx, audit, 'token-create', {}, async (named) => {
      needScope(ctx, null, 'write')
      const { name, scopes, expiresAt = null } = readWith(NewToken, await readJson(ctx, limits))
      if (expiresAt !== null && expiresAt <= Date.now()) {
        throw new PlatformError('ERR_REQUEST_INVALID', 'expiresAt must be in the future, in milliseconds since 1970.')
      }
      const token = await tokens.create({ name, scopes, expiresAt })
      named.target = tokenTarget(token)
      return token
    })
    ctx.status = 201
    ctx.set('Location', `/admin/api/tokens/${made.id}`)
    ctx.body = made
  })

  router.delete('/tokens/:id', async (ctx) => {
    const { id } = ctx.params as { id: string }
    await audited(ctx, audit, 'token-delete', { target: `token:${id}` }, async (named) => {
      needScope(ctx, null, 'write')
      const token = (await tokens.list()).find((one) => one.id === id)
      if (token !== undefined) named.target = tokenTarget(token)
      if (!(await tokens.remove(id))) throw new PlatformError('ERR_NOT_FOUND', 'There is no such token.')
    })
    ctx.status = 204
  })
}
