import type { Mail } from '../../base/mail/mail.ts'
import { ROLES } from '../access/roles.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Invitations } from './invitations.ts'
import type { Organisations } from './organisations.ts'

export type MemberPageParts = {
  readonly organisations: Organisations
  readonly invitations: Invitations
  readonly mail: Pick<Mail, 'isSetUp'>
}

export function addMemberPages(pages: PageRouter, { organisations, invitations, mail }: MemberPageParts): void {
  pages.ofOrganisation('/members', 'members', async (_ctx, text, { organisation, uid }) => {
    const model = {
      organisation,
      uid,
      roles: ROLES,
      isMailSetUp: mail.isSetUp,
      members: await organisations.members(organisation.id),
      invitations: await invitations.list(organisation.id),
    }
    return { template: 'members', heading: text('center.part.members'), part: 'members', model }
  })
}
