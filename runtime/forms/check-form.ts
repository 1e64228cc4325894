import { type Findings, showName } from '../bundle/findings.ts'
import { type JsonPlaces, NO_PLACES } from '../bundle/json-places.ts'
import { nearestKey } from '../bundle/nearest-key.ts'
import { pathName, quoteValue } from '../bundle/quote.ts'
import type { z } from '../zod.ts'
import { boundsProblem } from './form-bounds.ts'
import { FORM_HANDLERS, type FormDefinition } from './form-definition.ts'
import { checkReferences, type FormSurroundings } from './form-references.ts'
import { ELEMENT_TYPES, FormSchema, formKeys, typesWith, valueAt } from './form-schema.ts'

/**
 * Checks the result of `parseStrictJson` for a form's file.
 * @returns null if the form is invalid or refers to something that doesn't exist; the errors include the reason
 */
export function checkForm(
  value: unknown,
  file: string,
  surroundings: FormSurroundings,
  found: Findings,
  places: JsonPlaces = NO_PLACES,
): FormDefinition | null {
  const tooMuch = boundsProblem(value)
  if (tooMuch !== null) {
    found.fault(file, 'form_invalid', `the form ${tooMuch}`)
    return null
  }
  const parsed = FormSchema.safeParse(value, { reportInput: true })
  if (!parsed.success) {
    reportIssues(parsed.error.issues, value, file, places, found)
    return null
  }
  const form = withOwnHandlers(parsed.data, surroundings.functions)
  return checkReferences(form, file, surroundings, found, places) ? form : null
}

/**
 * If a form has no key for an event, the function with the event's name is the handler. This applies only to the form,
 * not to its elements.
 */
function withOwnHandlers(form: FormDefinition, functions: ReadonlySet<string> | null): FormDefinition {
  const own = FORM_HANDLERS.filter((event) => form[event] === undefined && functions?.has(event))
  return { ...form, ...Object.fromEntries(own.map((event) => [event, event])) }
}

/** Reports one error per position: if a value violates three rules, the author has probably made only one mistake. */
function reportIssues(
  issues: readonly z.core.$ZodIssue[],
  form: unknown,
  file: string,
  places: JsonPlaces,
  found: Findings,
): void {
  const reported = new Set<string>()
  for (const issue of issues) {
    // Once the list of errors is full, only count further keys: creating thousands of messages would take too long.
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const message = found.isFull ? '' : unknownKeyMessage(key, issue.path, form)
        found.fault(file, 'form_unknown_key', message, found.isFull ? {} : places.key([...issue.path, key]))
      }
      continue
    }
    const place = issue.path.map(String).join('.')
    if (reported.has(place)) continue
    reported.add(place)
    const message = found.isFull ? '' : invalidMessage(issue, form)
    found.fault(file, 'form_invalid', message, found.isFull ? {} : places.value(issue.path))
  }
}

function unknownKeyMessage(key: string, path: readonly PropertyKey[], form: unknown): string {
  const where = placeName(path, form)
  const type = valueAt([...path, 'type'], form)
  const types = path.at(-2) === 'elements' ? typesWith(key) : []
  if (types.length > 0)
    return `${where} is of type ${type}, which has no "${showName(key)}"; these types have it: ${types.join(', ')}`
  const nearest = nearestKey(key, formKeys(path, form))
  return `${where} has an unknown property "${showName(key)}"${nearest === null ? '' : `; did you mean "${nearest}"?`}`
}

function invalidMessage(issue: z.core.$ZodIssue, form: unknown): string {
  const what = placeName(issue.path, form)
  // If an element's type is unknown, zod reports the whole element as the input, so read the `type` itself.
  const input = issue.code === 'invalid_union' && issue.path.at(-1) === 'type' ? valueAt(issue.path, form) : issue.input
  if (input === undefined) return `${what} is missing; it ${issue.message}`
  const nearest = issue.code === 'invalid_union' && typeof input === 'string' ? nearestKey(input, ELEMENT_TYPES) : null
  const meant = issue.path.at(-1) === 'type' && nearest !== null ? `; did you mean "${nearest}"?` : ''
  return `${what} ${issue.message}${quoteValue(input)}${meant}`
}

/** The path, and the name of the element or tab that contains it, because people search for names. */
function placeName(path: readonly PropertyKey[], form: unknown): string {
  if (path.length === 0) return 'the form'
  for (let length = path.length; length >= 2; length--) {
    if (path[length - 2] !== 'elements' && path[length - 2] !== 'tabs') continue
    const name = valueAt([...path.slice(0, length), 'name'], form)
    if (typeof name === 'string' && /^[\w$]{1,64}$/.test(name)) return `${pathName(path)} (${name})`
  }
  return pathName(path)
}
