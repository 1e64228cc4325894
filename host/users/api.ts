import { Readable } from 'node:stream'
import { accountId, type FactorAccount, factorAccount } from '../../base/accounts/factor-account.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { NewUser as NewStoredUser, User as StoredUser, Users } from '../../base/accounts/users.ts'
import { pageOf } from '../../base/api/open-api.ts'
import { userTarget } from '../../base/api/targets.ts'
import { z } from '../../runtime/zod.ts'
import { auditOf } from '../access/actor.ts'
import { type Audit, ERASED_USER } from '../access/audit.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { type OperatorLinks, SentLink } from '../links/send-links.ts'
import { findUser, namedUser, type OfUser } from './find-user.ts'
import type { UsersCsv } from './users-csv.ts'

export type UserApiParts = {
  readonly users: Users
  readonly factors: Factors
  readonly usersCsv: UsersCsv
  readonly operatorLinks: OperatorLinks
  readonly audit: Audit
}

// These schemas limit only the size of the input; base/accounts/user-rules.ts validates it.
const Text = z.string().max(1000)
const Permission = z.union([Text, z.strictObject({ name: Text, solution: Text })])
const Password = z.string().max(10_000).nullable().meta({ writeOnly: true })

const UserQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  after: Text.optional().describe('the value of `next` in the previous response'),
  search: Text.optional().describe(
    'text that the username, full name, email address or uid contains (case-insensitive)',
  ),
})

const UserChange = z
  .strictObject({
    username: Text.optional(),
    displayName: Text.nullable().optional(),
    email: Text.nullable().optional(),
    locale: Text.nullable()
      .optional()
      .describe('the user’s language, such as `nl`; null: the language that the user’s browser prefers'),
    enabled: z.boolean().optional(),
    permissions: z.array(Permission).max(10_000).optional(),
    mustChangePassword: z
      .boolean()
      .optional()
      .describe('whether the user must choose a new password at the next sign-in. Default if `password` is set: true'),
    password: Password.optional().describe('the password; null: the user cannot sign in with a password'),
  })
  .meta({ id: 'UserChange' })

const NewUser = UserChange.extend({
  username: Text,
  invite: z.boolean().optional().describe('create a link for choosing a password, and email it to the user'),
  solution: z
    .string()
    .max(63)
    .optional()
    .describe(
      'with `invite`: the solution that the link opens. Default: `DEFAULT_SOLUTION`, or the only active solution with the authenticator `DEFAULT`',
    ),
}).meta({ id: 'NewUser' })

const User = z
  .object({
    uid: z.string(),
    username: z.string(),
    displayName: z.string().nullable(),
    email: z.string().nullable(),
    emailVerifiedAt: z
      .int()
      .min(0)
      .nullable()
      .describe('when the user confirmed the email address, in milliseconds since 1970; null: not confirmed'),
    locale: z.string().nullable(),
    enabled: z.boolean(),
    permissions: z.array(Permission).describe('a plain string is a permission that applies in all solutions'),
    mustChangePassword: z.boolean(),
    factors: z.int().min(0).describe('number of second factors'),
    directory: z.string().nullable().describe('the directory that stores the user’s password; null: Solhost stores it'),
  })
  .meta({ id: 'User' })

const CreatedUser = User.extend({ invitation: SentLink.nullable().describe('with `invite`') }).meta({
  id: 'CreatedUser',
})

const ImportQuery = z.strictObject({
  'dry-run': z
    .enum(['', 'true', 'false'])
    .optional()
    .describe('only check the file and count the changes; nothing is imported'),
})

const Imported = z
  .object({
    created: z.int(),
    changed: z.int(),
    unchanged: z.int(),
    createdWithoutPassword: z.int().describe('new users who have no password, so they can’t sign in yet'),
    unlistedPermissions: z
      .array(z.string())
      .describe('permissions in the file that are probably mistakes, because no solution lists them; at most 10'),
    dryRun: z.boolean(),
  })
  .meta({ id: 'Imported' })

const NO_CONTENT = { description: 'done' }

