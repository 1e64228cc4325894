import { SETTING_GROUPS, type SettingGroup } from '../config/setting-groups.ts'
import type { ShownSetting } from '../config/shown-settings.ts'
import type { PageRouter } from '../pages/page.ts'
import { queryText } from '../pages/page-query.ts'

export type SettingsPageParts = { readonly settings: { readonly shown: readonly ShownSetting[] } }

/** The effective settings of this host, which can only be set with environment variables. */
export function addSettingsPages(pages: PageRouter, { settings }: SettingsPageParts): void {
  pages.get('/settings', async (ctx, text) => {
    const search = queryText(ctx, 'search')
    const isSetOnly = queryText(ctx, 'set') !== ''
    const found = settings.shown.filter((one) => fits(one, search.toLowerCase(), isSetOnly))
    const model = { search, isSetOnly, count: found.length, groups: groupsOf(found) }
    return { template: 'settings', heading: text('admin.part.settings'), part: 'settings', model }
  })
}

function groupsOf(found: readonly ShownSetting[]) {
  return (Object.keys(SETTING_GROUPS) as SettingGroup[])
    .map((name) => {
      const names: readonly string[] = SETTING_GROUPS[name]
      const settings = found.filter((one) => names.includes(one.name))
      return { name, settings: settings.toSorted((one, other) => names.indexOf(one.name) - names.indexOf(other.name)) }
    })
    .filter(({ settings }) => settings.length > 0)
}

function fits({ name, what, value, source }: ShownSetting, search: string, isSetOnly: boolean): boolean {
  if (isSetOnly && source === 'default') return false
  return [name, what, value ?? ''].some((text) => text.toLowerCase().includes(search))
}
