import { readFileSync } from 'node:fs'
import type { FactorSet } from '../../base/accounts/factors.ts'
import type { NewApp } from '../../base/accounts/new-app.ts'
import { counted } from '../../base/program/counted.ts'
import { makeScript } from '../../base/web/browser-script.ts'
import { passkeyScript, SHARED_PAGES, sharedStyles } from '../../base/web/pages.ts'
import {
  createPageRenderer,
  indent,
  loadTemplates,
  type PageFrame,
  type WorkbenchLinks,
} from '../../base/web/render-page.ts'
import { PLATFORM_TEXTS, platformText } from '../../base/web/texts.ts'
import { sourceText } from './dev/source-text.ts'
import type { DevFinding } from './frames.ts'

export type SolutionListModel = {
  readonly solutions: readonly {
    readonly name: string
    readonly title: string
    /** Null unless the solution is an example. */
    readonly description: string | null
    readonly href: string
  }[]
  /** The URL of the admin pages; null if the page should not link to them. */
  readonly adminPages: string | null
}

export type SignedOutModel = {
  readonly solution: { readonly title: string }
  readonly signInHref: string
  /** The provider where the user may still be signed in, because it offers no sign-out. */
  readonly provider?: string | null | undefined
}

/** Pages that explain why a sign-in failed. The keys of a page's texts start with `platform.oauth.{page}`. */
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

/**
 * Specific causes of failed sign-ins at a provider. The keys of their texts start with
 * `platform.oauth.{page}.{detail}`.
 */
export type OAuthProblemDetail =
  /** The provider sent no response. */
  | 'unreachable'
  /** The provider reported an internal error. */
  | 'down'
  /** The provider did not accept the request. */
  | 'refused'
  /** `getOAuthConfig` returned null for the requested URL. */
  | 'address'
  /** The response could not be read. */
  | 'unreadable'
  /** The provider signed the user out during the sign-in. */
  | 'signed-out'

export type OAuthProblemModel = {
  readonly page: OAuthProblemPage
  readonly detail?: OAuthProblemDetail | null
  readonly solution: { readonly title: string }
  /** The provider's name; null if none is configured yet. */
  readonly provider: string | null
  /** The correlation id, which users can give to support. */
  readonly reference: string
  /** The email address or name of the account used at the provider; null if unknown. */
  readonly user: string | null
  readonly tryAgainHref: string
  /** The link that lets users choose another account at the provider; null if this is not offered. */
  readonly otherAccountHref: string | null
  /** Set only for the page 'busy'. */
  readonly retryInSeconds?: number | undefined
}

export type FragmentModel = {
  readonly solution: { readonly title: string }
  /** The page's own path, which accepts the fragment's parameters by POST. */
  readonly action: string
}

export type RepostModel = {
  readonly action: string
  /** Names and values in the order in which they were received, including repeated names. */
  readonly fields: readonly (readonly [name: string, value: string])[]
}

export type ChangePasswordModel = {
  readonly username: string
  /** Whether the user must change the password to continue. */
  readonly mustChange: boolean
  /** Proves that the user has already entered the current password; null if the form asks for it. */
  readonly ticket: string | null
  readonly formToken: string
  readonly action: string
  /** The minimum length of a password, in characters. */
  readonly leastLength: number
  /** Why the last attempt was rejected, in the user's language. */
  readonly refusal: string | null
  /** Null if the user must change the password. */
  readonly cancelHref: string | null
}

type OfSolution = { readonly solution: { readonly title: string } }

/** The data that all pages of the second step, the set-up and the account need. */
type StepModel = {
  readonly solution: { readonly title: string }
  readonly formToken: string
  readonly action: string
}

/** The second factors that the user can use on a page. */
type FactorWays = {
  /** Options for base/web/passkeys, as JSON; null: the user has no passkey for this address. */
  readonly passkey: string | null
  /** Whether the page accepts a code from the user's authenticator app. */
  readonly hasApp: boolean
}

