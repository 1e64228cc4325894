import { inPath, json, jsonBody, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'
import { RoleName } from '../access/roles.ts'
import { MailAddress } from '../mail/mail-address.ts'
import { ORGANISATION } from '../openapi-parts.ts'

export const MemberChange = z.strictObject({ role: RoleName })

export const NewInvitation = z.strictObject({
  email: MailAddress.max(200, 'must be an e-mail address of at most 200 characters'),
  role: RoleName,
})

const Member = z.object({
  uid: z.string(),
  username: z.string().describe('the e-mail address'),
  role: RoleName,
  since: z.int(),
})

const Invitation = z.object({
  id: z.string(),
  email: z.string(),
  role: RoleName,
  invitedBy: z.string(),
  createdAt: z.int(),
  expiresAt: z.int(),
  link: z.string().optional().describe('in the answer to POST alone, where it was not sent'),
  isMailed: z.boolean().optional().describe('in the answer to POST alone: whether the link was sent by mail'),
})

const SCHEMAS = { Member, MemberChange, Invitation, NewInvitation }

export const memberSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const organisation = inPath('organisation')

export const memberPaths = {
  [`${ORGANISATION}/members`]: {
    parameters: [organisation],
    get: operation('The members', { 200: json(list(ref('Member'))) }),
  },
  [`${ORGANISATION}/members/{uid}`]: {
    parameters: [organisation, inPath('uid')],
    patch: {
      ...operation('Give a member another role; one owner always stays', { 204: { description: 'changed' } }),
      requestBody: jsonBody(ref('MemberChange')),
    },
    delete: operation('Take a member out, or leave; one owner always stays', { 204: { description: 'out' } }),
  },
  [`${ORGANISATION}/invitations`]: {
    parameters: [organisation],
    get: operation('Invitations that are open', { 200: json(list(ref('Invitation'))) }),
    post: {
      ...operation('Invite somebody; the link is sent by mail; where that is not set up, it is shown this once', {
        201: json(ref('Invitation')),
      }),
      requestBody: jsonBody(ref('NewInvitation')),
    },
  },
  [`${ORGANISATION}/invitations/{id}`]: {
    parameters: [organisation, inPath('id')],
    delete: operation('Revoke one, at once', { 204: { description: 'revoked' } }),
  },
}
