import type { Context } from 'koa'

const PAGE = (nonce: string, connect: "'none'" | "'self'", ancestors: "'none'" | "'self'" = "'none'") =>
  `default-src 'none'; script-src 'nonce-${nonce}' 'strict-dynamic'; style-src 'self' 'nonce-${nonce}'; ` +
  `img-src 'self' data:; font-src 'self'; connect-src ${connect}; worker-src 'none'; form-action 'self'; ` +
  `base-uri 'none'; frame-ancestors ${ancestors}`

/**
 * If solutions share an origin, this prevents a login page from opening windows. COOP alone is not enough: a blank
 * window can still read the page that opened it after that page navigates to another solution (tested in Chromium).
 */
const NO_POPUPS = '; sandbox allow-scripts allow-forms allow-same-origin allow-modals allow-downloads'

const NOT_HTML = "default-src 'none'; frame-ancestors 'none'"

/** The policy for media files of types that can contain scripts, such as SVG. */
const ACTIVE_MEDIA = "sandbox; default-src 'none'"

/** The headers of every response, including errors and probes. Pages that need more permissions set them separately. */
export const SECURITY_HEADERS = {
  'Content-Security-Policy': NOT_HTML,
  'Cross-Origin-Opener-Policy': 'noopener-allow-popups',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  // Firefox and Safari ignore this header, so it is only an additional protection.
  'Permissions-Policy': 'publickey-credentials-get=(), publickey-credentials-create=()',
} as const

const SECURITY_LINES = Object.entries(SECURITY_HEADERS)

/** The headers are set directly, because Koa's `set` takes several times as long and every response needs them. */
export function setSecurityHeaders({ res }: Context): void {
  for (const [name, value] of SECURITY_LINES) res.setHeader(name, value)
}

/** Sets the policy for the login page, which runs the solution's own template and must not fetch anything. */
export function allowLoginPage({ res }: Context, nonce: string, sharedOrigin: boolean): void {
  res.setHeader('Content-Security-Policy', PAGE(nonce, "'none'") + (sharedOrigin ? NO_POPUPS : ''))
}

/**
 * Sets the policy for the client and the platform's other pages.
 * @param options `frames`: whether the page contains a same-origin iframe
 */
export function allowPage(ctx: Context, nonce: string, options: { readonly frames?: boolean } = {}): void {
  ctx.set('Content-Security-Policy', PAGE(nonce, "'self'") + (options.frames === true ? "; frame-src 'self'" : ''))
}

/**
 * Sets the policy for the platform's pages that may be shown in an iframe on pages of the same origin. A solution's own
 * pages can't contain iframes.
 */
export function allowFramedPage(ctx: Context, nonce: string): void {
  ctx.set('Content-Security-Policy', PAGE(nonce, "'self'", "'self'"))
}

/**
 * Sets the policy for a login page's preview, which the admin pages show in an iframe. The preview runs the author's
 * scripts in an opaque origin.
 * @param media the URL of the solution's media; images, styles and fonts load only from there
 */
export function allowLoginPreview(ctx: Context, nonce: string, media: string): void {
  ctx.set(
    'Content-Security-Policy',
    `sandbox allow-scripts; default-src 'none'; script-src 'nonce-${nonce}' 'strict-dynamic'; ` +
      `style-src 'nonce-${nonce}' ${media}; img-src ${media} data:; font-src ${media}; connect-src 'none'; ` +
      `worker-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'`,
  )
}

/**
 * Allows a page to use or to create passkeys. Only the set-up pages may create them, so that a solution's author can't
 * replace a passkey.
 */
export function allowPasskeys(ctx: Context, use: 'get' | 'create'): void {
  const [get, create] = use === 'get' ? ['(self)', '()'] : ['()', '(self)']
  ctx.set('Permissions-Policy', `publickey-credentials-get=${get}, publickey-credentials-create=${create}`)
}

/** Sets the policy for the docs. All their scripts and styles are in files. */
export function allowGuide(ctx: Context): void {
  ctx.set(
    'Content-Security-Policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; " +
      "base-uri 'none'; frame-ancestors 'none'",
  )
  ctx.set('Cache-Control', 'public, no-cache')
}

/**
 * Sets the policy for the responses of endpoints. A browser that opens such a response renders nothing and runs
 * nothing.
 */
export function allowEndpoint(ctx: Context): void {
  ctx.set('Content-Security-Policy', `sandbox; ${NOT_HTML}`)
}

export function allowMedia(ctx: Context, active: boolean): void {
  ctx.set('Content-Security-Policy', active ? ACTIVE_MEDIA : NOT_HTML)
  ctx.set('Cache-Control', 'public, no-cache')
}
