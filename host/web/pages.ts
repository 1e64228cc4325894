import { readdirSync, readFileSync } from 'node:fs'
import { Eta } from 'eta/core'
import type { OAUTH_PROBLEMS, OAuthProblemCode } from '../oauth/problems.ts'
import { platformLanguage, platformText, TEXTS } from './texts.ts'

/** What every page needs: whom it speaks to and the nonce of its Content-Security-Policy. */
export type PageFrame = {
  /** A BCP 47 tag such as 'nl-BE'. Texts fall back to 'nl', then 'en'; dates follow the whole tag. */
  readonly locale: string
  readonly nonce: string
  /** The document's title; by default the page's heading. */
  readonly title?: string
}

export type ErrorKind =
  | 'not-found'
  | 'method'
  | 'too-large'
  | 'content-type'
  | 'unknown-host'
  | 'forbidden'
  | 'stopping'
  | 'maintenance'
  | 'mode-unavailable'
  | 'broken'
  | 'busy'
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

export type SolutionListModel = {
  readonly solutions: readonly { readonly name: string; readonly title: string; readonly href: string }[]
  readonly sharedOrigin: boolean
}

export type ClientModel = {
  readonly solution: { readonly name: string; readonly title: string }
  /** null: a solution without sign-in. */
  readonly user: null | {
    readonly username: string
    readonly uid: string
    readonly permissions: readonly string[]
    readonly tenant: readonly (string | number)[] | null
    readonly locale: string
    /** Epoch ms. */
    readonly loggedInAt: number
  }
  /** `onSolutionOpen` failed. */
  readonly outcome?: { readonly reference: string }
  readonly logoutAction: string
  /** null: the account has no password here. */
  readonly changePasswordHref: string | null
  readonly formToken: string
}

export type SignedOutModel = {
  readonly solution: { readonly title: string }
  readonly signInHref: string
  /** Where the user may still be signed in, since that provider offers no sign-out of its own. */
  readonly provider?: string | null | undefined
}

