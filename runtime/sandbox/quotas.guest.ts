import { apply, isFiniteNumber, SafeRangeError, SafeWeakMap, weakGet, weakSet } from './builtins.guest.ts'
import type { Quota } from './types.guest.ts'

/** Errors for quotas that are used up. They end the call with `script_quota`. */
export function createQuotas() {
  /** Of the running call, by their errors; null: none yet. Weak, since a script may catch any number of them. */
  let quotas: WeakMap<object, Quota> | null = null

  /** `used` may be any value that a script passes as a length: only a number may be in the outcome. */
  function quotaError(limit: string, allowed: number, amount: unknown, where?: string): Error {
    const used = typeof amount === 'number' && isFiniteNumber(amount) ? amount : allowed + 1
    const place = where === undefined ? '' : `${where}: `
    const error = new SafeRangeError(`${place}the limit ${limit} of ${allowed} is exceeded`)
    quotas ??= new SafeWeakMap()
    apply(weakSet, quotas, [error, { limit, allowed, used }])
    return error
  }

  function quotaOf(error: unknown): Quota | null {
    return quotas === null ? null : ((apply(weakGet, quotas, [error as object]) as Quota | undefined) ?? null)
  }

  function forgetQuotas(): void {
    quotas = null
  }

  return { quotaError, quotaOf, forgetQuotas }
}

export type QuotaError = ReturnType<typeof createQuotas>['quotaError']
