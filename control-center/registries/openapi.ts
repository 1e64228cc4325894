import * as z from 'zod'
import { inPath, json, jsonBody, list, operation, ref } from '../../host/admin/openapi-parts.ts'
import { ORGANISATION } from '../openapi-parts.ts'

const HOST = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*(:[1-9][0-9]{0,4})?$/
/** As names of repositories are written (OCI distribution specification, "name"). */
const NAMESPACE = /^[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/

export const RegistryInput = z.strictObject({
  name: z.string().trim().min(1).max(100).describe('for people'),
  host: z
    .string()
    .trim()
    .max(255)
    .regex(HOST, 'must be a host name in lower case, with a port where it needs one, such as registry.example.org')
    .describe('{registry_host} of the deployment procedure'),
  region: z
    .string()
    .trim()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be 1 to 63 lower-case letters, digits and hyphens')
    .describe('<region-name>'),
  namespace: z
    .string()
    .trim()
    .max(200)
    .regex(NAMESPACE, 'must be lower-case letters, digits, ".", "_", "-", in parts divided by "/"')
    .describe('<namespace-name>'),
  accessKeyId: z
    .string()
    .trim()
    .regex(/^\w{16,128}$/, 'must be 16 to 128 letters, digits and underscores')
    .describe('AWS_ACCESS_KEY_ID'),
  secretAccessKey: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]{16,512}$/, 'must be 16 to 512 characters of ASCII without spaces')
    .describe('AWS_SECRET_ACCESS_KEY; it is never shown again'),
})

const Registry = z.object({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  region: z.string(),
  namespace: z.string(),
  keyEnd: z.string().describe('the last 4 characters of AWS_ACCESS_KEY_ID'),
  createdAt: z.int(),
  changedAt: z.int(),
})

const SCHEMAS = { Registry, RegistryInput }

export const registrySchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [key, z.toJSONSchema(schema, { io: 'input' })]),
)

const organisation = inPath('organisation')

export const registryPaths = {
  [`${ORGANISATION}/registries`]: {
    parameters: [organisation],
    get: operation('Image registries; nothing of their secrets', { 200: json(list(ref('Registry'))) }),
    post: {
      ...operation('Add one with its access keys', { 201: json(ref('Registry')) }),
      requestBody: jsonBody(ref('RegistryInput')),
    },
  },
  [`${ORGANISATION}/registries/{registry}`]: {
    parameters: [organisation, inPath('registry')],
    put: {
      ...operation('Replace it and its access keys', { 200: json(ref('Registry')) }),
      requestBody: jsonBody(ref('RegistryInput')),
    },
    delete: operation('Delete it with its access keys', { 204: { description: 'deleted' } }),
  },
}
