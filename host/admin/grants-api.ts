import { readWith } from '../../base/api/read-with.ts'
import { DONE } from '../../base/api/route.ts'
import { secretTarget, solutionTarget, userTarget } from '../../base/api/targets.ts'
import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import { Name } from '../../plugins/security/host.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { isVisible, visible } from '../../runtime/visible-name.ts'
import { z } from '../../runtime/zod.ts'
import { grantsTarget } from '../audit/grants-target.ts'
import { askedFor, type PlatformPlace, refusalOf, warnOfGrants } from '../grants/grant-warnings.ts'
import { GrantedHosts } from '../grants/granted-host.ts'
import type { DatabaseGrant, GrantStore } from '../grants/grants.ts'
import { LONGEST_LIFETIME, type LoginTokens } from '../login/login-token.ts'
import { SecretName, type Secrets } from '../secrets/secrets.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { findSolution } from './find-solution.ts'
import { type AdminRoute, route } from './route.ts'

export type GrantApiParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly grants: GrantStore
  readonly secrets: Secrets
  readonly loginTokens: LoginTokens
  readonly limits: Limits
  readonly platformDatabase: PlatformPlace
}

const GRANTABLE = z.enum(['alpha', 'beta', 'gamma'])
// No character that has a meaning in a connection string, and none that two servers compare in two ways.
const ServerDatabase = z.string().regex(/^[A-Za-z0-9_$]([A-Za-z0-9_$. -]{0,126}[A-Za-z0-9_$.-])?$/, {
  error: 'must be 1 to 128 letters, digits and "_$.-", with spaces only within',
})
const BindingName = z
  .string()
  .regex(/^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/, { error: 'must be a name of 1 to 64 letters, digits, "_" and "$"' })
  .refine((name) => !(name in Object.prototype), { error: 'must not be a name that every JavaScript object has' })

const DatabaseForm = z
  .strictObject({
    server: GRANTABLE,
    database: ServerDatabase,
    username: Name.optional(),
    password: z.string().max(1000).refine(isText, { error: 'must be text without NUL' }).optional(),
    hasPassword: z.boolean().optional().describe('shown; without effect when it is sent'),
  })
  .refine(({ username, password }) => username !== undefined || password === undefined, {
    error: 'must have a username where it has a password',
  })

const GrantsForm = z
  .strictObject({
    databases: z
      .record(BindingName, DatabaseForm)
      .refine((databases) => Object.keys(databases).length <= 100, { error: 'must have at most 100 databases' })
      .default({}),
    http: GrantedHosts.default([]),
    users: z.boolean().default(false),
  })
  .meta({ id: 'GrantsForm' })

const SecretForm = z
  .strictObject({
    value: z.string().min(1).max(16_384).refine(isText, { error: 'must be text without NUL' }),
    hosts: GrantedHosts.min(1),
  })
  .meta({ id: 'SecretForm' })

/** Names as `security.login` takes them. */
export function loginTokenForm(limits: Limits) {
  const error = `must be ${visible(limits.PERMISSION_LENGTH)}`
  const permission = z.string().min(1).max(limits.PERMISSION_LENGTH).refine(isVisible, { error })
  return z
    .strictObject({
      username: Name,
      uid: Name,
      permissions: z.array(permission).min(1).max(limits.PERMISSIONS),
      expiresIn: z.int().min(1000).max(LONGEST_LIFETIME).optional().describe('in ms; LOGIN_TOKEN_LIFETIME unless set'),
    })
    .meta({ id: 'LoginTokenForm' })
}

const Grants = z
  .object({
    databases: z.record(
      z.string(),
      z.object({
        server: GRANTABLE,
        database: z.string(),
        username: z.string().optional(),
        hasPassword: z.boolean(),
      }),
    ),
    http: z.array(z.string()),
    users: z.boolean(),
  })
  .meta({ id: 'Grants' })
export const Warnings = z.object({ warnings: z.array(z.object({ code: z.string(), message: z.string() })) })

const WarnedGrants = Grants.extend(Warnings.shape).meta({ id: 'WarnedGrants' })
const Secret = z.object({ name: z.string(), hosts: z.array(z.string()) }).meta({ id: 'Secret' })
const LoginToken = z.object({ token: z.string(), expiresAt: z.int().min(0) }).meta({ id: 'LoginToken' })

type OfSolution = { readonly params: { readonly name: string } }

