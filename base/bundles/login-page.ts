import { compileTemplate } from '../../runtime/template/compile-template.ts'
import type { CompiledTemplate } from '../../runtime/template/compiled-template.ts'
import { fillTemplate } from '../../runtime/template/fill-template.ts'
import { defaultLoginTemplate } from '../web/pages.ts'
import { platformText } from '../web/texts.ts'
import type { ActiveSolution } from './active-solution.ts'
import { availableLocales, createMessages, textOfTables } from './messages.ts'

const REFUSED = 'platform.logindialog.refused'
const REFERENCE = 'platform.logindialog.reference'

/** What a login page shows beside its template. */
export type LoginPage = {
  readonly status: 200 | 401 | 403 | 429 | 503
  readonly locale: string
  /** Whether the element `errorlabel` is made visible. */
  readonly failed: boolean
  /** Values for `%%name%%`, from what `onSolutionOpen` returned. */
  readonly values: Readonly<Record<string, unknown>>
  /** Texts that the script set for this answer. */
  readonly messages: ReadonlyMap<string, string>
  /** Kept or prefilled: `username` and `custom_*`. */
  readonly fields: ReadonlyMap<string, string>
  /** A text of the platform beside the form, such as "this page had expired", with its values. */
  readonly notice?: { readonly key: string; readonly values?: readonly (string | number)[] }
}

/** A login page as it was designed in the control center, ready to be filled in. */
export type DesignedPage = {
  readonly template: CompiledTemplate
  /** By locale; they come before the solution's own. */
  readonly texts: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** What a login page is made of. */
export type LoginLook = Pick<ActiveSolution, 'template' | 'texts'> & {
  /** Texts that come before the solution's own: those of a page of the control center. */
  readonly firstTexts?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** The locales in which it can be shown: its own tables' and the platform's languages. */
export function localesOf({ texts, firstTexts = {} }: Omit<LoginLook, 'template'>): readonly string[] {
  return availableLocales({ ...texts, ...firstTexts })
}

/** What a login page holds that belongs to one answer. */
export type LoginPageAnswer = {
  readonly nonce: string
  readonly formToken: string
  readonly correlationId: string
  /** A script of the host's own; the preview has none. */
  readonly script?: string
}

/** The page itself, the same at sign-in and in the preview. */
export function renderLoginPage(
  { template, texts, firstTexts = {} }: LoginLook,
  page: LoginPage,
  { nonce, formToken, correlationId, script }: LoginPageAnswer,
): string {
  const { notice, locale } = page
  const message = createMessages(texts, locale, page.messages)
  const messageOf = (key: string) => textOfTables(firstTexts, locale, key) ?? message(key)
  return fillTemplate(template ?? STANDARD, {
    nonce,
    formToken,
    failed: page.failed,
    message: messageOf,
    value: (name) => (Object.hasOwn(page.values, name) ? page.values[name] : undefined),
    fields: page.fields,
    ...(script === undefined ? {} : { script: page.status === 200 ? script : script + sayRefused(messageOf(REFUSED)) }),
    ...(notice ? { notice: platformText(page.locale, notice.key, notice.values) } : {}),
    ...(page.status === 200 ? {} : { reference: platformText(page.locale, REFERENCE, [correlationId]) }),
  })
}

/**
 * Screen readers announce the title of the new page first, and the user continues in its first field. Done for every template, since
 * templates have no placeholder for either.
 */
function sayRefused(text: string | null): string {
  const said = JSON.stringify(text ?? '').replace(
    /[<\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `
addEventListener('DOMContentLoaded', () => {
  document.title = [${said}, document.title].filter(Boolean).join(' – ')
  const fields = [...(document.forms.login_form?.elements ?? [])]
  fields.find((one) => one.matches('input:not([type=submit], [type=button], [type=image], [type=reset]), select, textarea') && !one.disabled && one.checkVisibility())?.focus()
})`
}

/** The default page goes through the same rules as a customer's. */
function compileDefaultTemplate(): CompiledTemplate {
  const { template, warnings } = compileTemplate(defaultLoginTemplate(), 'login.html')
  if (template !== null && warnings.length === 0) return template
  throw new TypeError(`the default login template breaks its own rules: ${JSON.stringify(warnings)}`)
}

const STANDARD = compileDefaultTemplate()
