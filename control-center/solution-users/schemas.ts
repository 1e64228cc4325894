import { MailAddress } from '../../base/config/mail-address.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import { isVisible, visible } from '../../runtime/visible-name.ts'
import { z } from '../../runtime/zod.ts'

/*
 * Chosen here: a user has at most 20 roles with 40 permissions each, plus 200 direct permissions. A response to a
 * Satellite can contain 1,000 permissions, so all of a user's permissions always fit.
 */
const MOST_ROLES_OF_USER = 20
const MOST_PERMISSIONS_OF_ROLE = 40
const MOST_DIRECT = 200

const Name = z
  .string()
  .min(1)
  .max(200)
  .refine(isVisible, `must be ${visible(200)}`)

export const RoleNameOfSolution = Name.max(100)
const Permissions = (most: number) => z.array(Name).max(most)

export const NamedSolution = z.strictObject({ name: SolutionName }).meta({ id: 'NamedSolution' })

/** The page has a one-line field for each value. Browsers silently remove line breaks from such fields. */
const TenantText = z
  .string()
  .max(200)
  .refine((text) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), 'must be one line without control characters')

const UserFields = {
  username: z.string().min(1).max(200),
  displayName: z.string().max(200).nullable(),
  email: MailAddress.nullable(),
  mustVerifyEmail: z.boolean().describe('whether the user must confirm the email address before signing in'),
  locale: z.enum(PLATFORM_LOCALES).describe('the language of emails to the user'),
  enabled: z.boolean(),
  tenant: z
    .array(z.union([TenantText, z.number()]))
    .min(1)
    .max(100)
    .nullable()
    .describe('tenant values that security.setTenantValue accepts; each string must be a single line'),
  roles: z.array(RoleNameOfSolution).max(MOST_ROLES_OF_USER),
  permissions: Permissions(MOST_DIRECT).describe('permissions that the user has in addition to the roles’ permissions'),
  password: z.string().max(1000),
}

const { username, ...others } = UserFields

export const NewSolutionUser = z
  .strictObject({
    ...z.object(others).partial().shape,
    username,
    invite: z
      .boolean()
      .default(false)
      .describe('create a link for choosing a password: sent by email if possible, otherwise returned'),
  })
  .meta({ id: 'NewSolutionUser' })

export const SolutionUserChange = z
  .strictObject({
    ...z.object(UserFields).partial().shape,
    emailVerified: z.boolean().optional().describe('whether the user has confirmed the email address'),
  })
  .meta({ id: 'SolutionUserChange' })

export const SolutionUserQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z.string().max(200).optional().describe('the value of `next` in the previous response'),
  search: z.string().max(254).optional().describe('the beginning of the username or email address'),
})

export const RoleInput = z
  .strictObject({ permissions: Permissions(MOST_PERMISSIONS_OF_ROLE) })
  .meta({ id: 'RoleInput' })

export const LINK_KINDS = ['invitation', 'reset', 'verification'] as const
export const NewLink = z.strictObject({ kind: z.enum(LINK_KINDS) }).meta({ id: 'NewLink' })

export const LinkAnswer = z
  .object({
    mailedTo: z.string().optional().describe('the email address that the link was sent to'),
    link: z.string().optional().describe('the link, if it was not sent by email; only in this response'),
    expiresAt: z.int(),
  })
  .meta({ id: 'LinkAnswer' })

export const SolutionUser = z
  .object({
    uid: z.string(),
    ...z.object(UserFields).omit({ password: true }).shape,
    emailVerifiedAt: z.int().nullable(),
    passwordChangedAt: z
      .int()
      .nullable()
      .describe('when the user last set the password; null if the user has not chosen one yet'),
    lastLoginAt: z.int().nullable(),
    createdAt: z.int(),
    mailedTo: LinkAnswer.shape.mailedTo,
    link: LinkAnswer.shape.link,
    expiresAt: z.int().optional().describe('when the invitation expires; only in the response to POST with `invite`'),
  })
  .meta({ id: 'SolutionUser' })

export const Role = z
  .object({ name: z.string(), permissions: z.array(z.string()), users: z.int() })
  .meta({ id: 'Role' })

export const Solution = z
  .object({
    name: z.string(),
    users: z
      .int()
      .optional()
      .describe('number of users; present only if the caller has the permission "solution-users"'),
    loginPage: z.int().nullable().describe('version number of the published login page; null for the default page'),
  })
  .meta({ id: 'Solution' })
