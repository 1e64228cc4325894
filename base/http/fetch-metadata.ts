import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'

/** HTML answers only navigations: a page that is fetched, framed or embedded could be read or dressed up by another. */
export function requireNavigation(ctx: Context): void {
  if (isNavigation(ctx)) return
  throw new PlatformError(
    'ERR_NOT_A_NAVIGATION',
    'This page is for the address bar, links and forms; it cannot be fetched or framed.',
  )
}

export function isNavigation(ctx: Context): boolean {
  const destination = ctx.get('Sec-Fetch-Dest')
  return destination === '' || destination === 'document'
}

/**
 * For the few pages that stand in a frame of our own origin. Browsers say neither over http, but on loopback: then the
 * page's own `frame-ancestors` and `sandbox` have to do.
 */
export function isFrameOfOurs(ctx: Context): boolean {
  const [destination, site] = [ctx.get('Sec-Fetch-Dest'), ctx.get('Sec-Fetch-Site')]
  return (destination === '' && site === '') || (destination === 'iframe' && site === 'same-origin')
}

/** Data are for fetch and the address bar: as an image or script their status and size would tell another page. */
export function requireDataRequest(ctx: Context): void {
  if (['', 'empty', 'document'].includes(ctx.get('Sec-Fetch-Dest'))) return
  throw new PlatformError('ERR_NOT_A_NAVIGATION', 'This address answers fetch, not elements of a page.')
}

/**
 * Where a POST came from, by Fetch Metadata, where absent by Origin.
 * `unknown`: the sender said neither (curl); then the form's hidden token has to do.
 */
export function sourceOfPost(ctx: Context, origin: string): 'same-origin' | 'foreign' | 'unknown' {
  const site = ctx.get('Sec-Fetch-Site')
  if (site !== '') return site === 'same-origin' ? 'same-origin' : 'foreign'
  const from = ctx.get('Origin')
  if (from !== '') return from === origin ? 'same-origin' : 'foreign'
  return 'unknown'
}
