import { readWith } from '../../base/api/read-with.ts'
import { AuditQuery, shownEntry } from '../access/api.ts'
import type { ApiTokens } from '../access/api-tokens.ts'
import type { Audit } from '../access/audit.ts'
import { ROLES } from '../access/roles.ts'
import type { PageRouter } from '../pages/page.ts'

export type AccessPageParts = { readonly apiTokens: ApiTokens; readonly audit: Audit }

const DAY = 86_400_000
/** API token lifetimes that the page offers, in days. */
const LIFETIMES = [30, 90, 365]
/** Maximum audit entries per page. */
const SHOWN = 100

export function addAccessPages(pages: PageRouter, { apiTokens, audit }: AccessPageParts): void {
  pages.ofOrganisation('/access-tokens', 'api-tokens', async (_ctx, text, { organisation }) => {
    const isExpired = ({ expiresAt }: { expiresAt: number | null }) => expiresAt !== null && expiresAt <= Date.now()
    const tokens = (await apiTokens.list(organisation.id)).map((one) => ({ ...one, isExpired: isExpired(one) }))
    const model = {
      organisation,
      tokens,
      roles: ROLES.filter((role) => role !== 'owner'),
      lifetimes: LIFETIMES.map((days) => ({ days, expiresAt: Date.now() + days * DAY })),
    }
    return { template: 'api-tokens', heading: text('center.part.api-tokens'), part: 'api-tokens', model }
  })

  pages.ofOrganisation('/activity', 'audit', async (ctx, text, { organisation }) => {
    // Drop empty parameters: the form sends them for filters that the user left empty.
    const given = Object.fromEntries(Object.entries(ctx.query).filter(([, value]) => value !== ''))
    const { before, actor, action, outcome } = readWith(AuditQuery, given)
    const filter = {
      ...(actor === undefined ? {} : { actor }),
      ...(action === undefined ? {} : { action }),
      ...(outcome === undefined ? {} : { outcome }),
    }
    const page = `/o/${organisation.name}/activity`
    const hrefOf = (more: Record<string, string>) => {
      const query = new URLSearchParams({ ...filter, ...more }).toString()
      return query === '' ? page : `${page}?${query}`
    }
    const { items, next } = await audit.read({ organisation: organisation.id, limit: SHOWN, before, ...filter })
    const recent = await audit.recentValues(organisation.id)
    // A link can filter by a value that appears only in older entries, so add that value to the options.
    const options = (values: readonly string[], value: string | undefined) =>
      value === undefined || values.includes(value) ? values : [...values, value]
    const model = {
      page,
      filter,
      actions: options(recent.actions, action),
      outcomes: options(recent.outcomes, outcome),
      items: items.map(shownEntry),
      firstHref: before === undefined ? null : hrefOf({}),
      nextHref: next === undefined ? null : hrefOf({ before: next }),
    }
    return { template: 'audit', heading: text('center.part.audit'), part: 'audit', model }
  })
}
