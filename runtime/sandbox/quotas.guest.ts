import { apply, isFiniteNumber, SafeRangeError, SafeWeakMap, weakGet, weakSet } from './builtins.guest.ts'
import type { Quota } from './types.guest.ts'

/** Errors for exceeded quotas. They end the call with `script_quota`. */
export function createQuotas() {
  /**
   * The running call's exceeded quotas, by error; null if there are none yet. The map is weak, since a script may catch
   * any number of these errors.
   */
  let quotas: WeakMap<object, Quota> | null = null

  /** A script may pass any value as a length, but `used` in the outcome must be a number. */
  function quotaError(limit: string, allowed: number, amount: unknown, where?: string): Error {
    const used = typeof amount === 'number' && isFiniteNumber(amount) ? amount : allowed + 1
    const place = where === undefined ? '' : `${where}: `
    const error = new SafeRangeError(`${place}the limit ${limit} (${allowed}) is exceeded`)
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