/** What an operator lets a solution reach, keeps for it, and whom he signs in to it. */
export function grantRoutes(parts: GrantApiParts): AdminRoute[] {
  const { store, catalog, grants, secrets, loginTokens, limits, platformDatabase } = parts
  const find = ({ params }: OfSolution) => findSolution(store, params.name)
  const named = ({ params: { name } }: OfSolution) => ({ solution: name, target: solutionTarget(name) })
  // An invalid name may be the secret itself, sent in the wrong place.
  const secretNamed = ({ params }: { readonly params: { readonly name: string; readonly secret: string } }) =>
    SecretName.safeParse(params.secret).success
      ? { solution: params.name, target: secretTarget(params.secret) }
      : named({ params })

  async function askedBy(name: string) {
    const solution = await catalog.active(name)
    if (solution === null) return askedFor([])
    return askedFor([...solution.modules.map(({ manifest }) => manifest), solution.manifest])
  }

  function refuseDangerous(name: string, grant: DatabaseGrant): void {
    const refusal = refusalOf(grant, platformDatabase)
    if (refusal !== null) throw new PlatformError('ERR_REQUEST_INVALID', `databases.${name}: ${refusal}`)
  }

  return [
    route(
      'GET /solutions/:name/grants',
      {
        summary: 'What is granted to a solution, without passwords',
        right: 'solutions:{name}:read',
        before: find,
        answers: { 200: Grants },
      },
      ({ params: { name } }) => grants.show(name),
    ),
    route(
      'PUT /solutions/:name/grants',
      {
        summary: 'Grant this and nothing else; a password that is left out stays, on the same server and username',
        // No token, whatever it may write: who uploads a solution for its author must not grant it anything.
        right: null,
        act: 'solution-grants',
        names: named,
        before: find,
        body: GrantsForm,
        answers: { 200: WarnedGrants },
      },
      async ({ params: { name }, body, names }) => {
        const wanted = { ...body, databases: databasesOf(body.databases) }
        names.target = grantsTarget(await grants.show(name), wanted)
        for (const [each, grant] of Object.entries(wanted.databases)) refuseDangerous(each, grant)
        const put = await grants.put(name, wanted)
        return { ...put, warnings: warnOfGrants(wanted, await askedBy(name), platformDatabase) }
      },
    ),
    route(
      'GET /solutions/:name/secrets',
      {
        summary: 'The names of the secrets and where they may be sent',
        right: 'solutions:{name}:read',
        before: find,
        answers: { 200: z.object({ items: z.array(Secret) }) },
      },
      async ({ params: { name } }) => ({ items: await secrets.list(name) }),
    ),
    route(
      'PUT /solutions/:name/secrets/:secret',
      {
        summary: 'Set a secret; nothing shows it again',
        right: 'solutions:{name}:write',
        act: 'solution-secret',
        names: secretNamed,
        async before({ params: { name, secret } }) {
          await findSolution(store, name)
          readWith(SecretName, secret)
        },
        body: SecretForm,
        answers: DONE,
      },
      ({ params: { name, secret }, body: { value, hosts } }) => secrets.put(name, secret, value, hosts),
    ),
    route(
      'DELETE /solutions/:name/secrets/:secret',
      {
        summary: 'Delete a secret',
        right: 'solutions:{name}:write',
        act: 'solution-secret',
        names: secretNamed,
        before: find,
        answers: DONE,
      },
      async ({ params: { name, secret } }) => {
        if (await secrets.remove(name, secret)) return
        throw new PlatformError('ERR_NOT_FOUND', 'The solution has no such secret.')
      },
    ),
    route(
      'POST /solutions/:name/login-tokens',
      {
        summary: 'Make a token that signs a user in to the solution, once',
        right: 'solutions:{name}:write',
        act: 'solution-login-token',
        names: named,
        before: ({ params }) => catalog.need(params.name),
        body: loginTokenForm(limits),
        answers: { 201: LoginToken },
      },
      async ({ params, body: { expiresIn, ...login }, names }) => {
        const solution = await catalog.need(params.name)
        names.target = userTarget(login)
        const unknown = login.permissions.find((permission) => permissionsOf(solution)?.includes(permission) === false)
        if (unknown === undefined) return loginTokens.issue(solution.name, login, expiresIn)
        throw new PlatformError(
          'ERR_REQUEST_INVALID',
          `permissions: the manifests of "${solution.name}" list no permission "${unknown}".`,
        )
      },
    ),
  ]
}

/** The form's databases as they are granted, without prototype. */
function databasesOf(form: ReturnType<typeof GrantsForm.parse>['databases']): Record<string, DatabaseGrant> {
  const databases = Object.create(null) as Record<string, DatabaseGrant>
  for (const [name, { server, database, username, password }] of Object.entries(form)) {
    databases[name] = {
      server,
      database,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
    }
  }
  return databases
}

/** What a database or a header cannot hold is refused where it is sent. */
function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
