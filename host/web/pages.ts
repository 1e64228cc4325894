import { SHARED_PAGES, sharedStyles } from '../../base/web/pages.ts'
import { createPageRenderer, loadTemplates, type PageFrame } from '../../base/web/render-page.ts'
import { PLATFORM_TEXTS, platformText } from '../../base/web/texts.ts'

export type SolutionListModel = {
  readonly solutions: readonly { readonly name: string; readonly title: string; readonly href: string }[]
  readonly sharedOrigin: boolean
}

export type SignedOutModel = {
  readonly solution: { readonly title: string }
  readonly signInHref: string
  /** Where the user may still be signed in, since that provider offers no sign-out of its own. */
  readonly provider?: string | null | undefined
}

/** Each has its texts below `platform.oauth.{page}`. */
export type OAuthProblemPage =
  | 'unknown-user'
  | 'denied'
  | 'provider'
  | 'token'
  | 'clock'
  | 'configuration'
  | 'script'
  | 'busy'
  | 'expired'

export type OAuthProblemModel = {
  readonly page: OAuthProblemPage
  readonly solution: { readonly title: string }
  /** The provider's name; null where none is chosen yet. */
  readonly provider: string | null
  /** The correlation id, for support. */
  readonly reference: string
  /** E-mail or name of the account that was used at the provider; null where it is not known. */
  readonly user: string | null
  readonly tryAgainHref: string
  /** Lets the user choose another account at the provider; null: not offered. */
  readonly otherAccountHref: string | null
  /** For the page 'busy'. */
  readonly retryInSeconds?: number | undefined
}

export type FragmentModel = {
  readonly solution: { readonly title: string }
  /** The page's own path, which takes the fragment's parameters by POST. */
  readonly action: string
}

export type RepostModel = {
  readonly action: string
  /** Names and values as they came, in their order, repeated ones too. */
  readonly fields: readonly (readonly [name: string, value: string])[]
}

export type ChangePasswordModel = {
  readonly username: string
  /** Before the user may go on. */
  readonly mustChange: boolean
  /** What shows that the right password was given already; null: the form asks for it. */
  readonly ticket: string | null
  readonly formToken: string
  readonly action: string
  /** Characters. */
  readonly leastLength: number
  /** Why the last try was refused, in the user's language. */
  readonly refusal: string | null
}

export type GoesOnModel = {
  readonly href: string
  /** The host name that the person is told. */
  readonly shown: string
}

/** A page of the administration: its frame has the navigation. */
export type AdminFrame = PageFrame & {
  /** What the page's script sends along with requests to the API; null where nobody is signed in. */
  readonly csrfToken: string | null
  /** The part of the navigation that the page belongs to; null: none. */
  readonly part: AdminPart | null
  /** The address of the page's script. */
  readonly script: string
}

/** The navigation of the administration, in its order: name and address. */
export const ADMIN_PARTS = {
  solutions: '/admin/',
  users: '/admin/users',
  sessions: '/admin/sessions',
  tokens: '/admin/tokens',
  audit: '/admin/audit',
  health: '/admin/health',
  maintenance: '/admin/maintenance',
  settings: '/admin/settings',
} as const

export type AdminPart = keyof typeof ADMIN_PARTS

const templates = loadTemplates([SHARED_PAGES, new URL('pages/', import.meta.url)])
const pageStyles = sharedStyles('tokens', 'fields', 'pages')
const adminStyles = `${pageStyles}\n${sharedStyles('admin', 'admin-operation')}`
const page = createPageRenderer(templates, PLATFORM_TEXTS, pageStyles)
const ofAdministration = createPageRenderer(templates, PLATFORM_TEXTS, adminStyles, 'admin/')

export function solutionListPage(frame: PageFrame, model: SolutionListModel): string {
  return page('solution-list', frame, platformText(frame.locale, 'platform.solutions.title'), model)
}

export function changePasswordPage(frame: PageFrame, model: ChangePasswordModel): string {
  return page('change-password', frame, platformText(frame.locale, 'platform.password.title'), model)
}

export function signedOutPage(frame: PageFrame, model: SignedOutModel): string {
  return page('signed-out', frame, platformText(frame.locale, 'platform.signedout.title'), model)
}

/**
 * Leads on to another origin without a redirect, which `form-action` would block after a form's POST.
 * Needs no script.
 *
 * @throws TypeError when `href` is neither http, https nor relative
 */
export function goesOnPage(frame: PageFrame, model: GoesOnModel): string {
  const target = URL.parse(model.href, 'https://relative.invalid')
  if (target === null || !/^(https?|mailto):$/.test(target.protocol)) {
    throw new TypeError(`a page goes on to an http, https, mailto or relative address, not to "${model.href}"`)
  }
  return page('goes-on', frame, platformText(frame.locale, 'platform.goeson.title'), model, { goesOnTo: model.href })
}

/** Why a sign-in by a provider came to nothing, what the person can do next, and the reference for support. */
export function oauthProblemPage(frame: PageFrame, model: OAuthProblemModel): string {
  return page('oauth-problem', frame, platformText(frame.locale, `platform.oauth.${model.page}.title`), model)
}

/**
 * Hands the parameters in the address's fragment, which no server sees, over to `action` by a form's POST, with the
 * field `from=fragment`. Says so when there is nothing to hand over, and what to do without script.
 *
 * @see product guide 4, "app_oauth/index.html"
 */
export function fragmentPage(frame: PageFrame, model: FragmentModel): string {
  return page('oauth-fragment', frame, platformText(frame.locale, 'platform.oauth.fragment.title'), model)
}

/**
 * Answers a POST from a provider's page, with which no SameSite=Lax cookie comes: posts the same fields again from our
 * own origin, with the field `from=form_post`. Works without script by its button.
 *
 * @see design section 7
 */
export function repostPage(frame: PageFrame, model: RepostModel): string {
  return page('oauth-repost', frame, platformText(frame.locale, 'platform.goeson.title'), model)
}

/**
 * A page of the administration.
 * @param template one of `pages/admin/` or of the shared ones, without its ending
 * @param heading in the reader's language
 */
export function adminPage(template: string, frame: AdminFrame, heading: string, model: object): string {
  const { csrfToken, part, script } = frame
  const parts = csrfToken === null ? [] : Object.entries(ADMIN_PARTS)
  const service = { texts: 'admin', root: '/admin', script, csrfToken, part, parts } as const
  return ofAdministration(template, frame, heading, model, { service })
}
