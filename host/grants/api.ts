import { Name } from '../../plugins/security/host.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { GrantedHosts } from '../secrets/granted-host.ts'
import { isText } from '../secrets/storable-text.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { findSolution, namedSolution, type OfSolution } from '../solutions/find-solution.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { type PlatformPlace, refusalOf, requestsOf, warnOfGrants } from './grant-warnings.ts'
import type { DatabaseGrant, GrantStore } from './grants.ts'
import { grantsTarget } from './grants-target.ts'

export type GrantApiParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly grants: GrantStore
  readonly platformDatabase: PlatformPlace
}

const GRANTABLE = z.enum(['alpha', 'beta', 'gamma'])
// Excludes characters that are special in connection strings, or that database servers compare in different ways.
const ServerDatabase = z.string().regex(/^[A-Za-z0-9_$]([A-Za-z0-9_$. -]{0,126}[A-Za-z0-9_$.-])?$/, {
  error:
    'must be 1 to 128 letters, digits, spaces and "_$.-", must start with a letter, a digit, "_" or "$", and must not end with a space',
})
const BindingName = z
  .string()
  .regex(/^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/, {
    error: 'must be 1 to 64 letters (A-Z, a-z), digits, "_" and "$", and must not start with a digit',
  })
  .refine((name) => !(name in Object.prototype), {
    error: 'must not be the name of a property that every JavaScript object has, such as "constructor"',
  })

const DatabaseForm = z
  .strictObject({
    server: GRANTABLE,
    database: ServerDatabase,
    username: Name.optional(),
    password: z.string().max(1000).refine(isText, { error: 'must not contain a NUL character' }).optional(),
    hasPassword: z.boolean().optional().describe('read-only'),
  })
  .refine(({ username, password }) => username !== undefined || password === undefined, {
    error: 'must have a username if it has a password',
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
export function grantRoutes(parts: GrantApiParts): AdminRoute[] {
  const { store, catalog, grants, platformDatabase } = parts
  const find = ({ params }: OfSolution) => findSolution(store, params.name)
  async function askedBy(name: string) {
    const solution = await catalog.active(name)
    if (solution === null) return requestsOf([])
    return requestsOf([...solution.modules.map(({ manifest }) => manifest), solution.manifest])
  }

  function refuseDangerous(name: string, grant: DatabaseGrant): void {
    const refusal = refusalOf(grant, platformDatabase)
    if (refusal !== null) throw new PlatformError('ERR_REQUEST_INVALID', `databases.${name}: ${refusal}`)
  }

  return [
    route(
      'GET /solutions/:name/grants',
      {
        summary: 'Get the grants of a solution, without passwords',
        right: 'solutions:{name}:read',
        before: find,
        answers: { 200: Grants },
      },
      ({ params: { name } }) => grants.show(name),
    ),
    route(
      'PUT /solutions/:name/grants',
      {
        summary:
          'Replace a solution’s grants. A database that is sent without a password keeps its stored password if its server and username are unchanged',
        // Tokens need the scope `admin`. A tool that only uploads a solution must not be able to grant anything to it.
        right: null,
        act: 'solution-grants',
        names: namedSolution,
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
  ]
}

/** Converts the form to grants. Their `databases` object has no prototype. */
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