export type OAuthProblemModel = {
  readonly page: (typeof OAUTH_PROBLEMS)[OAuthProblemCode]['page']
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

export type AdminOverviewModel = {
  readonly solutions: readonly {
    readonly name: string
    readonly title: string
    readonly type: string
    readonly authenticator: string
    /** SHA-256 of the active bundle. */
    readonly active: string | null
    readonly version: string | null
    /** 'active', 'quarantined' or 'inactive'; another one is shown as it is. */
    readonly state: string
  }[]
  readonly sharedOrigin: boolean
}

/** Every template of `pages/`, compiled once: nothing is read from disk while a request waits. */
const templates = new Eta({ autoEscape: true })
for (const file of readdirSync(new URL('pages/', import.meta.url))) {
  templates.loadTemplate(file.replace(/\.eta$/, ''), readText(`pages/${file}`))
}
const tokens = readText('styles/tokens.css')
const fields = readText('styles/fields.css')
const pageStyles = indent(tokens + fields + readText('styles/pages.css'))
const loginTemplate = templates.render('login', { styles: indent(tokens + fields + readText('styles/login.css')) })

/** States of a solution and how they look. */
const STATES: Readonly<Record<string, 'good' | 'bad' | 'quiet'>> = {
  active: 'good',
  quarantined: 'bad',
  inactive: 'quiet',
}

/** What happened, what the person can do next, and the reference for support. Never a stack. */
export function errorPage(frame: PageFrame, model: ErrorModel): string {
  return page('error', frame, platformText(frame.locale, `platform.error.${model.kind}.title`), model)
}

export function solutionListPage(frame: PageFrame, model: SolutionListModel): string {
  return page('solution-list', frame, platformText(frame.locale, 'platform.solutions.title'), model)
}

/** What a signed-in user sees until a solution's own forms are shown. */
export function clientPage(frame: PageFrame, model: ClientModel): string {
  return page('client', frame, model.solution.title, model)
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
  return page('goes-on', frame, platformText(frame.locale, 'platform.goeson.title'), model, model.href)
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

export function adminOverviewPage(frame: PageFrame, model: AdminOverviewModel): string {
  return page('admin-overview', frame, platformText(frame.locale, 'platform.admin.solutions'), model)
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

const MOST_FORMATS = 100
/** Characters of a name from outside that a page shows. */
const MOST_SHOWN = 120
/** Chosen here: with the time zone's name, since the server's need not be the reader's. */
const dateFormat = keptByLocale((locale) => {
  const options = { year: 'numeric', month: 'long', day: 'numeric', hour: 'numeric', minute: '2-digit' } as const
  return new Intl.DateTimeFormat(locale, { ...options, timeZoneName: 'short' })
})
const secondsFormat = keptByLocale(
  (language) => new Intl.NumberFormat(language, { style: 'unit', unit: 'second', unitDisplay: 'long' }),
)
const languageNames = keptByLocale(
  (language) => new Intl.DisplayNames([language], { type: 'language', languageDisplay: 'standard' }),
)

/**
 * A page in the shared layout. The model stays below a key of its own, so that no value can take the place of the
 * layout's.
 */
function page(template: string, frame: PageFrame, heading: string, model: object, goesOnTo?: string): string {
  const language = platformLanguage(frame.locale)
  const text = (key: string, ...values: readonly (string | number)[]) => platformText(language, key, values)
  return templates.render(template, {
    page: {
      language,
      nonce: frame.nonce,
      heading,
      title: frame.title ?? `${heading} · Solhost`,
      styles: pageStyles,
      goesOnTo,
    },
    model,
    text,
    hasText: (key: string) => TEXTS.get(language)?.has(key) === true,
    parts: (key: string, ...values: readonly (string | null)[]) => partsOf(text(key), values),
    shortened,
    seconds: (count: number) => secondsFormat(language).format(Math.max(1, Math.ceil(count))),
    initial: firstLetter,
    languageName: (locale: string) => languageName(language, locale),
    date: (time: number) => dateFormat(isLocale(frame.locale) ? frame.locale : language).format(time),
    stateKind: (state: string) => (Object.hasOwn(STATES, state) ? STATES[state] : 'quiet'),
    stateName: (state: string) => (Object.hasOwn(STATES, state) ? text(`platform.admin.state.${state}`) : state),
  })
}

/** A text taken apart at its placeholders, so that a value's direction of writing leaves the rest alone. */
function partsOf(text: string, values: readonly (string | null)[]): { text: string; value: string | null }[] {
  return text.split(/(\{\d+\})/).map((part) => {
    const value = /^\{\d+\}$/.test(part) ? values[Number(part.slice(1, -1))] : undefined
    return { text: part, value: value == null ? null : shortened(value) }
  })
}

function shortened(name: string): string {
  const characters = [...name.trim().slice(0, 2 * MOST_SHOWN + 2)]
  return characters.length > MOST_SHOWN ? `${characters.slice(0, MOST_SHOWN).join('')}…` : characters.join('')
}

/**
 * Formats that are made anew cost more than the rest of a page. Locales come from scripts and browsers, so only some are
 * kept.
 */
function keptByLocale<T>(make: (locale: string) => T): (locale: string) => T {
  const made = new Map<string, T>()
  return (locale) => {
    const known = made.get(locale)
    if (known !== undefined) return known
    if (made.size >= MOST_FORMATS) made.clear()
    const one = make(locale)
    made.set(locale, one)
    return one
  }
}

/** 'nl-BE' -> 'Dutch (Belgium)'; what is no locale stays out. */
function languageName(language: string, locale: string): string {
  if (!isLocale(locale)) return ''
  return languageNames(language).of(locale) ?? ''
}

function isLocale(locale: string): boolean {
  try {
    return Intl.getCanonicalLocales(locale).length > 0
  } catch {
    return false
  }
}

function firstLetter(title: string): string {
  const [first] = new Intl.Segmenter().segment(title.trim())
  return first?.segment.toLocaleUpperCase() ?? '·'
}

function readText(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}

function indent(styles: string): string {
  return styles.trimEnd().replace(/^(?=.)/gm, '    ')
}
