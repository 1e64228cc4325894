import type { SafeBuiltins } from '../../runtime/sandbox/guest-api.d.ts'
import { difference, show } from './compare.guest.ts'
import { moved } from './questions.guest.ts'

const SafeRegExp = RegExp

/** The global `assert` of test files. */
export function createAssert(safe: SafeBuiltins) {
  function fail(text: string, message: unknown): never {
    const error = new safe.Error(typeof message === 'string' ? `${message}: ${text}` : text)
    error.name = 'AssertionError'
    throw error
  }

  function both(what: string, expected: unknown, received: unknown): string {
    return `${what}\n  expected: ${show(expected)}\n  received: ${show(received)}`
  }

  function fits(text: unknown, pattern: unknown): boolean {
    if (typeof text !== 'string') return false
    return pattern instanceof SafeRegExp ? pattern.test(text) : text.includes(String(pattern))
  }

  /** Returns the thrown value if it matches the pattern. */
  function expectedError(thrown: unknown, pattern: unknown): unknown {
    if (pattern === undefined) return thrown
    const text = thrown instanceof Error ? thrown.message : String(thrown)
    return fits(text, pattern) ? thrown : fail(both('another error', pattern, text), undefined)
  }

  return Object.assign(
    (value: unknown, message?: string): void => {
      if (!value) fail(both('not true', true, value), message)
    },
    {
      equal(received: unknown, expected: unknown, message?: string): void {
        const where = difference(received, expected, '', 32)
        if (where !== null) fail(both(`not equal${where === '' ? '' : ` at ${where}`}`, expected, received), message)
      },
      notEqual(received: unknown, other: unknown, message?: string): void {
        if (difference(received, other, '', 32) === null)
          fail(`the values are equal, but should differ: ${show(received)}`, message)
      },
      match(received: unknown, pattern: unknown, message?: string): void {
        if (!fits(received, pattern)) fail(both('no match', pattern, received), message)
      },
      throws(run: () => unknown, pattern?: unknown): unknown {
        let thrown: { readonly error: unknown } | null = null
        try {
          run()
        } catch (error) {
          thrown = { error }
        }
        return thrown === null ? fail('the function did not throw', undefined) : expectedError(thrown.error, pattern)
      },
      async rejects(promise: Promise<unknown>, pattern?: unknown): Promise<unknown> {
        // Create the error now: after the await, the test is no longer on the stack.
        const at = new safe.Error()
        let thrown: { readonly error: unknown } | null = null
        try {
          await promise
        } catch (error) {
          thrown = { error }
        }
        try {
          return thrown === null ? fail('the Promise did not reject', undefined) : expectedError(thrown.error, pattern)
        } catch (error) {
          throw moved(error, at)
        }
      },
    },
  )
}