export type SecondStepModel = StepModel & {
  readonly ways: FactorWays
  readonly username: string
  /** Whether the page asks for a recovery code instead of a code from the authenticator app. */
  readonly isRecovery: boolean
  readonly cancelHref: string
  /** Why the last attempt was rejected, in the user's language. */
  readonly refusal: string | null
}

type NewAppModel = StepModel & { readonly app: NewApp; readonly refusal: string | null }

export type SetUpModel = NewAppModel & {
  readonly canPostpone: boolean
  /** Whether an authenticator app meets the policy. */
  readonly takesApp: boolean
  /** Options for base/web/passkeys, as JSON; null: no passkeys are offered here. */
  readonly passkey: string | null
  /** Whether browsers don't allow passkeys at this address. */
  readonly isBlocked: boolean
}

export type ConfirmModel = Omit<SecondStepModel, 'cancelHref'> & {
  /** `recent`: the user has signed in recently, and only has to agree. */
  readonly way: 'factor' | 'password' | 'sign-in' | 'recent'
  /** A hidden field that identifies the purpose of the confirmation. */
  readonly field: readonly [name: string, value: string]
  /** The text key of the sentence that explains the purpose. By default, the purpose is to change the account. */
  readonly why?: string
  /** Why a script requires the confirmation; null on the page that users open themselves. */
  readonly reason: string | null
  /** Null if the page is in a frame, which the page around it closes. */
  readonly cancelHref: string | null
}

export type AccountModel = StepModel &
  Omit<FactorSet, 'firstAskedAt' | 'factors'> & {
    /** `isElsewhere`: whether the factor is a passkey for another address. */
    readonly factors: readonly (FactorSet['factors'][number] & { readonly isElsewhere: boolean })[]
    /** `isBlocked`: whether browsers don't allow passkeys at this address. */
    readonly passkeys: { readonly isOffered: boolean; readonly isBlocked: boolean }
    readonly solution: { readonly title: string; readonly href: string }
    readonly username: string
    /** Null if the password isn't stored here. */
    readonly passwordHref: string | null
    /** Null if the address isn't stored here. `isMailing`: whether the host can mail a link to the user. */
    readonly email: {
      readonly address: string | null
      readonly isVerified: boolean
      readonly isMailing: boolean
    } | null
    /** The languages by locale, and the current one. */
    readonly language: {
      readonly options: readonly (readonly [locale: string, name: string])[]
      readonly value: string
    }
    /** The directory that checks the user's password; null if none does. */
    readonly directory: string | null
    readonly sessions: readonly {
      readonly id: string
      /** Null if unknown. */
      readonly browser: string | null
      readonly address: string
      readonly createdAt: number
      readonly lastSeenAt: number
      /** Whether this is the session of the current browser. */
      readonly isThis: boolean
    }[]
    readonly entries: readonly { readonly time: number; readonly action: string; readonly outcome: string }[]
    readonly refusal: string | null
    /** The message that confirms the user's last action, in their language; null if there is none. */
    readonly said: string | null
    /** The new email address that the user entered, if it was refused. */
    readonly entered: string | null
    /** Whether the policy asks the user for a second factor at sign-in. If not, a script can still ask for one. */
    readonly isFactorAsked: boolean
  }

export type ForgottenPasswordModel = StepModel & {
  /** Whether the user has requested a link. The page then shows the same text for every outcome. */
  readonly isAsked: boolean
  /** What the user entered. */
  readonly asked: string
  readonly refusal: string | null
  readonly signInHref: string
}

type LinkKind = 'invitation' | 'password' | 'verify' | 'set-up'

export type LinkPasswordModel = StepModel & {
  readonly kind: LinkKind
  readonly token: string
  readonly username: string
  /** The minimum length of a password, in characters. */
  readonly leastLength: number
  readonly refusal: string | null
}

