import { compileTemplate } from '../../runtime/template/compile-template.ts'
import type { CompiledTemplate } from '../../runtime/template/compiled-template.ts'
import { unicodeEscape } from '../../runtime/template/escape.ts'
import { fillTemplate } from '../../runtime/template/fill-template.ts'
import { defaultLoginTemplate } from '../web/pages.ts'
import { platformText } from '../web/texts.ts'
import type { ActiveSolution } from './active-solution.ts'
import { availableLocales, createMessages, textOfTables } from './messages.ts'

const REFUSED = 'platform.logindialog.refused'
const REFERENCE = 'platform.logindialog.reference'
const APPLICATION = 'platform.logindialog.application'
const FORGOTTEN = 'platform.logindialog.forgotten'

/** The data that fills in the template of a login page. */
export type LoginPage = {
  readonly status: 200 | 401 | 403 | 429 | 503
  readonly locale: string
  /** Whether the element `errorlabel` is visible. */
  readonly failed: boolean
  /** Values for `%%name%%`, returned by `onSolutionOpen`. */
  readonly values: Readonly<Record<string, unknown>>
  /** Texts that the script set for this response. */
  readonly messages: ReadonlyMap<string, string>
  /** Submitted or prefilled values: `username` and `custom_*`. */
  readonly fields: ReadonlyMap<string, string>
  /**
   * A message from the platform, shown beside the form, such as "This page has expired", and its placeholder values.
   */
  readonly notice?: { readonly key: string; readonly values?: readonly (string | number)[] }
}

/** The template of a login page that was designed in the control center. */
export type DesignedPage = {
  readonly template: CompiledTemplate
  /** The page's texts by locale. They override the solution's texts. */
  readonly texts: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/**
 * A login page's template and texts. The default page shows `title`, unless the solution has a text with the key
 * `platform.logindialog.application`.
 */
export type LoginLook = Pick<ActiveSolution, 'template' | 'texts' | 'title'> & {
  /**
   * The value of `PASSWORD_HELP`; a text in the solution's tables with the key `platform.logindialog.forgotten` takes
   * precedence.
   */
  readonly passwordHelp: string
  /** Texts from a page designed in the control center, which override the solution's. */
  readonly firstTexts?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** Returns the available locales: those of the solution's message tables and the platform's languages. */
export function localesOf({ texts, firstTexts }: Pick<LoginLook, 'texts' | 'firstTexts'>): readonly string[] {
  return availableLocales(firstTexts === undefined ? texts : { ...texts, ...firstTexts })
}

/** The values of a login page that belong to a single response. */
export type LoginPageAnswer = {
  readonly nonce: string
  readonly formToken: string
  readonly correlationId: string
  /** A script that the host adds; absent in the preview. */
  readonly script?: string
  /** Whether users can request a link to choose a new password. */
  readonly forgotten?: boolean
  /** The options for passkeys, as JSON; null if passkeys are not offered. */
  readonly passkey?: string | null
}

/** Renders the page, for sign-in and for the preview. */
export function renderLoginPage(
  { template, texts, firstTexts = {}, title, passwordHelp }: LoginLook,
  page: LoginPage,
  { nonce, formToken, correlationId, script, forgotten = false, passkey = null }: LoginPageAnswer,
): string {
  const { notice, locale } = page
  const message = createMessages(texts, locale, page.messages)
  const ofHost = new Map([
    [APPLICATION, title],
    [FORGOTTEN, passwordHelp],
  ])
  const messageOf = (key: string) => textOfTables(firstTexts, locale, key) ?? message(key) ?? ofHost.get(key) ?? null
  return fillTemplate(template ?? defaultTemplate(), {
    nonce,
    formToken,
    failed: page.failed,
    forgotten,
    message: messageOf,
    value: (name) => (Object.hasOwn(page.values, name) ? page.values[name] : undefined),
    fields: page.fields,
    passkey,
    ...(script === undefined ? {} : { script: page.status === 200 ? script : script + sayRefused(messageOf(REFUSED)) }),
    ...(notice ? { notice: platformText(page.locale, notice.key, notice.values) } : {}),
    ...(page.status === 200 ? {} : { reference: platformText(page.locale, REFERENCE, [correlationId]) }),
  })
}

/**
 * Returns a script that adds the error to the page's title and focuses the first field. The error is in the title
 * because screen readers announce a new page's title first. Templates have no placeholders for either, so a script does
 * this.
 */
function sayRefused(text: string | null): string {
  const said = JSON.stringify(text ?? '').replace(/[<\u2028\u2029]/g, unicodeEscape)
  return `
addEventListener('DOMContentLoaded', () => {
  document.title = [${said}, document.title].filter(Boolean).join(' – ')
  const fields = [...(document.forms.login_form?.elements ?? [])]
  fields.find((one) => one.matches('input:not([type=submit], [type=button], [type=image], [type=reset]), select, textarea') && !one.disabled && one.checkVisibility())?.focus()
})`
}

let standard: CompiledTemplate | null = null

/**
 * Compiles the default page when it is first shown, because compiling it takes longer than loading most modules. It
 * must pass the same checks as a customer's page.
 */
function defaultTemplate(): CompiledTemplate {
  if (standard !== null) return standard
  const { template, warnings } = compileTemplate(defaultLoginTemplate(), 'login.html')
  if (template === null || warnings.length > 0) {
    throw new TypeError(`the default login template is invalid: ${JSON.stringify(warnings)}`)
  }
  standard = template
  return template
}
