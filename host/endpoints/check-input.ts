import type { Endpoint } from '../../base/bundles/endpoint-table.ts'
import type { InputSchema } from '../../runtime/bundle/endpoint-schema.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'

/** A value that doesn't match its schema. `path` says where it is, for example `body.items.0.sku`. */
export type InputFault = { readonly path: string; readonly message: string }

/** Checks an endpoint's query and body with the schemas of its manifest. */
export type InputCheck = (query: unknown, body: unknown) => void

/** Limits for the error response: the number of rejected values, and the characters in each path and message. */
const MOST_FAULTS = 20
const LONGEST_TEXT = 300

/** @returns a function that throws ERR_REQUEST_INVALID, with the rejected values in the details */
export function createInputCheck({ declaration }: Endpoint): InputCheck {
  const query = declaration.query === null ? null : zodOf(declaration.query)
  const body = declaration.body === null ? null : zodOf(declaration.body)

  return (givenQuery, givenBody) => {
    const faults = [...faultsOf('query', query, givenQuery), ...faultsOf('body', body, givenBody)]
    if (faults.length === 0) return
    throw new PlatformError('ERR_REQUEST_INVALID', 'The request does not match the endpoint’s schema.', {
      faults: faults.slice(0, MOST_FAULTS),
    })
  }
}

/**
 * Returns a check that also rejects properties that the schema doesn't list. Exported so that a test can check each
 * schema keyword, because zod may ignore keywords that it doesn't support.
 */
export function zodOf(schema: InputSchema): z.ZodType {
  const { type, properties = {}, required = [], items, enum: values } = schema
  if (type === 'object' && values === undefined) {
    const fields = Object.entries(properties).map(([name, one]) => {
      const field = zodOf(one)
      return [name, required.includes(name) ? field : field.optional()] as const
    })
    return z.strictObject(Object.fromEntries(fields))
  }
  if (type === 'array' && values === undefined && items !== undefined) return listOf(schema, zodOf(items))
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
}

/**
 * Stops at `MOST_FAULTS`. Zod itself would collect an error for every missing property of every item: a small body
 * with many items would block the host for seconds and exhaust its memory.
 */
function listOf(schema: InputSchema, item: z.ZodType): z.ZodType {
  const list = { ...schema, items: {} } as Parameters<typeof z.fromJSONSchema>[0]
  return z.fromJSONSchema(list).superRefine((values, found) => {
    let left = MOST_FAULTS
    for (const [index, value] of (values as unknown[]).entries()) {
      const faults = item.safeParse(value).error?.issues.slice(0, left) ?? []
      for (const { path, message } of faults) {
        found.addIssue({ code: 'custom', path: [index, ...path], message, input: value })
      }
      left -= faults.length
      if (left === 0) return
    }
  })
}

/** Returns a schema that also rejects properties that the given schema doesn't list. */
export function strictSchema(schema: InputSchema): Record<string, unknown> {
  const { properties, items, ...others } = schema
  const closed = schema.type === 'object' ? { additionalProperties: false } : {}
  return {
    ...others,
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, strictSchema(one)])) }),
    ...(items === undefined ? {} : { items: strictSchema(items) }),
    ...closed,
  }
}

function faultsOf(part: 'query' | 'body', schema: z.ZodType | null, value: unknown): InputFault[] {
  const checked = schema?.safeParse(value)
  if (checked === undefined || checked.success) return []
  return checked.error.issues.slice(0, MOST_FAULTS).map(({ path, message }) => ({
    path: [part, ...path].join('.').slice(0, LONGEST_TEXT),
    message: message.slice(0, LONGEST_TEXT),
  }))
}