/** Routes for the platform's users table. Passwords can be set, but are never returned. */
export function userRoutes({ users, factors, usersCsv, operatorLinks, audit }: UserApiParts): AdminRoute[] {
  const named = (of: OfUser) => namedUser(users, of)

  async function withFactors(list: readonly StoredUser[]) {
    const accounts = list.map(({ uid }) => factorAccount('users', '', uid))
    const counts = await factors.counts(accounts)
    return list.map((user, index) => ({
      ...user,
      factors: counts.get(accountId(accounts[index] as FactorAccount)) ?? 0,
    }))
  }

  async function createPlain(input: NewStoredUser) {
    return { user: await users.create(input), invitation: null }
  }

  async function createInvited(input: NewStoredUser, solution: string | undefined) {
    // Check this first: no user may be created if the invitation can't be sent.
    const opens = await operatorLinks.solutionFor(solution)
    await operatorLinks.needShare(input.email ?? null)
    const user = await users.create(input)
    return { user, invitation: await operatorLinks.fromOperator('invitation', user, opens) }
  }

  async function shown(user: StoredUser) {
    const [one] = await withFactors([user])
    return one as NonNullable<typeof one>
  }

  return [
    route(
      'GET /users',
      {
        summary:
          'List the users in the users table, sorted by name. A search reads at most 100,000 users per request, so a page can have fewer than `limit` users, or none, even if `next` is set',
        right: 'users:read',
        query: UserQuery,
        answers: { 200: pageOf(User) },
      },
      async ({ query }) => {
        const page = await users.list(query)
        return { ...page, items: await withFactors(page.items) }
      },
    ),
    route(
      'POST /users',
      {
        summary: 'Create a user. With `invite`, also create a link for choosing a password, and email it to the user',
        right: 'users:write',
        act: 'user-create',
        body: NewUser,
        answers: { 201: CreatedUser },
      },
      async ({ body: { invite = false, solution, ...input }, names, ctx }) => {
        names.target = userTarget(input)
        const { user, invitation } = invite ? await createInvited(input, solution) : await createPlain(input)
        ctx.set('Location', `/admin/api/users/${user.uid}`)
        return { ...(await shown(user)), invitation }
      },
    ),
    route(
      'GET /users/:uid',
      { summary: 'Get a user', right: 'users:read', answers: { 200: User } },
      async ({ params }) => shown(await findUser(users, params.uid)),
    ),
    route(
      'PATCH /users/:uid',
      {
        summary:
          'Change a user; properties that are not in the body stay unchanged. Changing the password, disabling the user or removing a permission signs the user out',
        right: 'users:write',
        act: 'user-change',
        names: named,
        body: UserChange,
        answers: { 200: User },
      },
      async ({ params, body }) => shown(await users.change(params.uid, body)),
    ),
    route(
      'DELETE /users/:uid',
      {
        summary: 'Delete a user and sign them out',
        right: 'users:write',
        act: 'user-delete',
        names: named,
        answers: { 204: NO_CONTENT },
      },
      ({ params }) => users.delete(params.uid),
    ),
    route(
      'POST /users/:uid/sign-out',
      {
        summary: 'End a user’s sessions and remembered logins',
        right: 'users:write',
        act: 'session-end',
        names: named,
        answers: { 204: NO_CONTENT },
      },
      ({ params }) => users.signOut(params.uid),
    ),
    route(
      'POST /users/:uid/erase',
      {
        summary: 'Delete a user and remove their name from the audit log',
        right: 'users:write',
        act: 'user-erase',
        names: named,
        answers: { 204: NO_CONTENT },
      },
      async ({ params, names }) => {
        await users.erase(params.uid)
        names.target = ERASED_USER
      },
    ),
    ...csvRoutes({ usersCsv, audit }),
  ]
}

function csvRoutes({ usersCsv, audit }: Pick<UserApiParts, 'usersCsv' | 'audit'>): AdminRoute[] {
  return [
    route(
      'GET /users.csv',
      {
        summary: 'Export all users as CSV, without passwords',
        right: 'users:read',
        answers: { 200: { description: 'RFC 4180', type: 'text/csv' } },
      },
      async ({ ctx }) => {
        // The export contains all users' names, so it is audited before the first byte is sent.
        await audit.record(auditOf(ctx, 'user-export', 'ok', { target: 'users' }))
        ctx.type = 'text/csv; charset=utf-8; header=present'
        ctx.set('Content-Disposition', 'attachment; filename="users.csv"')
        return Readable.from(usersCsv.export())
      },
    ),
    route(
      'POST /users.csv',
      {
        summary:
          'Create and change users from a CSV file, matched by username. If any line has an error, nothing is changed and the response lists the errors by line',
        right: 'users:write',
        act: 'user-import',
        names: () => ({ target: 'users' }),
        query: ImportQuery,
        body: {
          types: ['text/csv'],
          most: 'JSON_BODY',
          description:
            'UTF-8; columns username, displayName, email, enabled, permissions (`Users;Sales@crm`), password',
        },
        answers: { 200: Imported },
      },
      ({ query, body, leaveOut }) => {
        const dryRun = (query['dry-run'] ?? 'false') !== 'false'
        if (dryRun) leaveOut()
        return usersCsv.import(body, { dryRun })
      },
    ),
  ]
}
