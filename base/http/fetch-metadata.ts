import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'

/**
 * HTML is sent only for navigations: another page could read or disguise a page that is fetched, framed or embedded.
 */
export function requireNavigation(ctx: Context): void {
  if (isNavigation(ctx)) return
  throw new PlatformError(
    'ERR_NOT_A_NAVIGATION',
    'This page can only be opened from the address bar, a link or a form; it cannot be fetched or framed.',
  )
}

export function isNavigation(ctx: Context): boolean {
  const destination = ctx.get('Sec-Fetch-Dest')
  return destination === '' || destination === 'document'
}

/**
 * For the few pages that are shown in a frame of our own origin. Browsers send neither header over http, except on
 * loopback: the page's own `frame-ancestors` and `sandbox` must be enough then.
 */
export function isFrameOfOurs(ctx: Context): boolean {
  const [destination, site] = [ctx.get('Sec-Fetch-Dest'), ctx.get('Sec-Fetch-Site')]
  return (destination === '' && site === '') || (destination === 'iframe' && site === 'same-origin')
}

/** Data is for fetch and the address bar. As an image or script, its status and size would leak to another page. */
export function requireDataRequest(ctx: Context): void {
  if (['', 'empty', 'document'].includes(ctx.get('Sec-Fetch-Dest'))) return
  throw new PlatformError(
    'ERR_NOT_A_NAVIGATION',
    'This URL responds only to fetch requests and the address bar, not to images, scripts or frames.',
  )
}

/**
 * Where a POST came from, by Fetch Metadata or, if that is absent, by Origin. `unknown`: the sender sent neither
 * (curl); the form's hidden token must be enough then.
 */
export function sourceOfPost(ctx: Context, origin: string): 'same-origin' | 'foreign' | 'unknown' {
  const site = ctx.get('Sec-Fetch-Site')
  if (site !== '') return site === 'same-origin' ? 'same-origin' : 'foreign'
  const from = ctx.get('Origin')
  if (from !== '') return from === origin ? 'same-origin' : 'foreign'
  return 'unknown'
}
