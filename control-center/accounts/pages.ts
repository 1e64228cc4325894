import type Router from '@koa/router'
import type { Context } from 'koa'
import type { PasskeyRequests } from '../../base/accounts/passkey-requests.ts'
import type { PasswordTickets } from '../../base/accounts/password-tickets.ts'
import { Refusal, type WayOfSigningIn, walkSignIn } from '../../base/accounts/sign-in-steps.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import type { Mail } from '../../base/mail/mail.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { PageSessions } from '../access/page-sessions.ts'
import { OrganisationName, type Organisations, OrganisationTitle } from '../organisations/organisations.ts'
import { sendPage, textFor } from '../pages/page.ts'
import type { CheckedCredentials, Credentials } from './credentials.ts'
import { pageToGoTo, requireOwnForm } from './own-form.ts'
import { passkeyPageOf } from './passkey-page.ts'
import { reasonOf } from './refusal.ts'
import type { SecondStepGate } from './second-step-gate.ts'
import type { SetUp } from './set-up.ts'

export type AccountPageParts = {
  readonly users: Users
  readonly organisations: Organisations
  readonly pageSessions: PageSessions
  readonly credentials: Credentials
  readonly passwordTickets: PasswordTickets
  readonly throttle: Throttle
  readonly mail: Pick<Mail, 'isSetUp'>
  readonly setUp: SetUp
  readonly secondStep: SecondStepGate
  readonly passkeyRequests: Pick<PasskeyRequests, 'askAnybody' | 'use'>
  readonly limits: Limits
}

type Attempt = { readonly ctx: Context; readonly username: string; readonly password: string; readonly to: string }
type PasskeyAttempt = { readonly ctx: Context; readonly answer: string; readonly to: string }
type SignedIn = Pick<Attempt, 'username' | 'to'>
type RejectedCredentials = Exclude<CheckedCredentials, { readonly kind: 'right' }>

/** Signs a user in to the control center with an email address and a password. */
export const BY_CENTER_PAGE: WayOfSigningIn<Context, Attempt, User, SignedIn, AccountPageParts> = {
  async ownPage(ctx, { limits }) {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const [username, password] = [fields.get('username') ?? '', fields.get('password') ?? '']
    return { ctx, username, password, to: pageToGoTo(fields.get('to') ?? '') }
  },
  throttle: { none: '`Credentials` counts each check, including those from other pages.' },
  async source({ ctx, username, password, to }, parts) {
    const checked = await parts.credentials.check(ctx, username, password)
    if (checked.kind === 'right') return checked.user
    return refuse(ctx, { to, username }, checked, parts)
  },
  async secondStep({ ctx, to }, user, { secondStep }) {
    const path = await secondStep.begin(ctx, user, { methods: ['password'], to })
    return path === null ? null : new Refusal(null, () => goTo(ctx, path))
  },
  async accept({ ctx, to }, user, parts) {
    const { username } = user
    const { pageSessions, credentials } = parts
    await pageSessions.end(ctx)
    if (user.mustChangePassword) return demandPassword(ctx, user, to, parts)
    if (!(await pageSessions.start(ctx, user, ['password']))) {
      return refuse(ctx, { to, username }, { kind: 'wrong' }, parts)
    }
    credentials.noteKnown(ctx, username)
    return { username, to }
  },
  audit: (ctx, { username, outcome }, { credentials }) => credentials.note(ctx, username, 'sign-in', outcome),
  redirect: (ctx, { to }) => goTo(ctx, to),
}

