import {
  apply,
  arrayPrototype,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  indexOf,
  isArray,
  isFiniteNumber,
  isWellFormed,
  keys,
  lowerCase,
  parse,
  regExpExec,
  SafeError,
  SafePromise,
  SafeProxy,
  SafeRangeError,
  SafeTypeError,
  setPrototypeOf,
  slice,
  stringify,
  upperCase,
} from './builtins.guest.ts'
import type { SafeBuiltins } from './guest-api.d.ts'
import { describe } from './values.guest.ts'

/** The captured built-ins, as passed to plugins' guest parts. */
export const safe: SafeBuiltins = {
  apply: apply as SafeBuiltins['apply'],
  isArray,
  keys,
  freeze,
  describe,
  isFinite: isFiniteNumber,
  isPromise: (value) => value instanceof SafePromise,
  upperCase: (text) => apply(upperCase, text, []),
  lowerCase: (text) => apply(lowerCase, text, []),
  slice: (text, start, end) => apply(slice, text, [start, end]),
  indexOf: (text, part, from) => apply(indexOf, text, [part, from]),
  isWellFormed: (text) => apply(isWellFormed, text, []),
  match: (pattern, text) => apply(regExpExec, pattern, [text])?.[0] ?? null,
  defineProperty: (target, key, descriptor) => {
    setPrototypeOf(descriptor, null)
    defineProperty(target, key, descriptor)
  },
  parse,
  stringify: (text) => stringify(text),
  toArray: (items) => {
    setPrototypeOf(items, arrayPrototype)
    return items
  },
  proxy: (target, handler) => new SafeProxy(target, handler),
  hasOwn: (value, key) => getOwnPropertyDescriptor(value, key) !== undefined,
  TypeError: SafeTypeError,
  RangeError: SafeRangeError,
  Error: SafeError,
}
freeze(safe)
