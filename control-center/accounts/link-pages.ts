import type { Context } from 'koa'
import { LONGEST_PASSWORD } from '../../base/accounts/password-rules.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import { stateOf } from '../../base/http/request.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { sendPage, textFor } from '../pages/page.ts'

// What pages have in common that links of mails lead to, and those that such links are asked for at: accounts and users of solutions.

/**
 * What a link shows first: `{path}#token=…`. The page's script (control-center/web/scripts/send-fragment.ts) sends the token on
 * as a form, so that it is part of no address, and in the log of no server or proxy.
 * @param path that the form is sent to
 */
export function showOpened(ctx: Context, path: string, heading: string, said: string): void {
  sendPage(ctx, { template: 'link-opened', heading, model: { path, said } }, null)
}

export type Said = {
  readonly said: string
  /** Whether a link leads on to the sign-in, which is none of users of solutions. */
  readonly isOfAccount: boolean
}

export function showSaid(ctx: Context, heading: string, model: Said, status = 200): void {
  sendPage(ctx, { template: 'link-said', heading, model, status }, null)
}

/** The same for a link that never was: nobody learns which there are. */
export function showOver(ctx: Context, model: Said): void {
  showSaid(ctx, textFor(ctx)('userlink.over'), model, 404)
}

export type PasswordChoice = {
  /** That the form is sent to. */
  readonly path: string
  readonly token: string
  readonly username: string
  /** Whose password it is to be. */
  readonly said: string
  /** Null: nothing was tried yet. */
  readonly refusal: string | null
}

export function showPasswordChoice(ctx: Context, heading: string, choice: PasswordChoice, limits: Limits): void {
  const model = { ...choice, leastLength: limits.PASSWORD_LENGTH, longest: LONGEST_PASSWORD }
  sendPage(ctx, { template: 'link-password', heading, model, status: choice.refusal === null ? 200 : 422 }, null)
}

/** `said`: what to type, and what for. What is asked for is a mail address where it is of an account. */
export type ForgotPage = Said & {
  readonly label: string
  /** What is said whatever came of it. */
  readonly done: string
}

/** @param state a number: how many seconds to wait before asking again */
export function showForgot(ctx: Context, page: ForgotPage, state: 'ask' | 'asked' | number): void {
  const isThrottled = typeof state === 'number'
  const model = { ...page, isAsked: state === 'asked', minutes: isThrottled ? Math.ceil(state / 60) : null }
  const heading = textFor(ctx)('userlink.forgot')
  sendPage(ctx, { template: 'forgot-password', heading, model, status: isThrottled ? 429 : 200 }, null)
}

/**
 * Asked again and again, a request for a new password is as good as a guess: counted as such, before anything is looked up.
 * @param isKnown whether the browser signed in to that account before
 * @returns the seconds until the next try; null: it may go on
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

/** Whoever tries tokens that there are none of is counted by network. @throws ERR_THROTTLED */
export async function findLink<Found>(
  ctx: Context,
  throttle: Throttle,
  find: () => Promise<Found | null>,
): Promise<Found | null> {
  const attempt = { source: 'link', username: '' }
  const wait = await countAttempt(ctx, throttle, attempt, true)
  if (wait !== null) {
    throw new PlatformError('ERR_THROTTLED', `Too many attempts; try again in ${wait} seconds.`, { retryAfter: wait })
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
