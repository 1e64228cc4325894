// What the descriptions of the API's subjects are put together from.

/** @param schema a name of the document's `components.schemas` */
export function ref(schema: string) {
  return { $ref: `#/components/schemas/${schema}` }
}

export function list(items: object) {
  return {
    type: 'object',
    required: ['items'],
    properties: { items: { type: 'array', items }, next: { type: 'string' } },
  }
}

export function json(schema: object) {
  return { description: 'as it says', content: { 'application/json': { schema } } }
}

export function jsonBody(schema: object) {
  return { required: true, content: { 'application/json': { schema } } }
}

export function operation(summary: string, responses: Record<number, object>) {
  const problem = { description: 'a problem', content: { 'application/problem+json': { schema: ref('Problem') } } }
  return { summary, responses: { ...responses, default: problem } }
}

/** A parameter that is part of the path. */
export function inPath(name: string) {
  return { name, in: 'path', required: true, schema: { type: 'string' } }
}

export function inQuery(name: string, schema: object, description?: string) {
  return { name, in: 'query', schema, ...(description === undefined ? {} : { description }) }
}
