import type { Context } from 'koa'
import { cookieValues } from '../../base/http/cookies.ts'
import { stateOf } from '../../base/http/request.ts'

/**
 * Chosen here: the cookie is `SameSite=Lax`, so that the session also applies when users follow a link to a page. GET
 * requests never change anything. Each other request must contain a token, and Fetch Metadata that prove that an admin
 * page sent it. The path excludes solutions' URLs, in case both ports share a host name. The cookie's name includes the
 * port, to separate several hosts on one machine.
 */
export function setPageCookie(ctx: Context, value: string | null): void {
  setCookieOf(ctx, 'administration', value)
}

/** Sets the cookie of a sign-in that still needs its second step. */
export function setStepCookie(ctx: Context, value: string | null): void {
  setCookieOf(ctx, 'administration-step', value)
}

function setCookieOf(ctx: Context, kind: Kind, value: string | null): void {
  const secure = isSecure(ctx)
  // Set this explicitly: behind a proxy, the socket doesn't show whether the client uses TLS.
  ctx.cookies.secure = secure
  ctx.cookies.set(nameOf(ctx, kind), value, {
    httpOnly: true,
    sameSite: 'lax',
    secure,
    path: '/admin/',
    overwrite: true,
  })
}

export function readPageCookies(ctx: Context): readonly string[] {
  return valuesOf(ctx, 'administration')
}

export function readStepCookies(ctx: Context): readonly string[] {
  return valuesOf(ctx, 'administration-step')
}

type Kind = 'administration' | 'administration-step'

function valuesOf(ctx: Context, kind: Kind): readonly string[] {
  return cookieValues(ctx, nameOf(ctx, kind)).filter((value) => value.length === 43)
}

function isSecure(ctx: Context): boolean {
  return stateOf(ctx).client.protocol === 'https'
}

function nameOf(ctx: Context, kind: Kind): string {
  const port = /:(\d{1,5})$/.exec(stateOf(ctx).client.host)?.[1]
  return `${isSecure(ctx) ? '__Secure-' : ''}${kind}${port === undefined ? '' : `-${port}`}`
}
