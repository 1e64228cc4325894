import { json, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'

const Setting = z.object({
  name: z.string(),
  kind: z.enum(['property', 'limit']),
  value: z.string().nullable().describe('as it is written; null for a secret, and where nothing is set'),
  isSet: z.boolean(),
  isSecret: z.boolean(),
  source: z.enum(['environment', 'file', 'default']),
  default: z.string().nullable(),
  what: z.string(),
})

export const settingsSchemas = { Setting: z.toJSONSchema(Setting, { io: 'input' }) }

export const settingsPaths = {
  '/admin/api/settings': {
    get: operation('Every environment property and limit in force, secrets excepted; for the admin account', {
      200: json(list(ref('Setting'))),
    }),
  },
}
