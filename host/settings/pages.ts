import type { ShownSetting } from '../config/shown-settings.ts'
import type { PageRouter } from '../pages/page.ts'
import { queryText } from '../pages/page-query.ts'

export type SettingsPageParts = { readonly settings: { readonly shown: readonly ShownSetting[] } }

/** The effective settings of this host; only environment properties set them. */
export function addSettingsPages(pages: PageRouter, { settings }: SettingsPageParts): void {
  pages.get('/settings', async (ctx, text) => {
    const search = queryText(ctx, 'search')
    const isSetOnly = queryText(ctx, 'set') !== ''
    const found = settings.shown.filter((one) => fits(one, search.toLowerCase(), isSetOnly))
    const groups = (['property', 'limit'] as const)
      .map((kind) => ({ kind, settings: found.filter((one) => one.kind === kind) }))
      .filter((group) => group.settings.length > 0)
    const model = { search, isSetOnly, groups }
    return { template: 'settings', heading: text('admin.part.settings'), part: 'settings', model }
  })
}

function fits({ name, what, value, source }: ShownSetting, search: string, isSetOnly: boolean): boolean {
  if (isSetOnly && source === 'default') return false
  return [name, what, value ?? ''].some((text) => text.toLowerCase().includes(search))
}
