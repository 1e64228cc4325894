import type { Context } from 'koa'
import { accountId } from '../../base/accounts/factor-account.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { Users } from '../../base/accounts/users.ts'
import { DONE } from '../../base/api/route.ts'
import { MailAddress } from '../../base/config/mail-address.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import type { MailText } from '../../base/mail/hand-over.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { MailOrigin } from '../../base/mail/mail-shares.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { Access, Member as AskingMember } from '../access/access.ts'
import { personsFactors } from '../access/confirmations.ts'
import { publicOriginOf } from '../access/page-sessions.ts'
import { RoleName } from '../access/roles.ts'
import { type MemberRoute, route } from '../access/route.ts'
import { textFor } from '../pages/page.ts'
import type { Invitations, Invitation as StoredInvitation } from './invitations.ts'
import { type ListedMember, noMember, type Organisations } from './organisations.ts'

export type MemberApiParts = {
  readonly access: Access
  readonly organisations: Organisations
  readonly invitations: Invitations
  readonly mail: Mail
  readonly factors: Pick<Factors, 'counts' | 'of' | 'reset'>
  readonly users: Pick<Users, 'signOut'>
  readonly settings: Pick<ServiceSettings, 'publicUrl'>
}

const MemberChange = z.strictObject({ role: RoleName }).meta({ id: 'MemberChange' })

const Member = z
  .object({
    uid: z.string(),
    username: z.string().describe('the email address'),
    role: RoleName,
    since: z.int(),
    hasSecondFactor: z.boolean(),
  })
  .meta({ id: 'Member' })

export function memberRoutes(parts: MemberApiParts): MemberRoute[] {
  const { access, organisations, factors } = parts

  async function named({ who, params }: { readonly who: AskingMember; readonly params: { readonly uid: string } }) {
    const members = await organisations.members(who.organisation.id)
    return { target: members.find(({ uid }) => uid === params.uid)?.username ?? params.uid }
  }

  return [
    route(
      'GET /organisations/:organisation/members',
      { summary: 'List the members', right: 'members', answers: { 200: z.object({ items: z.array(Member) }) } },
      async ({ who }) => ({ items: await withFactors(await organisations.members(who.organisation.id), factors) }),
    ),
    route(
      'PATCH /organisations/:organisation/members/:uid',
      {
        summary: 'Change a member’s role; at least one owner must remain',
        right: 'members',
        act: 'member-role',
        names: named,
        body: MemberChange,
        answers: DONE,
      },
      ({ who, params: { uid }, body: { role }, names }) => {
        names.action = `member-${role}`
        return organisations.setRole(who.organisation.id, uid, role)
      },
    ),
    route(
      'DELETE /organisations/:organisation/members/:uid',
      {
        summary: 'Remove a member, or leave the organisation; at least one owner must remain',
        // Members need no permission to end their own membership.
        right: 'read',
        before: ({ who, params, ctx }) => (who.uid === params.uid ? undefined : access.need(ctx, 'members')),
        act: 'member-remove',
        names: named,
        answers: DONE,
      },
      ({ who, params: { uid } }) => organisations.removeMember(who.organisation.id, uid),
    ),
    route(
      'DELETE /organisations/:organisation/members/:uid/factors',
      {
        summary: 'Remove all of a member’s second factors and sign the member out; API tokens can’t do this',
        right: 'members',
        act: 'factor-reset',
        names: named,
        answers: DONE,
      },
      ({ who, params: { uid } }) => resetFactors(who, uid, parts),
    ),
    ...invitationRoutes(parts),
  ]
}

/** Adds `hasSecondFactor` to each member. */
export async function withFactors(members: readonly ListedMember[], factors: Pick<Factors, 'counts'>) {
  const counts = await factors.counts(members.map(({ uid }) => personsFactors(uid)))
  return members.map((one) => ({ ...one, hasSecondFactor: counts.has(accountId(personsFactors(one.uid))) }))
}

/**
 * Removes a member's second factors. Chosen here: an owner can do this only for members who belong to no other
 * organisation, because the factors protect the other organisations too. The control center's operator can do it for
 * everyone. Members must prove that they can read their email before they set up new factors.
 */
