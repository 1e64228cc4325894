import type Router from '@koa/router'
import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { solutionTarget, versionTarget } from '../../base/api/targets.ts'
import { readOptionalJson } from '../../base/http/read-body.ts'
import { defaultLoginTemplate } from '../../base/web/pages.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../audit/audit.ts'
import { activeBundle, generateLoginPage, lookAtLoginPage } from '../login/generated-login-page.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Uploads } from '../solutions/upload.ts'
import { needScope } from './actor.ts'
import { audited } from './audited.ts'
import { findSolution } from './find-solution.ts'
import { GenerateForm } from './login-page-openapi.ts'

export type LoginPageApiParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly uploads: Uploads
  readonly audit: Audit
  readonly limits: Limits
}

/** The login page of a solution: what it is, and the default one to begin with (guide 2.4). */
export function addLoginPageRoutes(router: Router, parts: LoginPageApiParts): void {
  const { store, catalog, uploads, audit, limits } = parts
  const nameOf = (ctx: Context) => (ctx.params as { name: string }).name

  router.get('/solutions/:name/login-page', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'read')
    const solution = await catalog.need(nameOf(ctx))
    ctx.body = await lookAtLoginPage(solution, await activeBundle(store, solution), limits)
  })

  router.post('/solutions/:name/login-page/generate', async (ctx) => {
    const name = nameOf(ctx)
    const named = { solution: name, target: solutionTarget(name) }
    const { isNew, ...uploaded } = await audited(ctx, audit, 'solution-upload', named, async (named) => {
      needScope(ctx, `solutions:${name}`, 'write')
      const form = readWith(GenerateForm, (await readOptionalJson(ctx, limits)) ?? {})
      const done = await generateLoginPage(name, form, { uploads, limits })
      named.target = versionTarget(done.sha256)
      return done
    })
    ctx.status = isNew ? 201 : 200
    ctx.set('Location', `/admin/api/solutions/${name}`)
    ctx.body = uploaded
  })

  router.get('/solutions/:name/login-page/template', async (ctx) => {
    needScope(ctx, `solutions:${nameOf(ctx)}`, 'read')
    await findSolution(store, nameOf(ctx))
    ctx.type = 'text/html; charset=utf-8'
    ctx.attachment('login.html')
    ctx.body = defaultLoginTemplate()
  })
}
