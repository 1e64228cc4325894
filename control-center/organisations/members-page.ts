import type { Factors } from '../../base/accounts/factors.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { Confirmations } from '../access/confirmations.ts'
import { ROLES } from '../access/roles.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Invitations } from './invitations.ts'
import { withFactors } from './members-api.ts'
import { type Organisations, SECOND_FACTOR_RULES } from './organisations.ts'

export type MemberPageParts = {
  readonly organisations: Organisations
  readonly invitations: Invitations
  readonly mail: Pick<Mail, 'isSetUp'>
  readonly factors: Pick<Factors, 'counts'>
  readonly confirmations: Confirmations
}

export function addMemberPages(
  pages: PageRouter,
  { organisations, invitations, mail, factors, confirmations }: MemberPageParts,
): void {
  pages.ofOrganisation('/members', 'members', async (_ctx, text, { organisation, uid }) => {
    const model = {
      organisation,
      uid,
      roles: ROLES,
      isMailSetUp: mail.isSetUp,
      members: await withFactors(await organisations.members(organisation.id), factors),
      rules: SECOND_FACTOR_RULES,
      rule: await organisations.secondFactorOf(organisation.id),
      // Only owners who have a second factor can require other members to have one.
      canRequire: uid !== null && (await confirmations.hasFactor(uid)),
      invitations: await invitations.list(organisation.id),
    }
    return { template: 'members', heading: text('center.part.members'), part: 'members', model }
  })
}
