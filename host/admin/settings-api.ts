import type Router from '@koa/router'
import type { ShownSetting } from '../../base/config/shown-settings.ts'
import { needScope } from './actor.ts'

export type SettingsApiParts = { readonly settings: { readonly shown: readonly ShownSetting[] } }

/** What is in force on this host. It is set by environment properties alone, so nothing of it changes here. */
export function addSettingsRoutes(router: Router, { settings }: SettingsApiParts): void {
  router.get('/settings', (ctx) => {
    needScope(ctx, null, 'read')
    ctx.body = { items: settings.shown }
  })
}
