import { inPath, inQuery, json, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'

export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')

export const DifferenceQuery = z.strictObject({ from: Sha256, to: Sha256 })

const Hunk = z.object({
  oldStart: z.int(),
  oldLines: z.int(),
  newStart: z.int(),
  newLines: z.int(),
  lines: z.array(z.string()).describe('each begins with a space, + or -'),
})

const VersionDifference = z.object({
  from: Sha256,
  to: Sha256,
  files: z.array(
    z.object({
      file: z.string(),
      change: z.enum(['added', 'removed', 'changed']),
      fromBytes: z.int().nullable(),
      toBytes: z.int().nullable(),
      hunks: z.array(Hunk).nullable().describe('of a changed text'),
      isTooMuch: z.boolean().describe('the lines were not compared, or are not all told: there are too many'),
    }),
  ),
  moreFiles: z.int().describe('changed files that are not listed'),
  manifest: z
    .array(z.object({ key: z.string(), from: z.unknown(), to: z.unknown() }))
    .describe('what decides who comes in and what scripts reach'),
})

export const versionSchemas = { VersionDifference: z.toJSONSchema(VersionDifference, { io: 'input' }) }

const one = '/admin/api/solutions/{name}'
const SHA256 = { type: 'string', pattern: '^[0-9a-f]{64}$' }

export const versionPaths = {
  [`${one}/diff`]: {
    parameters: [
      inPath('name'),
      { ...inQuery('from', SHA256), required: true },
      { ...inQuery('to', SHA256), required: true },
    ],
    get: operation('What changed between two versions: files, lines of texts, the manifest', {
      200: json(ref('VersionDifference')),
    }),
  },
  [`${one}/versions/{sha256}`]: {
    parameters: [inPath('name'), inPath('sha256')],
    delete: operation('Erase a version that is not the active one', { 204: { description: 'erased' } }),
  },
  [`${one}/versions/{sha256}/bundle`]: {
    parameters: [inPath('name'), inPath('sha256')],
    get: operation('The bundle as it was uploaded', {
      200: {
        description: 'a zip with this SHA-256',
        content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } },
      },
    }),
  },
}
