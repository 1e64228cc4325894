import { readFileSync } from 'node:fs'
import { makeScript } from './browser-script.ts'
import { createPageRenderer, indent, loadTemplates, type PageFrame } from './render-page.ts'
import { PLATFORM_TEXTS, platformText } from './texts.ts'

export type ErrorKind =
  | 'not-found'
  | 'method'
  | 'too-large'
  | 'content-type'
  | 'unknown-host'
  | 'forbidden'
  | 'link-over'
  | 'no-right'
  | 'stopping'
  | 'maintenance'
  | 'mode-unavailable'
  | 'busy'
  | 'throttled'
  | 'database'
  | 'directory'
  | 'internal'
  | 'bad-request'

export type ErrorModel = {
  readonly status: number
  readonly kind: ErrorKind
  /** The correlation id, for support. */
  readonly reference: string
  readonly retry?: { readonly href: string }
  /** The login page. */
  readonly signIn?: { readonly href: string }
}

/** The script that lets users submit forms with a passkey. */
export const passkeyScript = makeScript(new URL('passkeys/main.ts', import.meta.url)).text

/** Templates shared by the pages of both services. */
export const SHARED_PAGES = new URL('pages/', import.meta.url)

const templates = loadTemplates([SHARED_PAGES])
const loginTemplate = templates.render('login', { styles: sharedStyles('tokens', 'fields', 'login') })
const page = createPageRenderer(templates, PLATFORM_TEXTS, sharedStyles('tokens', 'fields', 'pages'))

/**
 * Renders an error page, which shows what happened, what to do next, and a reference for support. It never shows a
 * stack trace.
 */
export function errorPage(frame: PageFrame, model: ErrorModel): string {
  return page('error', frame, platformText(frame.locale, `platform.error.${model.kind}.title`), model)
}

/**
 * Returns the login template for solutions without one, which is also the starting point for custom ones. It still
 * contains its placeholders, and no nonces.
 */
export function defaultLoginTemplate(): string {
  return loginTemplate
}

/** Returns some of the style sheets shared by both services, indented for a page's head. */
export function sharedStyles(...names: readonly string[]): string {
  return indent(names.map((name) => readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8')).join(''))
}
