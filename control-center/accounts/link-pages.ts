import type { Context } from 'koa'
import { LONGEST_PASSWORD } from '../../base/accounts/password-rules.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import { stateOf } from '../../base/http/request.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type ShownPage, sendPage, textFor } from '../pages/page.ts'

// Code for the pages that mailed links open, and for the pages where users request these links. Accounts and users of
// solutions both use them.

/**
 * Shows the page that a link opens first: `{path}#token=…`. Its script (base/web/scripts/links/send-fragment.ts) sends
 * the token in a form. Browsers never send a URL's fragment, so the token is not in the logs of servers and proxies.
 * @param path the form's target
 */
export function showOpened(ctx: Context, path: string, heading: string, said: string): void {
  sendPage(ctx, { template: 'link-opened', heading, model: { path, said } }, null)
}

/** The appearance of the solution that the user belongs to; null for the control center's own appearance. */
type PageBrand = NonNullable<ShownPage['brand']> | null

export type Said = {
  readonly said: string
  /** Whether to link to the sign-in page. Users of solutions don't have a sign-in page here. */
  readonly isOfAccount: boolean
}

export function showSaid(ctx: Context, heading: string, model: Said, status = 200, brand: PageBrand = null): void {
  sendPage(ctx, { template: 'link-said', heading, model, status, brand }, null)
}

/**
 * Shows the page for an invalid link. Expired, used and unknown links all get the same page, so it doesn't reveal which
 * links existed.
 */
export function showOver(ctx: Context, model: Said): void {
  showSaid(ctx, textFor(ctx)('userlink.over'), model, 404)
}

export type PasswordChoice = {
  /** The path that the page sends its form to. */
  readonly path: string
  readonly token: string
  readonly username: string
  /** Shown on the page, so that users know whose password they change. */
  readonly said: string
  /** Null before the first attempt. */
  readonly refusal: string | null
}

export function showPasswordChoice(
  ctx: Context,
  heading: string,
  choice: PasswordChoice,
  limits: Limits,
  brand: PageBrand = null,
): void {
  const model = { ...choice, leastLength: limits.PASSWORD_LENGTH, longest: LONGEST_PASSWORD }
  sendPage(ctx, { template: 'link-password', heading, model, status: choice.refusal === null ? 200 : 422, brand }, null)
}

/**
 * The page for requesting a link. `said` explains what to enter and why. If `isOfAccount`, the field expects an email
 * address.
 */
export type ForgotPage = Said & {
  readonly label: string
  /** The text after a request, which is the same for every outcome. */
  readonly done: string
}

/** @param state `ask` before a request, `asked` after one, or the number of seconds to wait before the next one */
export function showForgot(
  ctx: Context,
  page: ForgotPage,
  state: 'ask' | 'asked' | number,
  brand: PageBrand = null,
): void {
  const isThrottled = typeof state === 'number'
  const model = { ...page, isAsked: state === 'asked', minutes: isThrottled ? Math.ceil(state / 60) : null }
  const heading = textFor(ctx)('userlink.forgot')
  sendPage(ctx, { template: 'forgot-password', heading, model, status: isThrottled ? 429 : 200, brand }, null)
}

/**
 * Counts a password reset request as an attempt, before the account is looked up. Otherwise, such requests could be
 * used to guess account names.
 * @param isKnown whether the browser signed in to that account before
 * @returns the seconds until the next attempt; null if the request is allowed
 */
export function countForgot(
  ctx: Context,
  throttle: Throttle,
  source: string,
  username: string,
  isKnown = false,
): Promise<number | null> {
  return countAttempt(ctx, throttle, { source, username }, isKnown)
}

/** Looks up the token of a link. Attempts with unknown tokens are counted per network. @throws ERR_THROTTLED */
export async function findLink<Found>(
  ctx: Context,
  throttle: Throttle,
  find: () => Promise<Found | null>,
): Promise<Found | null> {
  const attempt = { source: 'link', username: '' }
  const wait = await countAttempt(ctx, throttle, attempt, true)
  if (wait !== null) {
    throw new PlatformError('ERR_THROTTLED', `Too many attempts. Try again in ${wait} s.`, { retryAfter: wait })
  }
  const found = await find()
  if (found !== null) await throttle.succeeded({ ...attempt, address: stateOf(ctx).client.address }, true)
  return found
}

async function countAttempt(
  ctx: Context,
  throttle: Throttle,
  attempt: { readonly source: string; readonly username: string },
  isKnown: boolean,
): Promise<number | null> {
  const wait = await throttle.count({ ...attempt, address: stateOf(ctx).client.address }, isKnown)
  if (wait !== null) ctx.set('Retry-After', String(wait))
  return wait
}