export type LinkAddressModel = StepModel & {
  readonly token: string
  readonly username: string
  readonly address: string
}

export type FirstRefusalModel = {
  readonly faults: readonly DevFinding[]
  /** The page reloads when `statePath` responds with another state. */
  readonly state: string
  readonly statePath: string
}

export type GoesOnModel = {
  readonly href: string
  /** The host name to display. */
  readonly shown: string
}

/** The layout of an administration page, which contains the navigation. */
export type AdminFrame = PageFrame & {
  /** The CSRF token that the page's script sends with API requests; null if no user is signed in. */
  readonly csrfToken: string | null
  /** Whether the session was created with an API token. Such a session can't open pages only for the admin account. */
  readonly isOfToken?: boolean
  /** The navigation entry to highlight, or null. */
  readonly part: AdminPart | null
  readonly script: string
  /** The URL of the guide that explains the page; null if no docs are installed. */
  readonly guide: string | null
  readonly workbench: WorkbenchLinks
}

/** The navigation entries in display order: name and URL. */
const ADMIN_PARTS = {
  solutions: '/admin/',
  users: '/admin/users',
  directories: '/admin/directories',
  sessions: '/admin/sessions',
  tokens: '/admin/tokens',
  audit: '/admin/audit',
  health: '/admin/health',
  maintenance: '/admin/maintenance',
  settings: '/admin/settings',
} as const

export type AdminPart = keyof typeof ADMIN_PARTS

/** The navigation entries that are shown after signing in with an API token. */
const OF_TOKENS: readonly AdminPart[] = ['solutions']

/** The navigation's groups, in display order. */
const ADMIN_GROUPS = {
  deployment: ['solutions'],
  access: ['users', 'directories', 'sessions', 'tokens', 'audit'],
  operation: ['health', 'maintenance', 'settings'],
} as const satisfies Record<string, readonly AdminPart[]>

const templates = loadTemplates([SHARED_PAGES, new URL('pages/', import.meta.url)])
const pageStyles = sharedStyles('tokens', 'fields', 'pages')
const adminStyles = `${pageStyles}\n${sharedStyles('admin', 'admin-operation', 'chart')}`
const page = createPageRenderer(templates, PLATFORM_TEXTS, pageStyles)
/** The account page and the pages of the second step have tables and quiet buttons, as the admin pages do. */
const ofAccount = createPageRenderer(templates, PLATFORM_TEXTS, `${pageStyles}\n${sharedStyles('admin')}`)
/** The script that shows the characters in password fields. */
const passwordScript = makeScript(new URL('../../base/web/scripts/passwords/main.ts', import.meta.url)).text
/** The script that sends the token in the fragment of a link's URL. */
const linkScript = makeScript(new URL('../../base/web/scripts/links/main.ts', import.meta.url)).text
const devStyles = indent(readFileSync(new URL('styles/dev.css', import.meta.url), 'utf8'))
const ofDevelopment = createPageRenderer(templates, PLATFORM_TEXTS, `${pageStyles}\n${devStyles}`)
const ofAdministration = createPageRenderer(templates, PLATFORM_TEXTS, adminStyles, 'admin/')
const ofWorkbench = createPageRenderer(
  templates,
  PLATFORM_TEXTS,
  `${adminStyles}\n${sharedStyles('workbench')}`,
  'admin/',
)

export function solutionListPage(frame: PageFrame, model: SolutionListModel): string {
  return page('solution-list', frame, platformText(frame.locale, 'platform.solutions.title'), model)
}

/**
 * Shows why `solhost dev` could not run the first version of its solution. Chosen here: in English, like the messages
 * of `solhost dev` in the terminal.
 */
export function firstRefusalPage(nonce: string, { faults, ...more }: FirstRefusalModel): string {
  const shown = faults.map((one) => ({ ...one, source: one.source === null ? null : sourceText(one.source) }))
  const heading = counted(faults.length, 'error')
  return ofDevelopment('first-refusal', { locale: 'en', nonce }, heading, { ...more, faults: shown })
}

