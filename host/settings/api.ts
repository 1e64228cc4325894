import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import type { ShownSetting } from '../config/shown-settings.ts'

export type SettingsApiParts = { readonly settings: { readonly shown: readonly ShownSetting[] } }

const Setting = z
  .object({
    name: z.string(),
    kind: z.enum(['property', 'limit']),
    value: z.string().nullable().describe('the value as text; null if it is a secret or not set'),
    isSet: z.boolean(),
    isSecret: z.boolean(),
    source: z.enum(['environment', 'file', 'default']),
    default: z.string().nullable(),
    what: z.string(),
  })
  .meta({ id: 'Setting' })

/** The effective settings of this host. They are read-only, because only environment variables can set them. */
export function settingsRoutes({ settings }: SettingsApiParts): AdminRoute[] {
  return [
    route(
      'GET /settings',
      {
        summary: 'List all environment variables and limits of this host, without secrets',
        right: null,
        answers: { 200: z.object({ items: z.array(Setting) }) },
      },
      () => ({ items: settings.shown }),
    ),
  ]
}
