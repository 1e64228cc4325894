import { z } from '../zod.ts'
import {
  areUnique,
  FunctionName,
  list,
  OwnIdentifier,
  orUnknownKey,
  PermissionName,
  pattern,
  text,
} from './schema-parts.ts'

// The manifest key `endpoints`: HTTP requests that functions of the solution respond to.

export const ENDPOINT_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type EndpointMethod = (typeof ENDPOINT_METHODS)[number]

/** The ways in which callers of an endpoint can be authenticated. */
export const AUTHENTICATIONS = ['session', 'token', 'signature', 'none'] as const
export type Authentication = (typeof AUTHENTICATIONS)[number]

export const SIGNATURE_SCHEMES = ['stripe', 'github', 'standard'] as const

/** Maximum number of endpoints per solution. */
export const MOST_ENDPOINTS = 200
/** Limits for the schema of a query or body. */
const MOST_DEPTH = 8
const MOST_KEYS = 500

const INPUT_TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const

/** A part of JSON Schema that describes a request's query or body. */
export type InputSchema = {
  readonly type?: (typeof INPUT_TYPES)[number] | undefined
  readonly description?: string | undefined
  readonly properties?: Readonly<Record<string, InputSchema>> | undefined
  readonly required?: readonly string[] | undefined
  readonly items?: InputSchema | undefined
  readonly enum?: readonly (string | number | boolean | null)[] | undefined
} & { readonly [Bound in (typeof BOUNDS)[number]]?: number | undefined }

const BOUNDS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const
export const INPUT_KEYS = ['type', 'description', 'properties', 'required', 'items', 'enum', ...BOUNDS] as const

const number = z.number({ error: 'must be a number' })
const count = z.int({ error: 'must be a whole number' }).min(0, { error: 'must be a whole number' })
/** The parser rejects JSON with a key that could change a prototype, so a schema can't describe such a property. */
const PropertyName = text(100).refine((name) => !['__proto__', 'constructor', 'prototype'].includes(name), {
  error: 'must not be __proto__, constructor or prototype',
})
const EnumValue = z.union([z.string().max(1000), z.number(), z.boolean(), z.null()], {
  error: 'must be a string of at most 1000 characters, a number, true, false or null',
})

const Input: z.ZodType<InputSchema> = z.lazy(() =>
  z.strictObject(
    {
      type: z.enum(INPUT_TYPES, { error: `must be one of ${INPUT_TYPES.join(', ')}` }).optional(),
      description: text(2000).optional(),
      properties: z.record(PropertyName, Input, { error: 'must be an object that maps names to schemas' }).optional(),
      required: list(text(100), MOST_KEYS).refine(areUnique, { error: 'must not contain duplicate names' }).optional(),
      items: Input.optional(),
      enum: list(EnumValue, MOST_KEYS).min(1, { error: 'must not be empty' }).optional(),
      minimum: number.optional(),
      maximum: number.optional(),
      minLength: count.optional(),
      maxLength: count.optional(),
      minItems: count.optional(),
      maxItems: count.optional(),
    },
    { error: orUnknownKey('must be a schema') },
  ),
)

type Place = (string | number)[]

/** Finds combinations of keys that make no sense, although each key is valid. */
function inputProblem(schema: InputSchema, place: Place, depth: number): { place: Place; message: string } | null {
  const { type, properties = {}, required = [], items } = schema
  if (depth > MOST_DEPTH) return { place, message: `must not be nested more than ${MOST_DEPTH} levels deep` }
  if (type === undefined && schema.enum === undefined) return { place, message: 'must have "type" or "enum"' }
  if (type === 'array' && items === undefined) return { place, message: 'must have "items", because "type" is "array"' }
  const [unknown] = required.filter((name) => !Object.hasOwn(properties, name))
  if (unknown !== undefined) {
    return {
      place: [...place, 'required'],
      message: `must list only names that are in "properties"; "${unknown}" is not`,
    }
  }
  for (const [name, property] of Object.entries(properties)) {
    const problem = inputProblem(property, [...place, 'properties', name], depth + 1)
    if (problem !== null) return problem
  }
  return items === undefined ? null : inputProblem(items, [...place, 'items'], depth + 1)
}

function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce<number>((sum, one) => sum + keysIn(one), own)
}

const Checked = Input.superRefine((schema, found) => {
  const problem =
    keysIn(schema) > MOST_KEYS
      ? { place: [], message: `must have at most ${MOST_KEYS} keys` }
      : inputProblem(schema, [], 1)
  if (problem !== null) found.addIssue({ code: 'custom', path: problem.place, message: problem.message, input: schema })
})

const Query = Checked.refine(
  ({ type, properties = {} }) =>
    type === 'object' && Object.values(properties).every((one) => one.type === 'string' || one.type === undefined),
  { error: 'must have "type": "object", and its properties must be strings' },
)

const Origin = z
  .string({ error: 'must be an origin such as https://shop.example.org' })
  .max(300, { error: 'must be an origin such as https://shop.example.org' })
  .refine((value) => /^https?:/.test(value) && URL.parse(value)?.origin === value, {
    error: 'must be an origin such as https://shop.example.org',
  })

const CORS_ERROR = { error: 'must be "*" or a list of 1 to 100 origins such as https://shop.example.org' }

const Way = z.enum(AUTHENTICATIONS, { error: `must be one of ${AUTHENTICATIONS.join(', ')}` })