export function changePasswordPage(frame: PageFrame, model: ChangePasswordModel): string {
  const title = platformText(frame.locale, 'platform.password.title')
  return ofAccount('change-password', frame, title, { ...model, script: passwordScript })
}

export function secondStepPage(frame: PageFrame, model: SecondStepModel): string {
  return withPasskeys('second-step', frame, 'platform.step.title', model)
}

export function confirmPage(frame: PageFrame, model: ConfirmModel): string {
  return withPasskeys('confirm', frame, 'platform.step.title', model)
}

/** The page in the dialog's iframe after the user has confirmed. Passes the proof to the page around the iframe. */
export function confirmedPage(frame: PageFrame, model: OfSolution & { readonly proof: string }): string {
  return page('confirmed', frame, platformText(frame.locale, 'platform.confirm.done'), model)
}

/** The page in the dialog's iframe if the request to confirm a button press has expired. */
export function pressOverPage(frame: PageFrame, model: OfSolution): string {
  return page('press-over', frame, platformText(frame.locale, 'platform.confirm.over.title'), model)
}

/** The set-up of a factor during a sign-in. */
export function setUpPage(frame: PageFrame, model: SetUpModel): string {
  return withPasskeys('factor-set-up', frame, 'platform.setup.title', model)
}

/** The page that asks for a proof before the user sets up a factor during a sign-in. */
export function setUpProofPage(
  frame: PageFrame,
  model: StepModel & {
    readonly kind: 'code' | 'link'
    /** The number of minutes within which a link must be opened. */
    readonly minutes: string
    readonly canPostpone: boolean
    readonly refusal: string | null
    readonly cancelHref: string
  },
): string {
  const title = platformText(frame.locale, 'platform.setup.title')
  return ofAccount('set-up-proof', frame, title, { ...model, script: linkScript })
}

/** The set-up of a factor on the account page. */
export function newAppPage(frame: PageFrame, model: NewAppModel & { readonly cancelHref: string }): string {
  return ofAccount('new-app', frame, platformText(frame.locale, 'platform.setup.own'), model)
}

/** The set-up of a passkey on the account page. */
export function newPasskeyPage(
  frame: PageFrame,
  model: StepModel & { readonly passkey: string; readonly refusal: string | null; readonly cancelHref: string },
): string {
  return withPasskeys('new-passkey', frame, 'platform.passkey.add', model)
}

/** A page whose script uses or creates passkeys. */
function withPasskeys(template: string, frame: PageFrame, title: string, model: object): string {
  return ofAccount(template, frame, platformText(frame.locale, title), { ...model, passkeyScript })
}

export function recoveryCodesPage(frame: PageFrame, model: StepModel & { readonly codes: readonly string[] }): string {
  return ofAccount('recovery-codes', frame, platformText(frame.locale, 'platform.recovery.title'), model)
}

/** Shows that the sign-in has expired or was completed. */
export function stepOverPage(
  frame: PageFrame,
  model: { readonly solution: { readonly title: string }; readonly href: string },
): string {
  return page('step-over', frame, platformText(frame.locale, 'platform.step.over.title'), model)
}

export function accountPage(frame: PageFrame, model: AccountModel): string {
  return ofAccount('account', frame, platformText(frame.locale, 'platform.account.title'), model)
}

export function forgottenPasswordPage(frame: PageFrame, model: ForgottenPasswordModel): string {
  return page('forgotten-password', frame, platformText(frame.locale, 'platform.forgotten.title'), model)
}

/** The page that opens first when the user follows a link from a mail. Its script sends the link's token. */
export function linkOpenedPage(frame: PageFrame, model: StepModel & { readonly kind: LinkKind }): string {
  const title = platformText(frame.locale, `platform.link.${model.kind}.title`)
  return page('link-opened', frame, title, { ...model, script: linkScript })
}

