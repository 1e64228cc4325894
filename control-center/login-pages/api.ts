import type Router from '@koa/router'
import { readWith } from '../../base/api/read-with.ts'
import { readJson } from '../../base/http/read-body.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Access, Member } from '../access/access.ts'
import { type Activity, recorded } from '../access/activity.ts'
import { ofSolution } from '../solution-users/api.ts'
import type { LoginPages } from './login-pages.ts'
import { LoginPageDraft, NewLoginPage, VersionNumber } from './openapi.ts'
import { compileDesign } from './template.ts'

export type LoginPageApiParts = {
  readonly access: Access
  readonly activity: Activity
  readonly loginPages: LoginPages
  readonly limits: Limits
}

export function addLoginPageRoutes(router: Router, { access, activity, loginPages, limits }: LoginPageApiParts): void {
  const one = '/organisations/:organisation/solutions/:solution/login-page'
  const numberOf = (params: object) => readWith(VersionNumber, (params as { number?: string }).number)

  router.get(one, async (ctx) => {
    const { place } = await ofSolution(ctx, access, 'login-pages')
    const { number, design } = await loginPages.published(place)
    ctx.body = { number, design, history: await loginPages.history(place) }
    ctx.etag = String(number)
  })

  router.put(one, async (ctx) => {
    const { member, place } = await ofSolution(ctx, access, 'login-pages')
    const { design, base } = readWith(NewLoginPage, await readJson(ctx, limits))
    compileDesign(design, LONGEST_FORGOT)
    const act = { action: 'login-page-publish', subject: place.solution }
    ctx.body = await recorded(ctx, activity, member, act, async () => {
      const published = await loginPages.publish(place, design, member.name, base)
      act.subject = `${place.solution} ${published.number}`
      return published
    })
    await loginPages.dropDraft(place, personOf(member))
    ctx.status = 201
  })

  router.put(`${one}/draft`, async (ctx) => {
    const { member, place } = await ofSolution(ctx, access, 'login-pages')
    const { design } = readWith(LoginPageDraft, await readJson(ctx, limits))
    compileDesign(design, LONGEST_FORGOT)
    await loginPages.keepDraft(place, personOf(member), design)
    ctx.status = 204
  })

  router.delete(`${one}/draft`, async (ctx) => {
    const { member, place } = await ofSolution(ctx, access, 'login-pages')
    await loginPages.dropDraft(place, personOf(member))
    ctx.status = 204
  })

  router.get(`${one}/versions/:number`, async (ctx) => {
    const { place } = await ofSolution(ctx, access, 'login-pages')
    ctx.body = await loginPages.version(place, numberOf(ctx.params))
  })

  router.post(`${one}/versions/:number/use`, async (ctx) => {
    const { member, place } = await ofSolution(ctx, access, 'login-pages')
    const number = numberOf(ctx.params)
    const act = { action: 'login-page-use-again', subject: `${place.solution} ${number}` }
    ctx.body = await recorded(ctx, activity, member, act, async () =>
      loginPages.publish(place, await loginPages.version(place, number), member.name),
    )
    await loginPages.dropDraft(place, personOf(member))
    ctx.status = 201
  })
}

/** Whose draft it is. */
export function personOf({ uid, name }: Pick<Member, 'uid' | 'name'>): string {
  return uid ?? name
}

/** As long as the address for a new password may be: what is checked holds wherever the control center is. */
const LONGEST_FORGOT = `https://${'x'.repeat(255)}/forgot-password/${'x'.repeat(63)}/${'x'.repeat(63)}`
