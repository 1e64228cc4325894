import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'

/**
 * HTML is sent only for navigations. If a page could be fetched, framed or embedded, another page could read or
 * disguise it.
 */
export function requireNavigation(ctx: Context): void {
  if (isNavigation(ctx)) return
  throw new PlatformError(
    'ERR_NOT_A_NAVIGATION',
    'This page can only be opened from the address bar, a link or a form. It cannot be fetched by a script or embedded in a frame.',
  )
}

export function isNavigation(ctx: Context): boolean {
  const destination = ctx.get('Sec-Fetch-Dest')
  return destination === '' || destination === 'document'
}

/**
 * Whether a page of our own origin loads this page in an iframe. Over http, except on loopback, browsers send neither
 * `Sec-Fetch-Dest` nor `Sec-Fetch-Site`. In that case, only the page's own `frame-ancestors` and `sandbox` protect it.
 */
export function isFrameOfOurs(ctx: Context): boolean {
  const [destination, site] = [ctx.get('Sec-Fetch-Dest'), ctx.get('Sec-Fetch-Site')]
  return (destination === '' && site === '') || (destination === 'iframe' && site === 'same-origin')
}

/** @throws ERR_NOT_A_NAVIGATION */
export function requireFrameOfOurs(ctx: Context): void {
  if (isFrameOfOurs(ctx)) return
  throw new PlatformError('ERR_NOT_A_NAVIGATION', 'This page can only be embedded in a page from the same origin.')
}

/**
 * Accepts only requests from fetch or the address bar. If another page could load the data as an image or script, it
 * would learn the data's status and size.
 */
export function requireDataRequest(ctx: Context): void {
  if (['', 'empty', 'document'].includes(ctx.get('Sec-Fetch-Dest'))) return
  throw new PlatformError(
    'ERR_NOT_A_NAVIGATION',
    'This URL can only be requested with fetch or from the address bar, not as an image, script or frame.',
  )
}

/**
 * Where a POST came from, according to Fetch Metadata or, if that is absent, to Origin. `unknown`: neither header was
 * sent (for example by curl), so only the form's hidden token protects it.
 */
export function sourceOfPost(ctx: Context, origin: string): 'same-origin' | 'foreign' | 'unknown' {
  const site = ctx.get('Sec-Fetch-Site')
  if (site !== '') return site === 'same-origin' ? 'same-origin' : 'foreign'
  const from = ctx.get('Origin')
  if (from !== '') return from === origin ? 'same-origin' : 'foreign'
  return 'unknown'
}
