import type { Context } from 'koa'
import { randomText } from '../program/random-text.ts'
import type { ClientSide } from './client.ts'
import type { CookieScope } from './cookies.ts'
import { requireFrameOfOurs, requireNavigation } from './fetch-metadata.ts'
import type { Site, Sites } from './sites.ts'

/** Request data that the first middleware steps determine. Later steps read it from `ctx.state`. */
export type RequestState = {
  correlationId: string
  client: ClientSide
  /** The requested site; null if the host name is unknown, or if the request was sent to the admin port. */
  site: Site | null
}

export function stateOf(ctx: Context): RequestState {
  return ctx.state as RequestState
}

/** The browser's User-Agent header, shortened; null if it sent none. It helps users recognise their own browsers. */
export function agentOf(ctx: Context): string | null {
  return ctx.get('User-Agent').slice(0, 200) || null
}

export function createNonce(): string {
  return randomText(18)
}

/** Returns the scope of a solution's cookies for the response to this request. */
export function cookieScope(ctx: Context, sites: Sites, solution: string): CookieScope {
  const secure = sites.originOf(solution, stateOf(ctx).client).startsWith('https:')
  return { realm: solution, secure, ownHost: !sites.shared }
}

export function sendHtml(ctx: Context, status: number, html: string | Buffer): void {
  requireNavigation(ctx)
  send(ctx, status, html)
}

/** Sends a page that one of our own pages shows in an iframe. Call `allowFramedPage` too. */
export function sendFramedHtml(ctx: Context, status: number, html: string): void {
  requireFrameOfOurs(ctx)
  send(ctx, status, html)
}

function send(ctx: Context, status: number, html: string | Buffer): void {
  ctx.status = status
  // Koa's `type` would look up the type's charset.
  ctx.res.setHeader('Content-Type', 'text/html; charset=utf-8')
  ctx.body = html
}
