import { isVisible, visible } from '../visible-name.ts'
import { z } from '../zod.ts'

// What the schemas of manifests and forms are built of. Errors continue a sentence: '"title" must be …'.

/** A name as scripts and files may use it. */
export const Identifier = pattern(/^[A-Za-z_$][A-Za-z0-9_$]*$/, 64, 'a name of 1 to 64 letters, digits, "_" and "$"')

/** One under which an object can be asked for it: no object has it by itself. */
export const OwnIdentifier = Identifier.refine((name) => !(name in Object.prototype), {
  error: 'must not be a name that every JavaScript object has',
})

export function text(max: number) {
  const what = `a text of 1 to ${max} characters without control characters`
  return pattern(/^[^\x00-\x1f\x7f-\x9f]*$/, max, what).refine(isWellFormed, { error: `must be ${what}` })
}

/** Chosen here: as many as `PERMISSION_LENGTH` allows unless set. */
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

/** The object's own message, except for unknown keys, which are worded where the faults are listed. */
export function orUnknownKey(message: string) {
  return (issue: { readonly code?: string | undefined }) => (issue.code === 'unrecognized_keys' ? undefined : message)
}

export function areUnique(items: readonly unknown[]): boolean {
  return new Set(items).size === items.length
}

/** Half of a surrogate pair is no character: addresses, the database and pages each make something else of it. */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed()
}
