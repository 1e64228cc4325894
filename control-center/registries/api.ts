import { DONE } from '../../base/api/route.ts'
import { z } from '../../runtime/zod.ts'
import { type MemberRoute, route } from '../access/route.ts'
import { isElastic, regionOf } from './elastic.ts'
import type { NewRegistry, Registries, RegistryKeys } from './registries.ts'

export type RegistryApiParts = { readonly registries: Registries }

const HOST = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*(:[1-9][0-9]{0,4})?$/
/** The syntax of repository names (OCI distribution specification, "name"). */
const NAMESPACE = /^[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/

/**
 * Characters that HTTP's Basic scheme transmits unchanged. The username can't contain a colon, because a colon
 * separates it from the password (RFC 7617, section 2).
 */
const USERNAME = /^[\x21-\x39\x3b-\x7e]{1,255}$/
/** Line breaks are allowed, because a service account's key can be JSON on several lines. */
const PASSWORD = /^[\t\n\r\x20-\x7e]{1,8192}$/

const RegistryInput = z
  .strictObject({
    name: z.string().trim().min(1).max(100).describe('display name'),
    host: z
      .string()
      .trim()
      .max(255)
      .regex(HOST, 'must be a host name in lower case, with a port if needed, such as registry.example.org')
      .describe('host of the registry, such as ghcr.io; docker.io for Docker Hub'),
    namespace: z
      .string()
      .trim()
      .max(200)
      .regex(
        NAMESPACE,
        'must be one or more parts separated by "/", each of lowercase letters, digits, ".", "_" and "-"',
      )
      .describe('the account, group or project that contains the repositories'),
    username: z
      .string()
      .trim()
      .regex(USERNAME, 'must be 1 to 255 ASCII characters without spaces or colons')
      .optional()
      .describe('name of a user, robot account or deploy token; omit this for Amazon ECR'),
    password: z
      .string()
      .trim()
      .regex(PASSWORD, 'must be 1 to 8192 ASCII characters')
      .optional()
      .describe('the password or token for `username`; responses never contain it'),
    region: z.string().trim().max(63).optional().describe('the region in the host name; only for Amazon ECR'),
    accessKeyId: z
      .string()
      .trim()
      .regex(/^\w{16,128}$/, 'must be 16 to 128 letters, digits and underscores')
      .optional()
      .describe('AWS_ACCESS_KEY_ID, only for Amazon ECR'),
    secretAccessKey: z
      .string()
      .trim()
      .regex(/^[\x21-\x7e]{16,512}$/, 'must be 16 to 512 ASCII characters without spaces')
      .optional()
      .describe('AWS_SECRET_ACCESS_KEY, only for Amazon ECR; responses never contain it'),
  })
  .superRefine((input, ctx) => {
    const isOfElastic = isElastic(input.host)
    const [needed, foreign] = isOfElastic ? [ACCESS_KEYS, LOGIN] : [LOGIN, [...ACCESS_KEYS, 'region'] as const]
    const refuse = (field: string, message: string) => ctx.addIssue({ code: 'custom', path: [field], message })
    for (const field of needed)
      if (input[field] === undefined) refuse(field, `the registry ${input.host} requires ${needed.join(' and ')}`)
    for (const field of foreign) {
      if (input[field] === undefined) continue
      const what = isOfElastic ? 'an Amazon ECR registry' : 'not an Amazon ECR registry'
      refuse(field, `${input.host} is ${what}: send ${needed.join(' and ')} instead`)
    }
    const region = regionOf(input.host)
    if (isOfElastic && (input.region ?? region) !== region) refuse('region', `must be ${region}, as in the host name`)
  })
  .meta({ id: 'RegistryInput' })

const LOGIN = ['username', 'password'] as const
const ACCESS_KEYS = ['accessKeyId', 'secretAccessKey'] as const

function keysIn({ username, password, accessKeyId, secretAccessKey }: z.infer<typeof RegistryInput>): RegistryKeys {
  if (username !== undefined && password !== undefined) return { username, password }
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return { accessKeyId, secretAccessKey }
  throw new TypeError('the input was not checked by the schema')
}

const Registry = z
  .object({
    id: z.string(),
    name: z.string(),
    host: z.string(),
    region: z.string().describe("region of Amazon ECR; '' for other registries"),
    namespace: z.string(),
    username: z.string().nullable().describe('the username; null for Amazon ECR'),
    keyEnd: z.string().nullable().describe('the last 4 characters of AWS_ACCESS_KEY_ID; null for other registries'),
    createdAt: z.int(),
    changedAt: z.int(),
  })
  .meta({ id: 'Registry' })

function wantedBy(input: z.infer<typeof RegistryInput>): NewRegistry {
  const { name, host, namespace } = input
  return { name, host, namespace, keys: keysIn(input) }
}

export function registryRoutes({ registries }: RegistryApiParts): MemberRoute[] {
  return [
    route(
      'GET /organisations/:organisation/registries',
      {
        summary: 'List the image registries, without their secrets',
        right: 'credentials',
        answers: { 200: z.object({ items: z.array(Registry) }) },
      },
      async ({ who }) => ({ items: await registries.list(who.organisation.id) }),
    ),
    route(
      'POST /organisations/:organisation/registries',
      {
        summary: 'Add a registry with its username and password or access keys',
        right: 'credentials',
        act: 'registry-create',
        body: RegistryInput,
        answers: { 201: Registry },
      },
      ({ who, body, names }) => {
        names.target = body.name
        return registries.create(who.organisation.id, wantedBy(body))
      },
    ),
    route(
      'PUT /organisations/:organisation/registries/:registry',
      {
        summary: 'Replace a registry and its credentials',
        right: 'credentials',
        act: 'registry-replace',
        body: RegistryInput,
        answers: { 200: Registry },
      },
      ({ who, params, body, names }) => {
        names.target = body.name
        return registries.replace(who.organisation.id, params.registry, wantedBy(body))
      },
    ),
    route(
      'DELETE /organisations/:organisation/registries/:registry',
      {
        summary: 'Delete a registry with its credentials',
        right: 'credentials',
        act: 'registry-delete',
        names: async ({ who, params: { registry } }) => ({
          target: (await registries.find(who.organisation.id, registry))?.name ?? registry,
        }),
        answers: DONE,
      },
      ({ who, params }) => registries.remove(who.organisation.id, params.registry),
    ),
  ]
}
