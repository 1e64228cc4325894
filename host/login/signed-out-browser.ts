import type { Context } from 'koa'
import { type CookieScope, readCookie, setCookie } from '../../base/http/cookies.ts'

/** How long the browser's sign-out is recorded, in ms. Chosen here: sessions at large providers last for months. */
const NOTED_FOR = 365 * 86_400_000

/**
 * Records in the browser that its user signed out here. They may still be signed in at the provider. Without this
 * record, the provider would sign them in again without asking.
 */
export function noteSignedOut(ctx: Context, scope: CookieScope): void {
  setCookie(ctx, 'signed-out', scope, '1', NOTED_FOR)
}

/**
 * Whether the user has signed out here since their last successful sign-in. While this is true, the provider prompts
 * the user, even after an abandoned sign-in.
 */
export function wasSignedOut(ctx: Context, scope: CookieScope): boolean {
  return readCookie(ctx, 'signed-out', scope) !== undefined
}

export function forgetSignedOut(ctx: Context, scope: CookieScope): void {
  if (wasSignedOut(ctx, scope)) setCookie(ctx, 'signed-out', scope, null)
}
