import type { Context } from 'koa'
import { type CookieScope, readCookie, setCookie } from '../../base/http/cookies.ts'

/** How long the sign-out stays recorded, in ms. Chosen here: sessions at large providers last for months. */
const NOTED_FOR = 365 * 86_400_000

/**
 * Records in the browser that its user signed out here but is still signed in at the provider. Otherwise the provider
 * would sign the same person in again without asking.
 */
export function noteSignedOut(ctx: Context, scope: CookieScope): void {
  setCookie(ctx, 'signed-out', scope, '1', NOTED_FOR)
}

/**
 * Whether the user signed out here since their last sign-in. Stays true until the next sign-in succeeds, so that the
 * provider also prompts after a sign-in that the user abandoned.
 */
export function wasSignedOut(ctx: Context, scope: CookieScope): boolean {
  return readCookie(ctx, 'signed-out', scope) !== undefined
}

export function forgetSignedOut(ctx: Context, scope: CookieScope): void {
  if (wasSignedOut(ctx, scope)) setCookie(ctx, 'signed-out', scope, null)
}
