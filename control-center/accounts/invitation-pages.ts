import type Router from '@koa/router'
import type { Context } from 'koa'
import type { User, Users } from '../../base/accounts/users.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { callerOf } from '../access/access.ts'
import { type Audit, recorded } from '../access/audit.ts'
import type { Confirmations } from '../access/confirmations.ts'
import type { PageSessions } from '../access/page-sessions.ts'
import type { Invitations, OpenInvitation } from '../organisations/invitations.ts'
import { type PageText, sendPage, textFor } from '../pages/page.ts'
import type { Credentials } from './credentials.ts'
import { showOpened } from './link-pages.ts'
import { requireOwnForm } from './own-form.ts'
import { refusalOf } from './pages.ts'
import { reasonOf } from './refusal.ts'
import type { SecondStepGate } from './second-step-gate.ts'

export type InvitationPageParts = {
  readonly users: Users
  readonly invitations: Invitations
  readonly pageSessions: PageSessions
  readonly credentials: Credentials
  readonly confirmations: Confirmations
  readonly secondStep: SecondStepGate
  readonly audit: Audit
  readonly limits: Limits
}

/** Why the last attempt failed; null before the first attempt. */
type Refusal = { readonly status: number; readonly text: string } | null

/** The user who accepts an invitation, or the reason why it can't be accepted. */
type Found = { readonly user: User } | { readonly refusal: Refusal }

/**
 * The page that an invitation's link opens: `/invitation#token=…`. The page's script
 * (base/web/scripts/links/send-fragment.ts) sends the token in a form, so that it is never part of a URL.
 *
 * People without an account for the invited address choose a password, which creates an account. People with an account
 * enter its password. Chosen here: signed-in users can instead accept with their current account, since people have
 * more than one address. The audit log then contains both addresses.
 */
export function addInvitationPages(router: Router, parts: InvitationPageParts): void {
  const { users, invitations, pageSessions, credentials, confirmations, secondStep, audit, limits } = parts

  router.get('/invitation', (ctx) => {
    requireNavigation(ctx)
    const text = textFor(ctx)
    showOpened(ctx, '/invitation', text('center.invitation.title'), text('center.invitation.open'))
  })

  router.post('/invitation', async (ctx) => {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const token = fields.get('token') ?? ''
    const invitation = await invitations.find(token)
    if (invitation === null) return showVoid(ctx)
    const password = fields.get('password') ?? ''
    const found = await personOf(ctx, invitation, fields.get('as') ?? '', password)
    if ('refusal' in found) return show(ctx, token, invitation, found.refusal)
    await accept(ctx, token, invitation, found.user, fields.get('as') === 'new')
  })

  async function personOf(ctx: Context, { email }: OpenInvitation, as: string, password: string): Promise<Found> {
    const caller = callerOf(ctx)
    if (as === 'me') return caller?.kind === 'person' ? { user: caller.user } : { refusal: null }
    if (as === 'existing') return signIn(ctx, email, password)
    return as === 'new' ? makeAccount(textFor(ctx), email, password) : { refusal: null }
  }

  async function signIn(ctx: Context, email: string, password: string): Promise<Found> {
    const checked = await credentials.check(ctx, email, password)
    if (checked.kind !== 'right') {
      await credentials.note(ctx, email, 'sign-in', checked.kind === 'wrong' ? 'refused' : 'throttled')
      return { refusal: refusalOf(ctx, checked) }
    }
    const text = textFor(ctx)
    if (checked.user.mustChangePassword) {
      return { refusal: { status: 422, text: text('center.invitation.mustchange') } }
    }
    // For an account with a second factor, the password alone must not be enough to join an organisation.
    if (!(await confirmations.hasFactor(checked.user.uid))) return { user: checked.user }
    return { refusal: { status: 422, text: text('center.invitation.secondstep') } }
  }

  async function makeAccount(text: PageText, email: string, password: string): Promise<Found> {
    try {
      return { user: await users.create({ username: email, email, password, mustChangePassword: false }) }
    } catch (error) {
      return { refusal: { status: 422, text: reasonOf(text, error) } }
    }
  }

  async function accept(
    ctx: Context,
    token: string,
    invitation: OpenInvitation,
    user: User,
    isNew: boolean,
  ): Promise<void> {
    const { organisation, email } = invitation
    const caller = callerOf(ctx)
    const actor = { name: `user:${user.username}`, organisation }
    const act = { action: 'invitation-accept', target: email }
    await recorded(ctx, audit, actor, act, async () => {
      if ((await invitations.accept(token, user.uid)) !== null) return
      throw new PlatformError(
        'ERR_NOT_FOUND',
        'This invitation has already been accepted or revoked. Ask for a new one.',
      )
    })
    const to = `/o/${organisation.name}`
    const isSame = caller?.kind === 'person' && caller.user.uid === user.uid
    const methods = isSame ? caller.session.session.methods : (['password'] as const)
    // The user has just created the account, so they can set up a second factor without further proof of identity.
    const path = await secondStep.begin(ctx, user, { methods, to, isProved: isNew })
    if (path !== null || !isSame) await pageSessions.end(ctx)
    if (path !== null) return goTo(ctx, path)
    if (!isSame) {
      const isStarted = await pageSessions.start(ctx, user, methods)
      if (isStarted) credentials.noteKnown(ctx, user.username)
      await credentials.note(ctx, user.username, 'sign-in', isStarted ? 'ok' : 'refused')
    }
    goTo(ctx, to)
  }

  async function show(ctx: Context, token: string, invitation: OpenInvitation, refusal: Refusal): Promise<void> {
    const caller = callerOf(ctx)
    const { organisation, role, email } = invitation
    const model = {
      token,
      role,
      email,
      title: organisation.title,
      me: caller?.kind === 'person' ? caller.user.username : null,
      hasAccount: (await users.find(email)) !== null,
      leastLength: limits.PASSWORD_LENGTH,
      refusal: refusal?.text ?? null,
    }
    const heading = textFor(ctx)('center.invitation.title')
    sendPage(ctx, { template: 'invitation', heading, model, status: refusal?.status ?? 200 }, null)
  }
}

function showVoid(ctx: Context): void {
  const heading = textFor(ctx)('center.invitation.title')
  sendPage(ctx, { template: 'invitation-void', heading, model: {}, status: 410 }, null)
}
