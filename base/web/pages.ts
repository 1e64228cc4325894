import { readFileSync } from 'node:fs'
import { createPageRenderer, indent, loadTemplates, type PageFrame } from './render-page.ts'
import { PLATFORM_TEXTS, platformText } from './texts.ts'

export type ErrorKind =
  | 'not-found'
  | 'method'
  | 'too-large'
  | 'content-type'
  | 'unknown-host'
  | 'forbidden'
  | 'no-right'
  | 'stopping'
  | 'maintenance'
  | 'mode-unavailable'
  | 'broken'
  | 'busy'
  | 'throttled'
  | 'database'
  | 'internal'
  | 'bad-request'

export type ErrorModel = {
  readonly status: number
  readonly kind: ErrorKind
  /** The correlation id, for support. */
  readonly reference: string
  readonly retry?: { readonly href: string }
}

/** Templates shared by the pages of both services. */
export const SHARED_PAGES = new URL('pages/', import.meta.url)

const templates = loadTemplates([SHARED_PAGES])
const loginTemplate = templates.render('login', { styles: sharedStyles('tokens', 'fields', 'login') })
const page = createPageRenderer(templates, PLATFORM_TEXTS, sharedStyles('tokens', 'fields', 'pages'))

/** Says what happened and what to do next, with the reference for support. Never shows a stack. */
export function errorPage(frame: PageFrame, model: ErrorModel): string {
  return page('error', frame, platformText(frame.locale, `platform.error.${model.kind}.title`), model)
}

/**
 * The login template for solutions without one, and the starting point for a customer's. It still has its placeholders
 * and no nonces.
 *
 * @see product guide 2.4
 */
export function defaultLoginTemplate(): string {
  return loginTemplate
}

/** The named styles, of those shared by both services, indented for a page's head. */
export function sharedStyles(...names: readonly string[]): string {
  return indent(names.map((name) => readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8')).join(''))
}
