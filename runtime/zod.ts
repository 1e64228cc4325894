import * as z from 'zod'

/**
 * Makes zod safe for untrusted values. Import `z` from here, never from `zod`; test/house/imports.test.ts enforces
 * this.
 *
 * zod runs a length check even on a value that is neither a string nor an array, and compares its `length` with a
 * number. If `length` is an object without a usable `valueOf`, as in `{"length":{"valueOf":1,"toString":1}}`, the
 * comparison throws a TypeError. Neither `safeParse` nor the socket listener that calls it catches this error. The type
 * check has already rejected such a value, so the length check skips it here.
 */
for (const check of [z.maxLength(1), z.minLength(1), z.length(1), z.maxSize(1), z.minSize(1), z.size(1)]) {
  // All checks of a kind share the prototype of their `_zod`, so a setter there intercepts each new check.
  Object.defineProperty(Object.getPrototypeOf(check._zod), 'check', {
    set(this: object, measure: (payload: { value: unknown }) => void) {
      const value = (payload: { value: unknown }) => (isMeasured(payload.value) ? measure(payload) : undefined)
      Object.defineProperty(this, 'check', { value, writable: true })
    },
  })
}

function isMeasured(value: unknown): boolean {
  return typeof value === 'string' || Array.isArray(value) || value instanceof Set || value instanceof Map
}

export { z }
