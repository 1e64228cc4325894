import { createNonce } from '../http/request.ts'
import { type LoginLook, localesOf, renderLoginPage } from './login-page.ts'
import { LOGIN_STATES, type LoginStateName } from './login-states.ts'

export type LoginPreview = {
  /** One of `loginPageLocales`; other locales fall back to their language, or to English. */
  readonly locale: string
  readonly state: LoginStateName
  /** The username in the field, as after a failed sign-in. If absent, the field is empty. */
  readonly username?: string
  /** Values for `%%name%%` in the template. The preview uses them instead of calling `onSolutionOpen`. */
  readonly values?: Readonly<Record<string, unknown>>
}

/** Shown in place of a correlation id, since previews are not logged. */
const REFERENCE = 'PREVIEW'
/** An example of a retry time, in seconds, for a page that reports a busy host. */
const BUSY_FOR = 5

/**
 * Renders the active version's login page as users see it in a given state. Uses the solution's template, or else the
 * platform's page. The preview can't be used to sign in: its hidden token is empty, no cookie is set, and the script
 * that posts a login token is left out. The preview runs the template's scripts. Callers must therefore sandbox it
 * without `allow-forms` and `allow-same-origin`, and allow `nonce` for scripts and styles. Its `media/…` links are
 * relative to the preview's URL.
 */
export function renderLoginPreview(
  look: LoginLook,
  { locale, state, username, values = {} }: LoginPreview,
  nonce: string = createNonce(),
): { readonly html: string; readonly nonce: string } {
  const shown = LOGIN_STATES[state]
  const notice = 'notice' in shown ? { notice: { ...shown.notice, values: [BUSY_FOR] } } : {}
  const page = {
    ...shown,
    ...notice,
    locale,
    values,
    messages: new Map<string, string>(),
    fields: new Map(username === undefined ? [] : [['username', username]]),
  }
  return { html: renderLoginPage(look, page, { nonce, formToken: '', correlationId: REFERENCE }), nonce }
}

/** Returns the locales of a solution's login page: those of its message tables and the platform's languages. */
export function loginPageLocales(look: Pick<LoginLook, 'texts' | 'firstTexts'>): readonly string[] {
  return localesOf(look)
}