const WAYS_ERROR = {
  error:
    'must be "session", "token", "signature" or "none", or a list of these; "none" must not be combined with others',
}
const Ways = z.union(
  [
    Way,
    z
      .array(Way)
      .min(1, WAYS_ERROR)
      .max(AUTHENTICATIONS.length, WAYS_ERROR)
      .refine(areUnique, WAYS_ERROR)
      .refine((ways) => ways.length === 1 || !ways.includes('none'), WAYS_ERROR),
  ],
  WAYS_ERROR,
)

const Signature = z.strictObject(
  {
    scheme: z.enum(SIGNATURE_SCHEMES, { error: `must be one of ${SIGNATURE_SCHEMES.join(', ')}` }).meta({
      title: 'Scheme',
      description: 'How the sender signs: "stripe", "github" or "standard" (Standard Webhooks).',
    }),
    secret: pattern(/^[A-Z][A-Z0-9_]*$/, 64, 'the name of a secret: capital letters, digits and "_"').meta({
      title: 'Secret',
      description: 'Name of a secret that the operator sets. The secret’s list of hosts must be empty.',
    }),
  },
  { error: orUnknownKey('must be an object with "scheme" and "secret"') },
)

export const EndpointSchema = z
  .strictObject(
    {
      function: FunctionName.meta({
        title: 'Function',
        description: 'Name of a top-level function. It receives the request and returns the response.',
      }),
      authentication: Ways.meta({
        title: 'Authentication',
        description:
          'Who can call the endpoint: "session" (signed-in users), "token" (API tokens), "signature" (signed webhooks) or "none" (anyone). There is no default.',
      }),
      permission: PermissionName.optional().meta({
        title: 'Permission',
        description: 'The permission that callers need.',
      }),
      signature: Signature.optional().meta({
        title: 'Signature',
        description: 'How requests are signed; required if "authentication" contains "signature".',
      }),
      cors: z
        .union([z.literal('*'), z.array(Origin).min(1, CORS_ERROR).max(100, CORS_ERROR)], CORS_ERROR)
        .optional()
        .meta({ title: 'CORS', description: 'Origins whose pages can call the endpoint, or "*".' }),
      query: Query.optional().meta({
        title: 'Query',
        description: 'A JSON Schema for the query. Parameters that the schema doesn’t name are rejected.',
      }),
      body: Checked.optional().meta({
        title: 'Body',
        description: 'A JSON Schema for the body. Properties that the schema doesn’t name are rejected.',
      }),
    },
    { error: orUnknownKey('must be an object with "function" and "authentication"') },
  )
  .superRefine((endpoint, found) => {
    for (const [key, message] of contradictions(endpoint)) {
      found.addIssue({ code: 'custom', path: [key], message, input: endpoint[key] })
    }
  })
  .meta({ title: 'Endpoint', description: 'A function that responds to HTTP requests.' })

export type WrittenEndpoint = z.infer<typeof EndpointSchema>

function* contradictions(
  endpoint: z.infer<typeof EndpointSchema>,
): Generator<[key: 'authentication' | 'permission' | 'signature' | 'cors', message: string]> {
  const ways = waysOf(endpoint)
  if (ways.includes('signature') !== (endpoint.signature !== undefined)) {
    yield ['signature', 'must be set if, and only if, "authentication" contains "signature"']
  }
  if (ways.includes('session') && endpoint.cors !== undefined) {
    yield [
      'cors',
      'must not be set if "authentication" contains "session", since pages of other origins must not use sessions',
    ]
  }
  if (endpoint.permission !== undefined && !ways.some((way) => way === 'session' || way === 'token')) {
    yield [
      'permission',
      'must not be set unless "authentication" contains "session" or "token": other callers have no permissions',
    ]
  }
}

export function waysOf({ authentication }: Pick<WrittenEndpoint, 'authentication'>): readonly Authentication[] {
  return typeof authentication === 'string' ? [authentication] : authentication
}

const SEGMENT = String.raw`(?!\.{1,2}(?:\/|$))(?:[A-Za-z0-9._~-]{1,64}|\{[A-Za-z_$][A-Za-z0-9_$]{0,63}\})`
const ADDRESS = new RegExp(String.raw`^(?:${ENDPOINT_METHODS.join('|')}) (?:\/${SEGMENT}){1,8}$`)
const ADDRESS_ERROR = {
  error:
    'must be a method (GET, POST, PUT, PATCH or DELETE), a space and a path such as /orders/{id}. The path must have 1 to 8 segments. Each segment must be {name}, or 1 to 64 letters, digits, ".", "_", "~" or "-"',
}

export const EndpointAddress = z
  .string(ADDRESS_ERROR)
  .max(700, ADDRESS_ERROR)
  .regex(ADDRESS, ADDRESS_ERROR)
  .refine((address) => parameterNames(address).every((name) => OwnIdentifier.safeParse(name).success), {
    error:
      'must not have a parameter with the name of a property that every JavaScript object has (such as "constructor")',
  })
  .refine((address) => areUnique(parameterNames(address)), { error: 'must not have two parameters with the same name' })

function parameterNames(address: string): string[] {
  return [...address.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name as string)
}

/** The shape of a path: two paths with the same shape match the same requests. */
export function shapeOf(address: string): string {
  return address.replace(/\{[^}]*\}/g, '{}')
}