/** Signs a user in with a passkey. No second step follows, because the passkey also verified the user. */
export const BY_CENTER_PASSKEY: WayOfSigningIn<Context, PasskeyAttempt, User, SignedIn, AccountPageParts> = {
  async ownPage(ctx, { limits }) {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    return { ctx, answer: fields.get('passkey') ?? '', to: pageToGoTo(fields.get('to') ?? '') }
  },
  // Passkeys can't be guessed, so only the network's limit applies.
  async throttle({ ctx, to }, parts) {
    const wait = await parts.throttle.count(passkeyAttempt(ctx), true)
    if (wait === null) return null
    ctx.set('Retry-After', String(wait))
    return refuse(ctx, { to, username: '' }, { kind: 'throttled', wait }, parts)
  },
  async source({ ctx, answer, to }, parts) {
    const used = await parts.passkeyRequests.use(passkeyPageOf(ctx), 'sign-in', null, answer)
    if (used.kind === 'copied') await parts.credentials.note(ctx, used.user.username, 'passkey-clone', 'refused')
    // A passkey that did not verify its user is accepted only as a second step, after the password.
    const isRight = used.kind === 'right' && used.isVerified && used.account.source === 'users'
    const user = isRight ? await parts.users.get(used.account.uid) : null
    if (user?.enabled) {
      await parts.throttle.succeeded(passkeyAttempt(ctx), true)
      return user
    }
    return refusePasskey(ctx, to, parts)
  },
  secondStep: { none: 'A passkey that verified the user completes both steps.' },
  async accept({ ctx, to }, user, parts) {
    await parts.pageSessions.end(ctx)
    if (user.mustChangePassword) return demandPassword(ctx, user, to, parts)
    if (!(await parts.pageSessions.start(ctx, user, ['passkey']))) return refusePasskey(ctx, to, parts)
    return { username: user.username, to }
  },
  audit: BY_CENTER_PAGE.audit,
  redirect: BY_CENTER_PAGE.redirect,
}

function refuse(
  ctx: Context,
  { to, username }: SignedIn,
  checked: RejectedCredentials,
  parts: AccountPageParts,
): Refusal {
  const outcome = checked.kind === 'wrong' ? 'refused' : 'throttled'
  return new Refusal({ outcome, username }, () => {
    const { status, text } = refusalOf(ctx, checked)
    return showSignIn(ctx, { to, username, refusal: text, isChanged: false }, parts, status)
  })
}

function refusePasskey(ctx: Context, to: string, parts: AccountPageParts): Refusal {
  const refusal = textFor(ctx)('platform.step.passkey')
  const show = () => showSignIn(ctx, { to, username: '', refusal, isChanged: false }, parts, 401)
  return new Refusal({ outcome: 'refused', username: '' }, show)
}

function passkeyAttempt(ctx: Context) {
  return { source: 'center passkey', username: '', address: stateOf(ctx).client.address }
}

/** Refuses a sign-in until the user has chosen a new password. */
function demandPassword(
  ctx: Context,
  user: User,
  to: string,
  { passwordTickets, limits }: Pick<AccountPageParts, 'passwordTickets' | 'limits'>,
): Refusal {
  const show = () => showForced(ctx, { user, to, refusal: null, ticket: passwordTickets.issue(user, '') }, limits)
  return new Refusal({ outcome: 'must-change-password', username: user.username }, show)
}

/**
 * Pages for visitors who are not signed in. Accounts are stored like a host's users, with the email address as the
 * username.
 */