export function linkPasswordPage(frame: PageFrame, model: LinkPasswordModel): string {
  const title = platformText(frame.locale, `platform.link.${model.kind}.title`)
  return page('link-password', frame, title, { ...model, script: passwordScript })
}

export function linkAddressPage(frame: PageFrame, model: LinkAddressModel): string {
  return page('link-address', frame, platformText(frame.locale, 'platform.link.verify.title'), model)
}

export function addressVerifiedPage(
  frame: PageFrame,
  model: { readonly solution: { readonly title: string }; readonly address: string; readonly href: string },
): string {
  return page('address-verified', frame, platformText(frame.locale, 'platform.link.verified.title'), model)
}

export function signedOutPage(frame: PageFrame, model: SignedOutModel): string {
  return page('signed-out', frame, platformText(frame.locale, 'platform.signedout.title'), model)
}

/**
 * A page that navigates to another origin, even without scripts. It replaces an HTTP redirect, which the CSP directive
 * `form-action` would block after a form's POST.
 * @throws TypeError if `href` is neither http, https, mailto nor relative
 */
export function goesOnPage(frame: PageFrame, model: GoesOnModel): string {
  const target = URL.parse(model.href, 'https://relative.invalid')
  if (target === null || !/^(https?|mailto):$/.test(target.protocol)) {
    throw new TypeError(`a page can redirect only to an http, https, mailto or relative URL, not to "${model.href}"`)
  }
  return page('goes-on', frame, platformText(frame.locale, 'platform.goeson.title'), model, { goesOnTo: model.href })
}

/** Shows why a sign-in at a provider failed, what the user can do next, and a reference for support. */
export function oauthProblemPage(frame: PageFrame, model: OAuthProblemModel): string {
  const detailed = `platform.oauth.${model.page}.${model.detail}.title`
  const isKnown = PLATFORM_TEXTS.has(PLATFORM_TEXTS.language(frame.locale), detailed)
  const title = platformText(frame.locale, isKnown ? detailed : `platform.oauth.${model.page}.title`)
  return page('oauth-problem', frame, title, model)
}

/**
 * A page that posts the parameters from the URL's fragment to `action`, with the field `from=fragment`. Browsers don't
 * send the fragment to the host. The page shows a message if there are no parameters or scripts are disabled.
 */
export function fragmentPage(frame: PageFrame, model: FragmentModel): string {
  return page('oauth-fragment', frame, platformText(frame.locale, 'platform.oauth.fragment.title'), model)
}

/**
 * The response to a POST from a provider's page, which browsers send without our SameSite=Lax cookies. This page posts
 * the same fields again from our own origin, with the field `from=form_post`. If scripts are disabled, the user presses
 * a button.
 */
export function repostPage(frame: PageFrame, model: RepostModel): string {
  return page('oauth-repost', frame, platformText(frame.locale, 'platform.goeson.title'), model)
}

/**
 * Renders an administration page.
 * @param template a file in `pages/admin/` or a shared one, without extension
 * @param heading in the user's language
 */
export function adminPage(template: string, frame: AdminFrame, heading: string, model: object): string {
  const { csrfToken, isOfToken = false, part, script, guide, workbench } = frame
  const groups = Object.entries(ADMIN_GROUPS).flatMap(([name, parts]) => {
    const shown = parts.filter((one) => !isOfToken || OF_TOKENS.includes(one))
    return shown.length === 0 ? [] : [{ name, parts: shown.map((one) => [one, ADMIN_PARTS[one]] as const) }]
  })
  const who = { csrfToken, isOfToken }
  const service = {
    texts: 'admin',
    root: '/admin',
    home: '/admin/',
    script,
    ...who,
    part,
    groups,
    guide,
    workbench,
  } as const
  const render = template.startsWith('workbench') ? ofWorkbench : ofAdministration
  return render(template, frame, heading, model, { service })
}
