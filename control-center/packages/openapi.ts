import { inPath, json, list, operation, ref } from '../../base/api/openapi-parts.ts'
import { z } from '../../runtime/zod.ts'
import { ORGANISATION } from '../openapi-parts.ts'
import { BuildStamp } from './build-stamp.ts'

const PackageVersion = z.object({
  sha256: z.string(),
  version: z.string(),
  title: z.string(),
  authenticator: z.string(),
  bytes: z.int(),
  stamp: BuildStamp.nullable().describe('of the last pipeline run'),
  uploadedAt: z.int(),
  uploadedBy: z.string(),
})

const PackageSummary = z.object({ name: z.string(), newest: PackageVersion.nullable() })
const Package = z.object({ name: z.string(), versions: z.array(PackageVersion).describe('newest first') })
const UploadedPackage = z.object({
  name: z.string(),
  version: z.string(),
  sha256: z.string(),
  warnings: z.array(z.looseObject({ message: z.string() })),
})

const SCHEMAS = { PackageSummary, Package, UploadedPackage }

export const packageSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const organisation = inPath('organisation')
const zip = { 'application/zip': { schema: { type: 'string', format: 'binary' } } }
const upload = (summary: string) => ({
  ...operation(summary, { 200: json(ref('UploadedPackage')), 201: json(ref('UploadedPackage')) }),
  requestBody: { required: true, content: zip },
})
const VERSION = `${ORGANISATION}/packages/{name}/versions/{sha256}`
const version = [organisation, inPath('name'), inPath('sha256')]

export const packagePaths = {
  [`${ORGANISATION}/packages`]: {
    parameters: [organisation],
    get: operation('The packages, each with its newest version', { 200: json(list(ref('PackageSummary'))) }),
    post: upload('Upload a bundle under the name in its manifest; 200: it was there'),
  },
  [`${ORGANISATION}/packages/{name}`]: {
    parameters: [organisation, inPath('name')],
    get: operation('One with its versions', { 200: json(ref('Package')) }),
    put: upload('Upload a bundle of this package; 200: it was there'),
  },
  [VERSION]: {
    parameters: version,
    delete: operation('Delete a version that nothing needs', { 204: { description: 'deleted' } }),
  },
  [`${VERSION}/bundle`]: {
    parameters: version,
    get: operation('The bundle as it was uploaded', { 200: { description: 'the zip', content: zip } }),
  },
}
