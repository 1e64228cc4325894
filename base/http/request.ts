import { randomBytes } from 'node:crypto'
import type { Context } from 'koa'
import type { ClientSide } from './client.ts'
import type { CookieScope } from './cookies.ts'
import { requireNavigation } from './fetch-metadata.ts'
import type { Site, Sites } from './sites.ts'

/** What the first steps find out about a request; later steps read it from `ctx.state`. */
export type RequestState = {
  correlationId: string
  client: ClientSide
  /** null: the request came under a host name of nobody, or to the admin port. */
  site: Site | null
}

export function stateOf(ctx: Context): RequestState {
  return ctx.state as RequestState
}

/** A fresh nonce for one page. */
export function createNonce(): string {
  return randomBytes(18).toString('base64url')
}

/** Where the cookies of a solution live, for this request. */
export function cookieScope(ctx: Context, sites: Sites, solution: string): CookieScope {
  const secure = sites.originOf(solution, stateOf(ctx).client).startsWith('https:')
  return { solution, secure, ownHost: !sites.shared }
}

export function sendHtml(ctx: Context, status: number, html: string): void {
  requireNavigation(ctx)
  ctx.status = status
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = html
}