export function addAccountPages(router: Router, parts: AccountPageParts): void {
  const { users, pageSessions, credentials, passwordTickets, throttle, setUp, organisations, limits } = parts
  const { note } = credentials

  router.get('/sign-in', async (ctx) => {
    requireNavigation(ctx)
    if (await setUp.isOpen()) return goTo(ctx, '/set-up')
    const isChanged = ctx.query['password-changed'] !== undefined
    const to = pageToGoTo(String(ctx.query.to ?? ''))
    await showSignIn(ctx, { to, username: '', refusal: null, isChanged }, parts)
  })

  router.post('/sign-in', (ctx) => walkSignIn(BY_CENTER_PAGE, ctx, parts))
  router.post('/sign-in/passkey', (ctx) => walkSignIn(BY_CENTER_PASSKEY, ctx, parts))

  router.post('/change-password', async (ctx) => {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const [ticket, wanted] = [fields.get('ticket') ?? '', fields.get('new') ?? '']
    const to = pageToGoTo(fields.get('to') ?? '')
    const user = await passwordTickets.read(ticket, '')
    const signIn = `/sign-in?to=${encodeURIComponent(to)}`
    if (!user?.mustChangePassword) return goTo(ctx, signIn)
    const text = textFor(ctx)
    const refuse = (refusal: string) => showForced(ctx, { user, ticket, to, refusal }, limits, 422)
    if (wanted !== fields.get('repeat')) return refuse(text('platform.password.differ'))
    const fault = await users.choosePassword(user, wanted)
    await note(ctx, user.username, 'password-change', fault === null ? 'ok' : 'refused')
    if (fault === 'changed') return goTo(ctx, signIn)
    if (fault !== null) return refuse(text(fault.key, ...fault.values))
    goTo(ctx, `/sign-in?password-changed&to=${encodeURIComponent(to)}`)
  })

  router.post('/sign-out', async (ctx) => {
    requireOwnForm(ctx)
    const found = await pageSessions.find(ctx)
    const token = (await readForm(ctx, limits)).get('csrf_token') ?? ''
    if (found !== null && pageSessions.isCsrfToken(found.cookie, token)) {
      await pageSessions.end(ctx)
      await note(ctx, found.session.username, 'sign-out', 'ok')
    }
    goTo(ctx, '/sign-in')
  })

  router.get('/set-up', async (ctx) => {
    requireNavigation(ctx)
    if (!(await setUp.isOpen())) return goTo(ctx, '/sign-in')
    showSetUp(ctx, { values: {}, refusal: null }, limits)
  })

  router.post('/set-up', async (ctx) => {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const field = (name: string) => (fields.get(name) ?? '').trim()
    const values = { organisation: field('organisation'), title: field('title'), username: field('username') }
    const text = textFor(ctx)
    const refuse = (refusal: string) => showSetUp(ctx, { values, refusal }, limits, 422)
    if (!(await setUp.isOpen())) return goTo(ctx, '/sign-in')
    const wait = await throttle.count({ source: 'set-up', username: '', address: stateOf(ctx).client.address }, false)
    if (wait !== null) return refuse(text('admin.signin.throttled', Math.ceil(wait / 60)))
    if (!setUp.isCode(field('code'))) return refuse(text('center.setup.wrong'))
    const name = OrganisationName.safeParse(values.organisation)
    if (!name.success) return refuse(text('center.setup.name.wrong'))
    try {
      const user = await users.create({
        username: values.username,
        email: values.username,
        password: fields.get('password') ?? '',
        mustChangePassword: false,
      })
      const title = OrganisationTitle.catch(name.data).parse(values.title)
      await organisations.create({ name: name.data, title }, user.uid)
      setUp.close()
      await pageSessions.start(ctx, user, ['password'])
      await note(ctx, user.username, 'set-up', 'ok')
      goTo(ctx, '/')
    } catch (error) {
      refuse(reasonOf(text, error))
    }
  })
}

/** The response status and text for a rejected attempt. */
export function refusalOf(
  ctx: Context,
  checked: RejectedCredentials,
): { readonly status: 401 | 429; readonly text: string } {
  const text = textFor(ctx)
  if (checked.kind === 'wrong') return { status: 401, text: text('center.signin.refused') }
  return { status: 429, text: text('admin.signin.throttled', Math.ceil(checked.wait / 60)) }
}

type SignInModel = {
  readonly to: string
  readonly username: string
  readonly refusal: string | null
  /** Whether the password was just changed. */
  readonly isChanged: boolean
}

async function showSignIn(
  ctx: Context,
  { isChanged, ...shown }: SignInModel,
  { mail, passkeyRequests }: Pick<AccountPageParts, 'mail' | 'passkeyRequests'>,
  status = 200,
): Promise<void> {
  const text = textFor(ctx)
  const model = {
    ...shown,
    passkey: await passkeyRequests.askAnybody(passkeyPageOf(ctx), false),
    passkeyScript,
    name: { label: text('center.mail'), type: 'email' },
    said: isChanged ? text('platform.password.changed') : null,
    // Users who forgot their password can request a link by email.
    forgot: mail.isSetUp
      ? { text: text('userlink.forgot'), href: '/forgot-password' }
      : { text: text('center.forgot.nomail') },
  }
  sendPage(ctx, { template: 'sign-in', heading: text('center.signin.title'), model, status }, null)
}

type ForcedModel = {
  readonly user: User
  readonly ticket: string
  readonly to: string
  readonly refusal: string | null
}

/** The page where users must choose a new password before they are signed in. */
export function showForced(ctx: Context, { user, ...shown }: ForcedModel, limits: Limits, status = 200): void {
  const model = { ...shown, username: user.username, leastLength: limits.PASSWORD_LENGTH }
  const heading = textFor(ctx)('platform.password.title')
  sendPage(ctx, { template: 'change-password', heading, model, status }, null)
}

type SetUpModel = { readonly values: Readonly<Record<string, string>>; readonly refusal: string | null }

function showSetUp(ctx: Context, shown: SetUpModel, limits: Limits, status = 200): void {
  const model = { ...shown, leastLength: limits.PASSWORD_LENGTH }
  sendPage(ctx, { template: 'set-up', heading: textFor(ctx)('center.setup.title'), model, status }, null)
}
