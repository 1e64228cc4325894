import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access, Member } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import { publicOriginOf } from '../access/browser-sessions.ts'
import type { CenterSettings } from '../config/settings.ts'
import type { MailText } from '../mail/hand-over.ts'
import type { Mail } from '../mail/mail.ts'
import type { MailOrigin } from '../mail/mail-shares.ts'
import { textFor } from '../pages/page.ts'
import type { Invitation, Invitations } from './invitations.ts'
import { MemberChange, NewInvitation } from './members-openapi.ts'
import type { Organisations } from './organisations.ts'

export type MemberApiParts = {
  readonly access: Access
  readonly organisations: Organisations
  readonly invitations: Invitations
  readonly mail: Mail
  readonly settings: Pick<CenterSettings, 'publicUrl'>
  readonly activity: Activity
  readonly limits: Limits
}

export function addMemberRoutes(router: Router, parts: MemberApiParts): void {
  const { access, organisations, activity, limits } = parts
  const one = '/organisations/:organisation/members'

  router.get(one, async (ctx) => {
    const { organisation } = await access.need(ctx, 'members')
    ctx.body = { items: await organisations.members(organisation.id) }
  })

  router.patch(`${one}/:uid`, async (ctx) => {
    const member = await access.need(ctx, 'members')
    const { role } = readWith(MemberChange, await readJson(ctx, limits))
    const uid = paramOf(ctx, 'uid')
    const act = { action: `member-${role}`, subject: await nameOf(member, uid) }
    await recorded(ctx, activity, member, act, () => organisations.setRole(member.organisation.id, uid, role))
    ctx.status = 204
  })

  router.delete(`${one}/:uid`, async (ctx) => {
    const uid = paramOf(ctx, 'uid')
    const asking = await access.need(ctx, 'read')
    // Who wants to leave may.
    const member = asking.uid === uid ? asking : await access.need(ctx, 'members')
    const act = { action: 'member-remove', subject: await nameOf(member, uid) }
    await recorded(ctx, activity, member, act, () => organisations.removeMember(member.organisation.id, uid))
    ctx.status = 204
  })

  async function nameOf({ organisation }: Member, uid: string): Promise<string> {
    const members = await organisations.members(organisation.id)
    return members.find((one) => one.uid === uid)?.username ?? uid
  }

  addInvitationRoutes(router, parts)
}

function addInvitationRoutes(router: Router, parts: MemberApiParts): void {
  const { access, organisations, invitations, mail, settings, activity, limits } = parts
  const all = '/organisations/:organisation/invitations'

  async function invite(ctx: Context, { organisation, name }: Member, wanted: Pick<Invitation, 'email' | 'role'>) {
    const members = await organisations.members(organisation.id)
    if (members.some(({ username }) => username.toLowerCase() === wanted.email.toLowerCase())) {
      throw new PlatformError('ERR_NAME_EXISTS', `"${wanted.email}" is a member already.`)
    }
    const origin = { organisation: organisation.id, askedBy: 'member' } as const
    // Before it is made: whoever has no mails left does not get to see links instead.
    if (mail.isSetUp) await mail.needShare(origin)
    const { token, ...invitation } = await invitations.create(organisation.id, { ...wanted, invitedBy: name })
    // Behind the "#", so that it stands in no log of a server or proxy.
    const link = `${publicOriginOf(ctx, settings)}/invitation#token=${token}`
    const text = textFor(ctx)
    const subject = text('center.invitation.mail.subject', organisation.title)
    const body = text('center.invitation.mail.text', organisation.title, link)
    const isMailed = mail.isSetUp && (await trySend({ to: invitation.email, subject, text: body }, origin))
    // Who sees the link can make the account of that address: where it is sent, that is its owner alone.
    return { ...invitation, ...(isMailed ? {} : { link }), isMailed }
  }

  /** Where no mail can be taken on the link is shown instead. */
  async function trySend(text: MailText, origin: MailOrigin): Promise<boolean> {
    try {
      await mail.send(text, origin)
      return true
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'ERR_MAIL_UNAVAILABLE') return false
      throw error
    }
  }

  router.get(all, async (ctx) => {
    const { organisation } = await access.need(ctx, 'members')
    ctx.body = { items: await invitations.list(organisation.id) }
  })

  router.post(all, async (ctx) => {
    const member = await access.need(ctx, 'members')
    const wanted = readWith(NewInvitation, await readJson(ctx, limits))
    const act = { action: 'invitation-create', subject: wanted.email }
    ctx.body = await recorded(ctx, activity, member, act, () => invite(ctx, member, wanted))
    ctx.status = 201
  })

  router.delete(`${all}/:id`, async (ctx) => {
    const member = await access.need(ctx, 'members')
    const { id } = member.organisation
    const invitation = (await invitations.list(id)).find((one) => one.id === paramOf(ctx, 'id'))
    const act = { action: 'invitation-revoke', subject: invitation?.email ?? paramOf(ctx, 'id') }
    await recorded(ctx, activity, member, act, async () => {
      if ((await invitations.remove(id, paramOf(ctx, 'id'))) !== null) return
      throw new PlatformError('ERR_NOT_FOUND', 'There is no such invitation, or no longer.')
    })
    ctx.status = 204
  })
}

function paramOf(ctx: Context, name: string): string {
  return String((ctx.params as Record<string, unknown>)[name] ?? '').slice(0, 100)
}
