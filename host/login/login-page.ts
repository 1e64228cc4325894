import type { Context } from 'koa'
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
import { cookieScope, createNonce, sendHtml, stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { FormTokens } from './form-token.ts'

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
  readonly cloudLogin: { pageOf(solution: ActiveSolution): Promise<DesignedPage | null> } | null
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

/** @param designed the page of the control center; of PLATFORM_CLOUD null: the default page, whatever template the solution has */
export function lookOf(
  { manifest, template, texts }: Pick<ActiveSolution, 'manifest' | 'template' | 'texts'>,
  designed: DesignedPage | null,
): LoginLook {
  if (designed !== null) return { template: designed.template, texts, firstTexts: designed.texts }
  return { template: manifest.authenticator === 'PLATFORM_CLOUD' ? null : template, texts }
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

/** What end-to-end tests find inputs by, unless the template names them so itself: `login.username`, `login.submit`. */
const NAME_INPUTS = `
addEventListener('DOMContentLoaded', () => {
  for (const one of document.forms.login_form?.elements ?? []) {
    const name = one.name || (one.type === 'submit' ? 'submit' : '')
    if (name !== '' && one.dataset.cy === undefined) one.dataset.cy = 'login.' + name
  }
})`
