import { accountId, type FactorAccount, factorAccount } from '../../base/accounts/factor-account.ts'
import type { Factors } from '../../base/accounts/factors.ts'
import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { Users } from '../../base/accounts/users.ts'
import { DONE } from '../../base/api/route.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { findSolution, type OfSolution } from '../solutions/find-solution.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { findUser, namedUser, type OfUser } from '../users/find-user.ts'
import { endOthers } from './complete.ts'
import type { OpenSignIns } from './open-sign-ins.ts'

export type FactorApiParts = {
  readonly store: SolutionStore
  readonly users: Users
  readonly factors: Factors
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly openSignIns: OpenSignIns
}

/** The API's names for the sources of accounts outside the users table. */
const SOURCES = { script: '', provider: 'provider', 'control-center': 'cloud' } as const
const SOURCE_NAMES = ['script', 'provider', 'control-center'] as const

const EpochMs = z.int().min(0)

const FactorSet = z
  .object({
    factors: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(['app', 'passkey']),
        name: z.string(),
        rpId: z
          .string()
          .nullable()
          .describe('the domain (RP ID) for which a passkey works; null for an authenticator app'),
        isSynced: z.boolean().describe('whether a passkey is synced to other devices'),
        createdAt: EpochMs,
        lastUsedAt: EpochMs.nullable(),
        refusedAt: EpochMs.nullable().describe('when the host blocked a passkey because it appeared to be cloned'),
      }),
    ),
    isAppLocked: z.boolean().describe('whether the authenticator app is locked after too many wrong codes in a row'),
    recoveryCodesLeft: z.int().min(0),
  })
  .meta({ id: 'FactorSet' })

const AccountQuery = z.strictObject({
  uid: z.string().min(1).max(1000),
  source: z
    .enum(SOURCE_NAMES, { error: `must be one of ${SOURCE_NAMES.join(', ')}` })
    .optional()
    .describe('the account’s source; optional if only one source has an account with this uid and a second factor'),
})

/** Routes that show and reset users' second factors. They never return a factor's secret. */
export function factorRoutes(parts: FactorApiParts): AdminRoute[] {
  return [...ofUsersTable(parts), ...ofSolution(parts)]
}

/** Routes for accounts in the users table. Their factors are the same in all solutions. */
function ofUsersTable(parts: FactorApiParts): AdminRoute[] {
  const { users, factors } = parts
  const named = (of: OfUser) => namedUser(users, of)
  const find = ({ params: { uid } }: OfUser) => findUser(users, uid)

  return [
    route(
      'GET /users/:uid/factors',
      {
        summary: 'List the second factors of a user',
        right: 'users:read',
        before: find,
        answers: { 200: FactorSet },
      },
      ({ params: { uid } }) => factors.of(accountOfUser(uid)),
    ),
    route(
      'DELETE /users/:uid/factors',
      {
        summary: 'Remove a user’s second factors and recovery codes, and sign the user out',
        right: 'users:write',
        act: 'factor-reset',
        names: named,
        before: find,
        answers: DONE,
      },
      ({ params: { uid } }) => reset(accountOfUser(uid), parts),
    ),
    route(
      'DELETE /users/:uid/factors/:id',
      {
        summary:
          'Remove one of a user’s second factors, and sign the user out. Removing the last one also removes the recovery codes',
        right: 'users:write',
        act: 'factor-reset',
        names: named,
        before: find,
        answers: DONE,
      },
      async ({ params: { uid, id } }) => {
        const account = accountOfUser(uid)
        if (!(await factors.remove(account, id))) {
          throw new PlatformError(
            'ERR_NOT_FOUND',
            `This user has no second factor with the id "${id}". It may have been removed.`,
          )
        }
        await endOthers(account, {}, parts)
      },
    ),
    route(
      'POST /users/:uid/unlock-factors',
      {
        summary: 'Unlock the authenticator app of a user who entered too many wrong codes',
        right: 'users:write',
        act: 'factor-unlock',
        names: named,
        before: find,
        answers: DONE,
      },
      ({ params: { uid } }) => factors.unlock(accountOfUser(uid)),
    ),
  ]
}

/** Routes for accounts from other sources. Each solution has its own. */
function ofSolution(parts: FactorApiParts): AdminRoute[] {
  const { store, factors } = parts
  const find = ({ params }: OfSolution) => findSolution(store, params.name)

  function named({ params: { name }, ctx }: OfSolution & { readonly ctx: { readonly query: { uid?: unknown } } }) {
    const { uid } = ctx.query
    return { solution: name, target: `uid:${typeof uid === 'string' ? uid.slice(0, 200) : ''}` }
  }

  return [
    route(
      'GET /solutions/:name/factors',
      {
        summary:
          'List the second factors of an account that is not in the users table, such as one that a script signs in',
        right: null,
        before: find,
        query: AccountQuery,
        answers: { 200: FactorSet.extend({ source: z.enum(SOURCE_NAMES) }).meta({ id: 'AccountFactorSet' }) },
      },
      async ({ params: { name }, query }) => {
        const account = await findAccount(name, query, factors)
        return { ...(await factors.of(account)), source: sourceNameOf(account) }
      },
    ),
    route(
      'DELETE /solutions/:name/factors',
      {
        summary:
          'Remove the second factors and recovery codes of an account that is not in the users table, and end its sessions',
        right: 'account',
        act: 'factor-reset',
        names: named,
        before: find,
        query: AccountQuery,
        answers: DONE,
      },
      async ({ params: { name }, query }) => reset(await findAccount(name, query, factors), parts),
    ),
    route(
      'POST /solutions/:name/unlock-factors',
      {
        summary: 'Unlock the authenticator app of an account that is not in the users table',
        right: 'account',
        act: 'factor-unlock',
        names: named,
        before: find,
        query: AccountQuery,
        answers: DONE,
      },
      async ({ params: { name }, query }) => factors.unlock(await findAccount(name, query, factors)),
    ),
  ]
}

function accountOfUser(uid: string): FactorAccount {
  return factorAccount('users', '', uid)
}

async function reset(account: FactorAccount, parts: FactorApiParts): Promise<void> {
  await parts.factors.reset(account)
  await endOthers(account, {}, parts)
}

/** @throws ERR_NOT_FOUND; ERR_REQUEST_INVALID if accounts from several sources have this uid */
async function findAccount(
  solution: string,
  { uid, source }: z.output<typeof AccountQuery>,
  factors: Factors,
): Promise<FactorAccount> {
  const asked = source === undefined ? SOURCE_NAMES : [source]
  const accounts = asked.map((name) => factorAccount(SOURCES[name], solution, uid))
  const counts = await factors.counts(accounts)
  const [first, ...others] = accounts.filter((account) => counts.has(accountId(account)))
  if (first === undefined) {
    throw new PlatformError(
      'ERR_NOT_FOUND',
      `No account with this uid in the solution "${solution}" has a second factor. Check the uid.`,
    )
  }
  if (others.length === 0) return first
  const names = [first, ...others].map(sourceNameOf).join(', ')
  throw new PlatformError(
    'ERR_REQUEST_INVALID',
    `Several sources have an account with this uid. Add the query parameter \`source\` with one of these values: ${names}.`,
  )
}

function sourceNameOf({ source }: FactorAccount): (typeof SOURCE_NAMES)[number] {
  return SOURCE_NAMES.find((name) => SOURCES[name] === source) ?? 'script'
}
