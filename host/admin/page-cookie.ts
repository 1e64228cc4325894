import type { Context } from 'koa'
import { stateOf } from '../http/request.ts'

/** A browser sends each that it has by this name: those of pages on other ports of the host name are among them. */
const MOST_COOKIES = 5

/**
 * Chosen here: `Lax`, so that a link to a page finds who is signed in; no GET changes anything, and all else shows by
 * Fetch Metadata and a token that it comes from our own pages. The path keeps it from solutions' addresses where both
 * ports have one host name; the port in its name, from another host on the same machine.
 */
export function setPageCookie(ctx: Context, value: string | null): void {
  const secure = isSecure(ctx)
  // Behind a proxy the socket does not show it.
  ctx.cookies.secure = secure
  ctx.cookies.set(nameOf(ctx), value, { httpOnly: true, sameSite: 'lax', secure, path: '/admin/', overwrite: true })
}

/** More than one: a script on another port can set one with a longer path, which comes first and is none of ours. */
export function readPageCookies(ctx: Context): readonly string[] {
  const prefix = `${nameOf(ctx)}=`
  return ctx
    .get('Cookie')
    .split(/; */)
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length))
    .filter((value) => /^[A-Za-z0-9_-]{43}$/.test(value))
    .slice(-MOST_COOKIES)
}

function isSecure(ctx: Context): boolean {
  return stateOf(ctx).client.protocol === 'https'
}

function nameOf(ctx: Context): string {
  const port = /:(\d{1,5})$/.exec(stateOf(ctx).client.host)?.[1]
  return `${isSecure(ctx) ? '__Secure-' : ''}administration${port === undefined ? '' : `-${port}`}`
}
