import type { Context } from 'koa'
import { compileTemplate } from '../../runtime/template/compile-template.ts'
import type { CompiledTemplate } from '../../runtime/template/compiled-template.ts'
import { fillTemplate } from '../../runtime/template/fill-template.ts'
import type { CloudLogin } from '../cloud/login/cloud-login.ts'
import type { DesignedPage } from '../cloud/login/login-pages.ts'
import { allowLoginPage } from '../http/content-security.ts'
import { chooseLocale } from '../http/languages.ts'
import { cookieScope, createNonce, sendHtml, stateOf } from '../http/request.ts'
import type { Sites } from '../http/sites.ts'
import type { ActiveSolution } from '../solutions/catalog.ts'
import { availableLocales, createMessages, textOfTables } from '../solutions/messages.ts'
import { defaultLoginTemplate } from '../web/pages.ts'
import { platformText } from '../web/texts.ts'
import type { FormTokens } from './form-token.ts'

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

/**
 * Sends a solution's login page: its own template, of PLATFORM_CLOUD the one of the control center; or the default one where
 * that is missing or unusable.
 */
export type LoginPageSender = (ctx: Context, solution: ActiveSolution, page: LoginPage) => Promise<void>

export type LoginPageSenderParts = {
  readonly sites: Sites
  readonly formTokens: FormTokens
  /** `PLATFORM_TESTING_MODE`: inputs carry `data-cy`. */
  readonly isTesting: boolean
  readonly cloudLogin: Pick<CloudLogin, 'pageOf'> | null
}

export function createLoginPageSender({
  sites,
  formTokens,
  isTesting,
  cloudLogin,
}: LoginPageSenderParts): LoginPageSender {
  const script = isTesting ? USE_LOGIN_TOKEN + NAME_INPUTS : USE_LOGIN_TOKEN
  return async (ctx, solution, page) => {
    const designed = (await cloudLogin?.pageOf(solution)) ?? null
    const look = lookOf(solution, designed)
    // It may speak languages that the solution itself does not.
    const asked = designed === null ? null : chooseLocale(ctx.get('Accept-Language'), localesOf(look))
    const nonce = createNonce()
    const formToken = formTokens.issue(ctx, cookieScope(ctx, sites, solution.name))
    const { correlationId } = stateOf(ctx)
    const shown = asked === null ? page : { ...page, locale: asked }
    const html = renderLoginPage(look, shown, { nonce, formToken, correlationId, script })
    allowLoginPage(ctx, nonce, sites.shared)
    ctx.vary('Accept-Language')
    sendHtml(ctx, page.status, html)
  }
}

/** What a login page is made of. */
export type LoginLook = Pick<ActiveSolution, 'template' | 'texts'> & {
  /** Texts that come before the solution's own: those of a page of the control center. */
  readonly firstTexts?: DesignedPage['texts']
}

/** @param designed the page of the control center; of PLATFORM_CLOUD null: the default page, whatever template the solution has */
export function lookOf(
  { manifest, template, texts }: Pick<ActiveSolution, 'manifest' | 'template' | 'texts'>,
  designed: DesignedPage | null,
): LoginLook {
  if (designed !== null) return { template: designed.template, texts, firstTexts: designed.texts }
  return { template: manifest.authenticator === 'PLATFORM_CLOUD' ? null : template, texts }
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
 * Signs in by a login token in the address, `index.html#id_token=…`, where no server and no log gets to see it (design
 * section 8). The form's own `submit` may be hidden by a button of that name.
 */
const USE_LOGIN_TOKEN = `addEventListener('DOMContentLoaded', () => {
  const [, token] = /^#id_token=([A-Za-z0-9._-]+)$/.exec(location.hash) ?? []
  const form = document.forms.login_form
  const field = form?.elements.namedItem('id_token')
  if (token === undefined || !field) return
  history.replaceState(null, '', location.pathname + location.search)
  field.value = token
  HTMLFormElement.prototype.submit.call(form)
})`

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

/** What end-to-end tests find inputs by, unless the template names them so itself: `login.username`, `login.submit`. */
const NAME_INPUTS = `
addEventListener('DOMContentLoaded', () => {
  for (const one of document.forms.login_form?.elements ?? []) {
    const name = one.name || (one.type === 'submit' ? 'submit' : '')
    if (name !== '' && one.dataset.cy === undefined) one.dataset.cy = 'login.' + name
  }
})`

/** The default page goes through the same rules as a customer's. */
function compileDefaultTemplate(): CompiledTemplate {
  const { template, warnings } = compileTemplate(defaultLoginTemplate(), 'login.html')
  if (template !== null && warnings.length === 0) return template
  throw new TypeError(`the default login template breaks its own rules: ${JSON.stringify(warnings)}`)
}

const STANDARD = compileDefaultTemplate()
