import type { Context } from 'koa'
import { AUDIT_ACTIONS, type Audit, type AuditFilter } from '../access/audit.ts'
import type { PageRouter } from '../pages/page.ts'
import { addressWith, queryText, queryTexts } from '../pages/page-query.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type AuditPageParts = { readonly audit: Audit; readonly store: SolutionStore }

const PAGE = 100

/**
 * Outcomes that the filter always lists. All others are error codes, which the filter lists if they occurred recently.
 */
const OUTCOMES = ['ok', 'refused', 'throttled'] as const

/** The audit log page, with the same filters as the API. */
export function addAuditPages(pages: PageRouter, { audit, store }: AuditPageParts): void {
  pages.get('/audit', async (ctx, text) => {
    const texts = queryTexts(ctx, ['action', 'outcome', 'actor', 'target', 'solution', 'correlationId'])
    const [from, to] = [timeAsked(ctx, 'from'), timeAsked(ctx, 'to')]
    const filter: AuditFilter = {
      ...texts,
      ...(from === null ? {} : { from }),
      // The form field has a resolution of one minute, so include the whole last minute.
      ...(to === null ? {} : { to: to + 59_999 }),
    }
    const shown = { ...texts, from: fieldTime(from), to: fieldTime(to) }
    const before = Number(/^\d{1,15}$/.exec(queryText(ctx, 'before'))?.[0] ?? 0)
    const { items, next } = await audit.read({ limit: PAGE, ...filter, ...(before > 0 ? { before } : {}) })
    const recent = await audit.recentValues()
    const solutions = (await store.list()).map(({ name }) => name)
    const model = {
      filter: shown,
      isFiltered: Object.values(shown).some((value) => value !== ''),
      actions: options(AUDIT_ACTIONS, texts.action),
      outcomes: options(OUTCOMES, ...recent.outcomes, texts.outcome),
      // The audit log can also contain entries about deleted solutions.
      solutions: [...new Set([...solutions, ...recent.solutions])].sort(),
      entries: items,
      csvHref: addressWith('/admin/api/audit.csv', filter),
      firstHref: before > 0 ? addressWith('/admin/audit', shown) : null,
      nextHref: next === undefined ? null : addressWith('/admin/audit', { ...shown, before: next }),
    }
    return { template: 'audit', heading: text('admin.part.audit'), part: 'audit', model }
  })
}

/** A filter's options: the listed values, then additional ones, such as the value in the URL. */
function options(listed: readonly string[], ...more: readonly (string | undefined)[]): readonly string[] {
  return [...new Set([...listed, ...more])].filter((value) => value !== undefined)
}

/** The date field has no time zone. Interpret it as UTC, like all times on the admin pages. */
function timeAsked(ctx: Context, name: string): number | null {
  const text = queryText(ctx, name)
  const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text) ? Date.parse(`${text.slice(0, 16)}Z`) : Number.NaN
  return time >= 0 ? time : null
}

function fieldTime(time: number | null): string {
  return time === null ? '' : new Date(time).toISOString().slice(0, 16)
}
