import type { Context } from 'koa'
import type { FormTokens } from '../../base/accounts/form-token.ts'
import type { PasskeyRequests } from '../../base/accounts/passkey-requests.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import {
  type DesignedPage,
  type LoginLook,
  type LoginPage,
  localesOf,
  renderLoginPage,
} from '../../base/bundles/login-page.ts'
import { allowLoginPage } from '../../base/http/content-security.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Mail } from '../../base/mail/mail.ts'
import { makeScript } from '../../base/web/browser-script.ts'
import { readArrival } from './arrival.ts'
import { createPageCache, type OwnValues } from './page-cache.ts'
import { signInModeOf } from './sign-in-mode.ts'

/**
 * Sends a solution's login page, from its template or, for PLATFORM_CLOUD, from the control center. If that page is
 * missing or unusable, sends the default page.
 */
export type LoginPageSender = (ctx: Context, solution: ActiveSolution, page: LoginPage) => Promise<void>

export type LoginPageSenderParts = {
  readonly sites: Sites
  readonly formTokens: FormTokens
  /** `PLATFORM_TESTING_MODE`: if true, inputs have the attribute `data-cy`. */
  readonly isTesting: boolean
  /** `PASSWORD_HELP` */
  readonly passwordHelp: string
  readonly mail: Pick<Mail, 'isSetUp'>
  readonly passkeyRequests: Pick<PasskeyRequests, 'askAnybody'>
  readonly cloudLogin: { pageOf(solution: ActiveSolution): Promise<DesignedPage | null> } | null
}

export function createLoginPageSender({
  sites,
  formTokens,
  isTesting,
  passwordHelp,
  mail,
  passkeyRequests,
  cloudLogin,
}: LoginPageSenderParts): LoginPageSender {
  const script = `${isTesting ? USE_LOGIN_TOKEN + NAME_INPUTS : USE_LOGIN_TOKEN}\n${OFFER_PASSKEYS}`
  const cache = createPageCache()
  return async (ctx, solution, page) => {
    const designed = (await cloudLogin?.pageOf(solution)) ?? null
    const look = lookOf(solution, designed, passwordHelp)
    // The control center's page may have texts in languages that the solution lacks.
    const asked = designed === null ? null : chooseLocale(ctx.get('Accept-Language'), localesOf(look))
    const nonce = createNonce()
    const arrival = readArrival(ctx, solution, page.locale, sites)
    const formToken = formTokens.issue(ctx, arrival.scope)
    const { correlationId } = arrival
    const passkey = await passkeyRequests.askAnybody(arrival, look.template !== null)
    const shown = asked === null ? page : { ...page, locale: asked }
    const forgotten = mail.isSetUp && signInModeOf(solution) === 'DEFAULT'
    const own = { nonce, formToken, passkey }
    const render = (values: OwnValues) => renderLoginPage(look, shown, { ...values, correlationId, script, forgotten })
    // All other content of the page depends on the solution and on this host's settings.
    const key = `${shown.locale} ${forgotten} ${passkey !== null}`
    const html = designed === null && isFirst(page) ? cache.fill(solution, key, own, render) : render(own)
    allowLoginPage(ctx, nonce, sites.shared)
    ctx.vary('Accept-Language')
    sendHtml(ctx, page.status, html)
  }
}

/** Whether the page is the same for every visitor: it shows no message, and no values from a script or the browser. */
function isFirst({ status, failed, notice, values, messages, fields }: LoginPage): boolean {
  const isPlain = status === 200 && !failed && notice === undefined
  return isPlain && messages.size + fields.size + Object.keys(values).length === 0
}

/**
 * @param designed the control center's page. If null, PLATFORM_CLOUD uses the default page, even if the solution has a
 *   template
 */
export function lookOf(
  { manifest, template, texts, title }: Pick<ActiveSolution, 'manifest' | 'template' | 'texts' | 'title'>,
  designed: DesignedPage | null,
  passwordHelp: string,
): LoginLook {
  const common = { texts, title, passwordHelp }
  if (designed !== null) return { ...common, template: designed.template, firstTexts: designed.texts }
  return { ...common, template: manifest.authenticator === 'PLATFORM_CLOUD' ? null : template }
}

const OFFER_PASSKEYS = makeScript(new URL('../../base/web/passkeys/login.ts', import.meta.url)).text

/**
 * A script that signs in with a login token in the fragment of the URL, `index.html#id_token=…`. Browsers don't send
 * the fragment to servers. The script calls the prototype's `submit`, because a button named `submit` would hide the
 * form's method.
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
 * Adds the attributes that end-to-end tests use to find inputs, such as `login.username`, unless the template has them.
 */
const NAME_INPUTS = `
addEventListener('DOMContentLoaded', () => {
  for (const one of document.forms.login_form?.elements ?? []) {
    const name = one.name || (one.type === 'submit' ? 'submit' : '')
    if (name !== '' && one.dataset.cy === undefined) one.dataset.cy = 'login.' + name
  }
})`
