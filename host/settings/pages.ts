import { SETTING_GROUPS, type SettingGroup } from '../config/setting-groups.ts'
import type { ShownSetting } from '../config/shown-settings.ts'
import type { PageRouter } from '../pages/page.ts'
import { queryText } from '../pages/page-query.ts'

export type SettingsPageParts = { readonly settings: { readonly shown: readonly ShownSetting[] } }

/**
 * The effective settings of this host. The page contains all of them, and hides those that don't match the search. So
 * its script (host/web/admin/settings-filter.ts) can filter while the user types.
 */
export function addSettingsPages(pages: PageRouter, { settings }: SettingsPageParts): void {
  pages.get('/settings', async (ctx, text) => {
    const search = queryText(ctx, 'search')
    const isSetOnly = queryText(ctx, 'set') !== ''
    const all = settings.shown.map((one) => ({ ...one, isFound: fits(one, search.toLowerCase(), isSetOnly) }))
    const model = { search, isSetOnly, count: all.filter(({ isFound }) => isFound).length, groups: groupsOf(all) }
    return { template: 'settings', heading: text('admin.part.settings'), part: 'settings', model }
  })
}

type FoundSetting = ShownSetting & { readonly isFound: boolean }

function groupsOf(all: readonly FoundSetting[]) {
  return (Object.keys(SETTING_GROUPS) as SettingGroup[]).map((name) => {
    const names: readonly string[] = SETTING_GROUPS[name]
    const settings = all
      .filter((one) => names.includes(one.name))
      .toSorted((one, other) => names.indexOf(one.name) - names.indexOf(other.name))
    return { name, settings, isFound: settings.some(({ isFound }) => isFound) }
  })
}

function fits({ name, what, value, source }: ShownSetting, search: string, isSetOnly: boolean): boolean {
  if (isSetOnly && source === 'default') return false
  return [name, what, value ?? ''].some((text) => text.toLowerCase().includes(search))
}