async function resetFactors(who: AskingMember, uid: string, parts: MemberApiParts): Promise<void> {
  const { organisations, factors, users } = parts
  const memberships = await organisations.ofMember(uid)
  if (!memberships.some(({ id }) => id === who.organisation.id)) {
    throw noMember(uid)
  }
  if (uid === who.uid) {
    throw new PlatformError(
      'ERR_FORBIDDEN',
      'You cannot reset your own second factor here. Change it on the page “Your account” (/account).',
    )
  }
  if (memberships.length > 1) {
    throw new PlatformError(
      'ERR_FORBIDDEN',
      'You cannot reset this member’s second factor, because the member also belongs to other organisations. Ask the operator of the control center to do it.',
    )
  }
  await factors.reset(personsFactors(uid))
  await users.signOut(uid)
}

const NewInvitation = z
  .strictObject({
    email: MailAddress.max(200, 'must be an email address of at most 200 characters'),
    role: RoleName,
  })
  .meta({ id: 'NewInvitation' })

const Invitation = z
  .object({
    id: z.string(),
    email: z.string(),
    role: RoleName,
    invitedBy: z.string(),
    createdAt: z.int(),
    expiresAt: z.int(),
    link: z.string().optional().describe('the link; only in the response to POST, if the link was not sent by email'),
    isMailed: z.boolean().optional().describe('whether the link was sent by email; only in the response to POST'),
  })
  .meta({ id: 'Invitation' })

function invitationRoutes({ organisations, invitations, mail, settings }: MemberApiParts): MemberRoute[] {
  async function invite(
    ctx: Context,
    { organisation, name }: AskingMember,
    wanted: Pick<StoredInvitation, 'email' | 'role'>,
  ) {
    const members = await organisations.members(organisation.id)
    if (members.some(({ username }) => username.toLowerCase() === wanted.email.toLowerCase())) {
      throw new PlatformError('ERR_NAME_EXISTS', `"${wanted.email}" is already a member.`)
    }
    const origin = { organisation: organisation.id, askedBy: 'member' } as const
    // Check the quota first. Otherwise, an organisation could exceed it and get links to show instead of emails.
    if (mail.isSetUp) await mail.needShare(origin)
    const { token, ...invitation } = await invitations.create(organisation.id, { ...wanted, invitedBy: name })
    // The token is in the fragment, so that it does not appear in the logs of servers and proxies.
    const link = `${publicOriginOf(ctx, settings)}/invitation#token=${token}`
    const text = textFor(ctx)
    const subject = text('center.invitation.mail.subject', organisation.title)
    const body = text('center.invitation.mail.text', organisation.title, link)
    const isMailed = mail.isSetUp && (await trySend({ to: invitation.email, subject, text: body }, origin))
    // Anyone who sees the link can create the account for that address, so a mailed link appears only in the email.
    return { ...invitation, ...(isMailed ? {} : { link }), isMailed }
  }

  /** @returns false if the email can't be queued; the inviting member then gets the link to pass on */
  async function trySend(text: MailText, origin: MailOrigin): Promise<boolean> {
    try {
      await mail.send(text, origin)
      return true
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'ERR_MAIL_UNAVAILABLE') return false
      throw error
    }
  }

  return [
    route(
      'GET /organisations/:organisation/invitations',
      {
        summary: 'List the open invitations',
        right: 'members',
        answers: { 200: z.object({ items: z.array(Invitation) }) },
      },
      async ({ who }) => ({ items: await invitations.list(who.organisation.id) }),
    ),
    route(
      'POST /organisations/:organisation/invitations',
      {
        summary: 'Invite someone; the link is sent by email, or shown once if no mail server is configured',
        right: 'members',
        act: 'invitation-create',
        body: NewInvitation,
        answers: { 201: Invitation },
      },
      ({ who, body, names, ctx }) => {
        names.target = body.email
        return invite(ctx, who, body)
      },
    ),
    route(
      'DELETE /organisations/:organisation/invitations/:id',
      { summary: 'Revoke an invitation immediately', right: 'members', act: 'invitation-revoke', answers: DONE },
      async ({ who: { organisation }, params: { id }, names }) => {
        const invitation = (await invitations.list(organisation.id)).find((one) => one.id === id)
        names.target = invitation?.email ?? id
        if ((await invitations.remove(organisation.id, id)) !== null) return
        throw new PlatformError(
          'ERR_NOT_FOUND',
          `There is no open invitation with the id "${id.slice(0, 100)}". It may have been accepted or revoked.`,
        )
      },
    ),
  ]
}
