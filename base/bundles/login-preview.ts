import { createNonce } from '../http/request.ts'
import { type LoginLook, localesOf, renderLoginPage } from './login-page.ts'
import { LOGIN_STATES, type LoginStateName } from './login-states.ts'

/** What the preview shows. */
export type LoginPreview = {
  /** One of `loginPageLocales`; another one is shown by its language, or in English. */
  readonly locale: string
  readonly state: LoginStateName
  /** The user name that the form kept, such as after a refusal; left out: the field is empty. */
  readonly username?: string
  /** What `onSolutionOpen` would have returned, for `%%name%%`. */
  readonly values?: Readonly<Record<string, unknown>>
}

/** Stands where an answer has the id that finds it in the log: a preview is in no log. */
const REFERENCE = 'PREVIEW'
/** A page that says for how long the machine is busy has to say some time, in seconds. */
const BUSY_FOR = 5

/**
 * The login page of the active version as its users see it, in the state asked for: the solution's template, else the
 * platform's own page.
 *
 * It signs nobody in: its hidden token is empty, no cookie goes with it, and the script that posts a login token is left
 * out. It runs the template's scripts, so whoever shows it sandboxes it without `allow-forms` and `allow-same-origin`, and
 * allows `nonce` for scripts and styles. Its `media/…` is relative to the address that it is shown at.
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

/** The locales in which a solution's login page can be shown: its own tables' and the platform's languages. */
export function loginPageLocales(look: Omit<LoginLook, 'template'>): readonly string[] {
  return localesOf(look)
}
