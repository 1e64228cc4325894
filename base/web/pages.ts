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

/** Templates that the pages of both services have. */
export const SHARED_PAGES = new URL('pages/', import.meta.url)

const templates = loadTemplates([SHARED_PAGES])
const loginTemplate = templates.render('login', { styles: sharedStyles('tokens', 'fields', 'login') })
const page = createPageRenderer(templates, PLATFORM_TEXTS, sharedStyles('tokens', 'fields', 'pages'))

/** What happened, what the person can do next, and the reference for support. Never a stack. */
export function errorPage(frame: PageFrame, model: ErrorModel): string {
  return page('error', frame, platformText(frame.locale, `platform.error.${model.kind}.title`), model)
}

/**
 * The login template of a solution that brings none, and the start of a customer's own: placeholders still in it,
 * no nonces yet.
 *
 * @see product guide 2.4
 */
export function defaultLoginTemplate(): string {
  return loginTemplate
}

/** These of the styles that both services have, as they stand in a page's head. */
export function sharedStyles(...names: readonly string[]): string {
  return indent(names.map((name) => readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8')).join(''))
}
