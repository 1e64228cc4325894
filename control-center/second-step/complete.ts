import type { Context } from 'koa'
import { enteredMethod, type FactorAnswer, outcomeOf } from '../../base/accounts/check-factor.ts'
import type { FoundSignIn } from '../../base/accounts/open-sign-ins.ts'
import { Refusal, type WayOfSigningIn } from '../../base/accounts/sign-in-steps.ts'
import type { User } from '../../base/accounts/users.ts'
import { readCookies, setCookie } from '../../base/http/cookies.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { cookieScopeOf, REALM } from '../access/page-sessions.ts'
import { requireOwnForm } from '../accounts/own-form.ts'
import { showForced } from '../accounts/pages.ts'
import { TITLE } from '../accounts/passkey-page.ts'
import { sendPage, textFor } from '../pages/page.ts'
import { type MemberSignIn, nextStepOf } from './gate.ts'
import type { SecondStepParts } from './parts.ts'

/** The submitted form of a step page, and the sign-in that this browser has begun. */
export type StepAttempt = {
  readonly ctx: Context
  readonly fields: ReadonlyMap<string, string>
  readonly found: FoundSignIn<MemberSignIn>
}

/** A way of signing in that one of the step pages offers. */
export type StepWay = WayOfSigningIn<Context, StepAttempt, StepAttempt, SignedIn, SecondStepParts>
type SignedIn = { readonly username: string; readonly to: string }

/** The parts of a sign-in that are the same for all step pages. */
export const STEP_WAY: Pick<StepWay, 'ownPage' | 'accept' | 'audit' | 'redirect'> = {
  async ownPage(ctx, parts) {
    requireOwnForm(ctx)
    const found = await findOpen(ctx, parts)
    if (found === null) return new Refusal(null, () => showOver(ctx))
    return { ctx, found, fields: await readForm(ctx, parts.limits) }
  },
  accept: (_attempt, done, parts) => complete(done, parts),
  audit: (ctx, { username, outcome }, { credentials }) => credentials.note(ctx, username, 'sign-in', outcome),
  redirect: (ctx, { to }) => goTo(ctx, to),
}

/** @returns this browser's unfinished sign-in, or null */
export function findOpen(ctx: Context, { openSignIns }: SecondStepParts) {
  return openSignIns.find(REALM, readCookies(ctx, 'step', cookieScopeOf(ctx)))
}

/** @returns null if the account was disabled or its password changed after the first step */
export async function userOf({ open }: FoundSignIn<MemberSignIn>, { users }: SecondStepParts): Promise<User | null> {
  const user = await users.get(open.account.uid)
  return user?.enabled && user.passwordChangedAt === open.passwordChangedAt ? user : null
}

/** Starts the session if all sign-in steps are complete. Of several parallel requests, exactly one succeeds. */
async function complete({ ctx, found }: StepAttempt, parts: SecondStepParts): Promise<SignedIn | Refusal> {
  const { username, to, methods } = found.open
  const { openSignIns, pageSessions, passwordTickets, credentials, limits } = parts
  const user = await userOf(found, parts)
  const next = user && (await nextStepOf(user, methods, parts))
  if (next !== null) return new Refusal(null, () => goTo(ctx, next))
  if (user === null || !(await openSignIns.finish(found))) {
    return new Refusal({ outcome: 'refused', username }, () => showOver(ctx))
  }
  setCookie(ctx, 'step', cookieScopeOf(ctx), null)
  await pageSessions.end(ctx)
  if (user.mustChangePassword) {
    const shown = { user, to, refusal: null, ticket: passwordTickets.issue(user, '') }
    return new Refusal({ outcome: 'must-change-password', username }, () => showForced(ctx, shown, limits))
  }
  if (!(await pageSessions.start(ctx, user, methods))) {
    return new Refusal({ outcome: 'refused', username }, () => showOver(ctx))
  }
  credentials.noteKnown(ctx, username)
  return { username, to }
}

/** Shows the page for a sign-in that has expired or is already complete. */
export function showOver(ctx: Context): void {
  const heading = textFor(ctx)('platform.step.over.title')
  sendPage(ctx, { template: 'step-over', heading, model: { href: '/sign-in' }, status: 410 }, null)
}

/** The data that the templates of all pages with a form need. @param formToken '' if there is no session yet */
export function formModel(action: string, formToken: string) {
  return { solution: { title: TITLE }, action, formToken }
}

/** Records the use of a factor in the audit log. If the passkey seems to have been copied, adds a second entry. */
export async function noteAnswer(
  ctx: Context,
  username: string,
  action: 'second-step' | 'confirm',
  fields: ReadonlyMap<string, string>,
  answer: FactorAnswer,
  { credentials }: Pick<SecondStepParts, 'credentials'>,
): Promise<void> {
  await credentials.note(ctx, username, action, outcomeOf(answer), enteredMethod(fields))
  if (answer.kind === 'copied') await credentials.note(ctx, username, 'passkey-clone', 'refused')
}
