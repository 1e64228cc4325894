import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { secretTarget, solutionTarget, userTarget } from '../../base/api/targets.ts'
import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import { readJson } from '../../base/http/read-body.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../audit/audit.ts'
import { grantsTarget } from '../audit/grants-target.ts'
import { askedFor, type PlatformPlace, refusalOf, warnOfGrants } from '../grants/grant-warnings.ts'
import type { DatabaseGrant, GrantStore } from '../grants/grants.ts'
import type { LoginTokens } from '../login/login-token.ts'
import { SecretName, type Secrets } from '../secrets/secrets.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import { GrantsForm, loginTokenForm, SecretForm } from './access-openapi.ts'
import { needScope } from './actor.ts'
import { audited } from './audited.ts'
import { findSolution } from './find-solution.ts'

export type GrantApiParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly grants: GrantStore
  readonly secrets: Secrets
  readonly loginTokens: LoginTokens
  readonly audit: Audit
  readonly limits: Limits
  readonly platformDatabase: PlatformPlace
}

/** What an operator lets a solution reach, keeps for it, and whom he signs in to it. */
export function addGrantRoutes(router: Router, parts: GrantApiParts): void {
  const { store, catalog, grants, secrets, loginTokens, audit, limits, platformDatabase } = parts
  const LoginTokenForm = loginTokenForm(limits)
  const nameOf = (ctx: Context) => (ctx.params as { name: string }).name
  const named = (ctx: Context) => ({ solution: nameOf(ctx), target: solutionTarget(nameOf(ctx)) })
  const secretOf = (ctx: Context) => (ctx.params as { secret: string }).secret
  // An invalid name may be the secret itself, sent in the wrong place.
  const secretNamed = (ctx: Context) =>
    SecretName.safeParse(secretOf(ctx)).success
      ? { solution: nameOf(ctx), target: secretTarget(secretOf(ctx)) }
      : named(ctx)

  router.get('/solutions/:name/grants', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'read')
    const { name } = await findSolution(store, nameOf(ctx))
    ctx.body = await grants.show(name)
  })

  router.put('/solutions/:name/grants', async (ctx) => {
    ctx.body = await audited(ctx, audit, 'solution-grants', named(ctx), async (named) => {
      // No token, whatever it may write: who uploads a solution for its author must not grant it anything.
      needScope(ctx, null, 'write')
      const { name } = await findSolution(store, nameOf(ctx))
      const form = readWith(GrantsForm, await readJson(ctx, limits))
      const wanted = { ...form, databases: databasesOf(form.databases) }
      named.target = grantsTarget(await grants.show(name), wanted)
      for (const [each, grant] of Object.entries(wanted.databases)) refuseDangerous(each, grant)
      const shown = await grants.put(name, wanted)
      return { ...shown, warnings: warnOfGrants(wanted, await askedBy(name), platformDatabase) }
    })
  })

  async function askedBy(name: string) {
    const solution = await catalog.active(name)
    if (solution === null) return askedFor([])
    return askedFor([...solution.modules.map(({ manifest }) => manifest), solution.manifest])
  }

  function refuseDangerous(name: string, grant: DatabaseGrant): void {
    const refusal = refusalOf(grant, platformDatabase)
    if (refusal !== null) throw new PlatformError('ERR_REQUEST_INVALID', `databases.${name}: ${refusal}`)
  }

  router.get('/solutions/:name/secrets', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'read')
    const { name } = await findSolution(store, nameOf(ctx))
    ctx.body = { items: await secrets.list(name) }
  })

  router.put('/solutions/:name/secrets/:secret', async (ctx) => {
    await audited(ctx, audit, 'solution-secret', secretNamed(ctx), async () => {
      needScope(ctx, `solutions:${nameOf(ctx)}`, 'write')
      const { name } = await findSolution(store, nameOf(ctx))
      const secret = readWith(SecretName, secretOf(ctx))
      const { value, hosts } = readWith(SecretForm, await readJson(ctx, limits))
      await secrets.put(name, secret, value, hosts)
    })
    ctx.status = 204
  })

  router.delete('/solutions/:name/secrets/:secret', async (ctx) => {
    await audited(ctx, audit, 'solution-secret', secretNamed(ctx), async () => {
      needScope(ctx, `solutions:${nameOf(ctx)}`, 'write')
      const { name } = await findSolution(store, nameOf(ctx))
      if (await secrets.remove(name, secretOf(ctx))) return
      throw new PlatformError('ERR_NOT_FOUND', 'The solution has no such secret.')
    })
    ctx.status = 204
  })

  router.post('/solutions/:name/login-tokens', async (ctx) => {
    ctx.body = await audited(ctx, audit, 'solution-login-token', named(ctx), async (named) => {
      needScope(ctx, `solutions:${nameOf(ctx)}`, 'write')
      const solution = await catalog.need(nameOf(ctx))
      const { expiresIn, ...login } = readWith(LoginTokenForm, await readJson(ctx, limits))
      named.target = userTarget(login)
      const unknown = login.permissions.find((permission) => permissionsOf(solution)?.includes(permission) === false)
      if (unknown === undefined) return loginTokens.issue(solution.name, login, expiresIn)
      throw new PlatformError(
        'ERR_REQUEST_INVALID',
        `permissions: the manifests of "${solution.name}" list no permission "${unknown}".`,
      )
    })
    ctx.status = 201
  })
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
