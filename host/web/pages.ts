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
  | 'throttled'
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

/** Every template of `pages/`, compiled once: nothing is read from disk while a request waits. */
const templates = new Eta({ autoEscape: true })
for (const file of readdirSync(new URL('pages/', import.meta.url), { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.eta')) templates.loadTemplate(file.replace(/\.eta$/, ''), readText(`pages/${file}`))
}
const tokens = readText('styles/tokens.css')
const fields = readText('styles/fields.css')
const pageStyles = indent(tokens + fields + readText('styles/pages.css'))
const adminStyles = `${pageStyles}\n${indent(readText('styles/admin.css') + readText('styles/admin-operation.css'))}`
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
 * @param template one of `pages/admin/`, without its ending
 * @param heading in the reader's language
 */
export function adminPage(template: string, frame: AdminFrame, heading: string, model: object): string {
  const { csrfToken, part, script } = frame
  const admin = { csrfToken, part, script, parts: Object.entries(ADMIN_PARTS), styles: adminStyles }
  return page(`admin/${template}`, frame, heading, model, { admin })
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
const secondsFormat = keptByLocale(
  (language) => new Intl.NumberFormat(language, { style: 'unit', unit: 'second', unitDisplay: 'long' }),
)
/** Chosen here: the times of the administration are UTC, as those of logs are, whatever the browser's clock says. */
const timeFormat = keptByLocale(
  (locale) => new Intl.DateTimeFormat(known(locale), { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' }),
)
const countFormat = keptByLocale((locale) => new Intl.NumberFormat(known(locale), { maximumFractionDigits: 1 }))
/** What browsers send as a language may be none. */
const known = (locale: string) => (Intl.DateTimeFormat.supportedLocalesOf(locale).length > 0 ? locale : 'en')

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB'] as const

/** Such as '1.2 MB'; a unit is 1024 of the one before. */
function bytesText(locale: string, count: number): string {
  const step = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10))
  return `${countFormat(locale).format(count / 1024 ** step)} ${BYTE_UNITS[step]}`
}

/**
 * A page in the shared layout. The model stays below a key of its own, so that no value can take the place of the
 * layout's.
 */
function page(template: string, frame: PageFrame, heading: string, model: object, more: object = {}): string {
  const language = platformLanguage(frame.locale)
  const text = (key: string, ...values: readonly (string | number)[]) => platformText(language, key, values)
  return templates.render(template, {
    page: {
      language,
      nonce: frame.nonce,
      heading,
      title: frame.title ?? `${heading} · Solhost`,
      styles: pageStyles,
      locale: frame.locale,
      ...more,
    },
    model,
    text,
    hasText: (key: string) => TEXTS.get(language)?.has(key) === true,
    parts: (key: string, ...values: readonly (string | null)[]) => partsOf(text(key), values),
    shortened,
    seconds: (count: number) => secondsFormat(language).format(Math.max(1, Math.ceil(count))),
    initial: firstLetter,
    time: (at: number) => timeFormat(frame.locale).format(at),
    bytes: (count: number) => bytesText(frame.locale, count),
    count: (value: number) => countFormat(frame.locale).format(value),
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
