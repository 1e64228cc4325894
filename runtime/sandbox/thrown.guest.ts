import { stringify } from './builtins.guest.ts'
import type { Quota, Thrown } from './types.guest.ts'
import { cut, describe } from './values.guest.ts'

/** Reads the values that scripts throw. */
export function createThrown(quotaOf: (error: unknown) => Quota | null) {
  /** Getters of the thrown value may run here, inside the timed call. */
  function readThrown(error: unknown): Thrown {
    const thrown: Thrown = { name: 'Error', message: '', stack: '', quota: null }
    try {
      thrown.quota = quotaOf(error)
      if (typeof error !== 'object' || error === null) return thrownValue(thrown, error)
      const { name, message, stack } = error as { name: unknown; message: unknown; stack: unknown }
      if (message === undefined && stack === undefined) return thrownValue(thrown, error)
      if (typeof name === 'string') thrown.name = cut(name, 100)
      thrown.message = cut(typeof message === 'string' ? message : describe(message), 2000)
      if (typeof stack === 'string') thrown.stack = cut(stack, 4096)
    } catch {
      thrown.message = thrown.message || '[unreadable]'
    }
    return thrown
  }

  /** Also used for an object that isn't an error, such as `{ status: 404 }`: it has no message to show. */
  function thrownValue(thrown: Thrown, value: unknown): Thrown {
    thrown.name = 'Thrown value'
    thrown.message = cut(describe(value), 2000)
    return thrown
  }

  /** Returns a failed call's outcome as text. */
  function failedText(error: unknown): string {
    const thrown = readThrown(error)
    const quota = thrown.quota
    const quotaText =
      quota === null
        ? ''
        : `,"quota":{"limit":${stringify(quota.limit)},"allowed":${quota.allowed},"used":${quota.used}}`
    return `{"ok":false,"name":${stringify(thrown.name)},"message":${stringify(thrown.message)},"stack":${stringify(thrown.stack)}${quotaText}}`
  }

  return { readThrown, failedText }
}
