import type { Sessions } from '../../base/accounts/sessions.ts'
import type { PageRouter } from '../pages/page.ts'
import { addressWith, queryText, queryTexts } from '../pages/page-query.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type SessionPageParts = { readonly sessions: Sessions; readonly store: SolutionStore }

const PAGE = 100

/** Adds the page that lists the sessions in all solutions. */
export function addSessionPages(pages: PageRouter, { sessions, store }: SessionPageParts): void {
  pages.get('/sessions', async (ctx, text) => {
    const filter = queryTexts(ctx, ['solution', 'username', 'uid'])
    const after = queryText(ctx, 'after')
    const { items, next } = await sessions.list({ limit: PAGE, ...filter, ...(after === '' ? {} : { after }) })
    const model = {
      filter,
      solutions: (await store.list()).map(({ name }) => name),
      sessions: items,
      firstHref: after === '' ? null : addressWith('/admin/sessions', filter),
      nextHref: next === undefined ? null : addressWith('/admin/sessions', { ...filter, after: next }),
    }
    return { template: 'sessions', heading: text('admin.part.sessions'), part: 'sessions', model }
  })
}
