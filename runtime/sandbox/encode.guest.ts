import { isArray, isFiniteNumber, keys, SafeRangeError, SafeTypeError, stringify } from './builtins.guest.ts'
import type { QuotaError } from './quotas.guest.ts'
import type { Limits } from './types.guest.ts'
import { lengthOf } from './values.guest.ts'

/** Converts plain data to JSON. Only primitive strings are passed to JSON.stringify, so no toJSON is ever called. */
export function createEncode(limits: Limits, quotaError: QuotaError) {
  function encode(value: unknown, depth: number, budget: { left: number }): string {
    if (typeof value === 'string') return spend(stringify(withRoom(value, budget)), budget)
    if (typeof value === 'number') return spend(isFiniteNumber(value) ? `${value}` : 'null', budget)
    if (value === null || value === undefined || typeof value === 'boolean') return spend(`${value ?? null}`, budget)
    if (typeof value !== 'object')
      throw new SafeTypeError(
        `the data contains a ${typeof value}; use only strings, numbers, booleans, null, arrays and objects`,
      )
    if (depth === 0) throw new SafeRangeError('the data is nested more than 16 levels deep')
    return isArray(value) ? encodeArray(value, depth, budget) : encodeObject(value, depth, budget)
  }

  function withRoom(text: string, budget: { left: number }): string {
    if (text.length > budget.left) throw quotaError('ARGUMENT_SIZE', limits.ARGUMENT_SIZE as number, text.length)
    return text
  }

  function encodeArray(value: unknown[], depth: number, budget: { left: number }): string {
    let text = '['
    const length = lengthOf(value)
    for (let index = 0; index < length; index++) {
      text += `${index === 0 ? '' : ','}${encode(value[index], depth - 1, budget)}`
    }
    return spend(`${text}]`, budget, 2)
  }

  function encodeObject(value: object, depth: number, budget: { left: number }): string {
    const names = keys(value)
    let text = '{'
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      const entry = encode((value as Record<string, unknown>)[name], depth - 1, budget)
      text += `${index === 0 ? '' : ','}${spend(stringify(name), budget)}:${entry}`
    }
    return spend(`${text}}`, budget, 2)
  }

  function spend(text: string, budget: { left: number }, amount = text.length): string {
    budget.left -= amount + 1
    const allowed = limits.ARGUMENT_SIZE as number
    if (budget.left < 0) throw quotaError('ARGUMENT_SIZE', allowed, allowed - budget.left)
    return text
  }

  /** Converts the arguments of a command or request to text. */
  return function encodeArgs(args: readonly unknown[]): string {
    return encode(args, 16, { left: limits.ARGUMENT_SIZE as number })
  }
}
