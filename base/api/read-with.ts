import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'

/** @throws ERR_REQUEST_INVALID with a message that names the invalid property and the allowed values */
export function readWith<T>(schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value, { error: plainMessage })
  if (checked.success) return checked.data
  const faults = checked.error.issues.map(({ path, message }) => {
    return path.length === 0 ? message : `${z.core.toDotPath(path)}: ${message}`
  })
  throw new PlatformError('ERR_REQUEST_INVALID', faults.join('; ').slice(0, 2000))
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

/**
 * Words a schema's built-in errors like the schemas' own messages: "must be …". A schema's own message takes
 * precedence. Returns undefined for zod's text.
 */
function plainMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      const type = TYPES[issue.expected]
      if (issue.input === undefined) return 'is missing'
      return type === undefined ? undefined : `must be ${type}`
    }
    case 'too_small':
      return sizeMessage(issue, issue.minimum, issue.inclusive === false ? 'more than' : 'at least')
    case 'too_big':
      return sizeMessage(issue, issue.maximum, issue.inclusive === false ? 'less than' : 'at most')
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
    case 'unrecognized_keys':
      return `unknown property ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`
    default:
      return undefined
  }
}

function sizeMessage({ origin, exact }: { origin: string; exact?: boolean }, size: number | bigint, bound: string) {
  const unit = { array: 'item', string: 'character' }[origin]
  if (unit === undefined) return `must be ${bound} ${size}`
  return `must have ${exact === true ? 'exactly' : bound} ${size} ${unit}${Number(size) === 1 ? '' : 's'}`
}
