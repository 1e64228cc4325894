import type { NumberElement } from '../../runtime/forms/form-definition.ts'
import { z } from '../../runtime/zod.ts'
import { formatsOf } from './render/context.ts'
import { optionsOf } from './render/inputs.ts'
import { localDate, localNumber } from './render/local-format.ts'
import { type InputDefinition, isRequired, type Shown } from './render/parts.ts'

/** A validation error: the key of a platform text, and values for its placeholders. */
export type InputFault = { readonly key: string; readonly values?: readonly string[] }

/** The HTML standard's syntax for email addresses (`input type=email`). An empty text is also valid. */
const EMAIL = z.union([z.literal(''), z.email({ pattern: z.regexes.html5Email })])
const DATE = z.iso.date()

/**
 * Validates a user's input against the element definition.
 * @returns null if the input is valid; `wrong type` for a value that no page sends
 */
export function checkInput(one: Shown<InputDefinition>, value: unknown): InputFault | 'wrong type' | null {
  const { element, context } = one
  switch (element.type) {
    case 'text':
    case 'password':
    case 'textarea':
    case 'email':
      if (typeof value !== 'string') return 'wrong type'
      if (value.length > element.maxLength)
        return { key: 'platform.form.toolong', values: [localNumber(formatsOf(context), element.maxLength)] }
      return element.type !== 'email' || EMAIL.safeParse(value.trim()).success
        ? null
        : { key: 'platform.form.bademail' }
    case 'number':
      if (value === null) return null
      return typeof value === 'number' && Number.isFinite(value)
        ? checkNumber({ ...one, element }, value)
        : 'wrong type'
    case 'date':
      if (value === null) return null
      if (typeof value !== 'string') return 'wrong type'
      if (!DATE.safeParse(value).success) return { key: 'platform.form.baddate' }
      return between(value, element.min, element.max, (date) => localDate(formatsOf(context), date))
    case 'checkbox':
      return typeof value === 'boolean' ? null : 'wrong type'
    case 'select':
    case 'radio': {
      if (value === null) return null
      if (typeof value !== 'string' && typeof value !== 'number') return 'wrong type'
      const known = optionsOf({ ...one, element }).some((option) => String(option.value) === String(value))
      return known ? null : { key: 'platform.form.badchoice' }
    }
  }
}

/** Whether a required input is empty. A required checkbox is considered empty if it is not checked. */
export function isMissing(one: Shown<InputDefinition>): boolean {
  if (!isRequired(one)) return false
  const { element, state } = one
  const value = state.value ?? ('value' in element ? element.value : undefined)
  if (element.type === 'checkbox') return value !== true
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}

function checkNumber({ element, context }: Shown<NumberElement>, value: number): InputFault | null {
  const { min, max, decimals } = element
  const format = (number: number) => localNumber(formatsOf(context), number)
  const outside = between(value, min, max, format)
  if (outside !== null) return outside
  const step = element.step ?? (decimals === undefined ? undefined : 10 ** -decimals)
  if (step === undefined) return null
  const steps = (value - (min ?? 0)) / step
  // Allow for rounding errors: most decimal fractions have no exact binary form. For example, 0.3 is 2.9999999999999996
  // steps of 0.1.
  const isOnStep = Math.abs(steps - Math.round(steps)) <= 1e-9 * Math.max(1, Math.abs(steps))
  return isOnStep ? null : { key: 'platform.form.badstep', values: [format(step)] }
}

function between<T extends string | number>(
  value: T,
  min: T | undefined,
  max: T | undefined,
  format: (bound: T) => string,
): InputFault | null {
  if (min !== undefined && value < min) return { key: 'platform.form.toolow', values: [format(min)] }
  if (max !== undefined && value > max) return { key: 'platform.form.toohigh', values: [format(max)] }
  return null
}
