import type { Context } from 'koa'
import type { Audit, AuditAction, AuditFilter } from '../access/audit.ts'
import type { PageRouter } from '../pages/page.ts'
import { addressWith, queryText, queryTexts } from '../pages/page-query.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type AuditPageParts = { readonly audit: Audit; readonly store: SolutionStore }

const PAGE = 100

/** Suggested values of the action filter; others can be typed. */
const ACTIONS = [
  'sign-in',
  'remembered-sign-in',
  'remembered-theft',
  'sign-out',
  'password-change',
  'admin-sign-in',
  'solution-upload',
  'solution-activate',
  'solution-delete',
  'solution-version-delete',
  'solution-grants',
  'solution-secret',
  'solution-oauth',
  'solution-login-token',
  'user-create',
  'user-change',
  'user-delete',
  'user-erase',
  'user-import',
  'user-export',
  'session-end',
  'token-create',
  'token-delete',
  'script-request',
  'client',
  'maintenance',
  'audit-export',
  'testing',
] as const satisfies readonly AuditAction[]

const OUTCOMES = ['ok', 'refused', 'throttled'] as const

/** The audit, with the filters of the API. */
export function addAuditPages(pages: PageRouter, { audit, store }: AuditPageParts): void {
  pages.get('/audit', async (ctx, text) => {
    const texts = queryTexts(ctx, ['action', 'outcome', 'actor', 'target', 'solution', 'correlationId'])
    const [from, to] = [timeAsked(ctx, 'from'), timeAsked(ctx, 'to')]
    const filter: AuditFilter = {
      ...texts,
      ...(from === null ? {} : { from }),
      // The field has minutes; include the whole last minute.
      ...(to === null ? {} : { to: to + 59_999 }),
    }
    const shown = { ...texts, from: fieldTime(from), to: fieldTime(to) }
    const before = Number(/^\d{1,15}$/.exec(queryText(ctx, 'before'))?.[0] ?? 0)
    const { items, next } = await audit.read({ limit: PAGE, ...filter, ...(before > 0 ? { before } : {}) })
    const model = {
      filter: shown,
      isFiltered: Object.values(shown).some((value) => value !== ''),
      actions: ACTIONS,
      outcomes: OUTCOMES,
      solutions: (await store.list()).map(({ name }) => name),
      entries: items,
      csvHref: addressWith('/admin/api/audit.csv', filter),
      firstHref: before > 0 ? addressWith('/admin/audit', shown) : null,
      nextHref: next === undefined ? null : addressWith('/admin/audit', { ...shown, before: next }),
    }
    return { template: 'audit', heading: text('admin.part.audit'), part: 'audit', model }
  })
}

/** The date field has no time zone; it means UTC, like all times on the admin pages. */
function timeAsked(ctx: Context, name: string): number | null {
  const text = queryText(ctx, name)
  const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text) ? Date.parse(`${text.slice(0, 16)}Z`) : Number.NaN
  return time >= 0 ? time : null
}

function fieldTime(time: number | null): string {
  return time === null ? '' : new Date(time).toISOString().slice(0, 16)
}
