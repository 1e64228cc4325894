import type Router from '@koa/router'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { callerOf } from '../access/access.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Organisations } from './organisations.ts'

export type OrganisationPageParts = { readonly organisations: Organisations }

export function addOrganisationPages(
  pages: PageRouter,
  router: Router,
  { organisations }: OrganisationPageParts,
): void {
  // "/" redirects to the user's only organisation, or to the list of organisations if there are none or several. Users
  // who aren't signed in return here after the sign-in.
  router.get('/', async (ctx) => {
    requireNavigation(ctx)
    const caller = callerOf(ctx)
    ctx.status = 302
    if (caller?.kind !== 'person') return ctx.set('Location', '/sign-in')
    const [first, ...others] = await organisations.ofMember(caller.user.uid)
    const isOne = first !== undefined && others.length === 0
    ctx.set('Location', isOne ? `/o/${first.name}` : '/organisations')
  })

  pages.get('/organisations', async (ctx, text) => {
    const caller = callerOf(ctx)
    const items = caller?.kind === 'person' ? await organisations.ofMember(caller.user.uid) : []
    return { template: 'organisations', heading: text('center.organisations'), model: { items } }
  })
}
