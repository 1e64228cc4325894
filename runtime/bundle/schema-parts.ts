import { isVisible, visible } from '../visible-name.ts'
import { z } from '../zod.ts'

// Building blocks of the manifest and form schemas. Error messages continue a sentence: '"title" must be …'.

/** A name that can be used in scripts and in file names. */
export const Identifier = pattern(
  /^[A-Za-z_$][A-Za-z0-9_$]*$/,
  64,
  'a name of 1 to 64 letters (A-Z, a-z), digits, "_" and "$" that does not start with a digit',
)

/** A name that is safe as an object key, because no object inherits a property with that name. */
export const OwnIdentifier = Identifier.refine((name) => !(name in Object.prototype), {
  error: 'must not be the name of a property that every JavaScript object has (such as "constructor")',
})

/** A function name in a script. Reserved words are not allowed. */
export const FunctionName = Identifier.refine((name) => !isReserved(name), { error: 'must not be a reserved word' })

export function text(max: number) {
  const what = `a string of 1 to ${max} characters without control characters`
  return pattern(/^[^\x00-\x1f\x7f-\x9f]*$/, max, what).refine(isWellFormed, { error: `must be ${what}` })
}

/** Chosen here: the same as the default of the limit `PERMISSION_LENGTH`. */
const LONGEST_PERMISSION = 200
const permissionError = { error: `must be ${visible(LONGEST_PERMISSION)}` }

export const PermissionName = z
  .string(permissionError)
  .min(1, permissionError)
  .max(LONGEST_PERMISSION, permissionError)
  .refine(isVisible, permissionError)

export function pattern(form: RegExp, max: number, what: string) {
  const error = `must be ${what}`
  const bound = `${error} (at most ${max} characters)`
  return z.string({ error }).min(1, { error }).max(max, { error: bound }).regex(form, { error })
}

export function list<Item extends z.ZodType>(item: Item, max: number) {
  return z.array(item, { error: 'must be a list' }).max(max, { error: `must have at most ${max} items` })
}

/** Returns an error handler that always returns this message, except for unknown keys: they are reported elsewhere. */
export function orUnknownKey(message: string) {
  return (issue: { readonly code?: string | undefined }) => (issue.code === 'unrecognized_keys' ? undefined : message)
}

export function areUnique(items: readonly unknown[]): boolean {
  return new Set(items).size === items.length
}

/** A lone surrogate is not a character: URLs, the database and pages each convert it differently. */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed()
}

/** Whether `typeof name` is a syntax error in sloppy or strict code. */
function isReserved(name: string): boolean {
  return RESERVED.has(name)
}

const RESERVED: ReadonlySet<string> = new Set(
  (
    'break case catch class const continue debugger default delete do else enum export extends false finally for function ' +
    'if import in instanceof new null return super switch this throw true try typeof var void while with yield let static ' +
    'implements interface package private protected public await eval arguments undefined'
  ).split(' '),
)
