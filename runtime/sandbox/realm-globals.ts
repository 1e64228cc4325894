/** Built-in objects that are frozen in the hardened realm. */
const FROZEN =
  'Object Function Array Number Boolean String Symbol Date Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError DisposableStack AsyncDisposableStack JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float16Array Float32Array Float64Array Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set WeakMap WeakSet Proxy Reflect Iterator Temporal'
const FUNCTIONS =
  'parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN'
const BINDINGS =
  'security i18n application eventsManager plugins console EventType EVENTS_AGGREGATION_TYPE LOGGINGLEVEL globals scopes'

/** Objects that scripts cannot change: built-in objects and bindings. */
export const FROZEN_GLOBALS: ReadonlySet<string> = new Set([
  ...FROZEN.split(' '),
  ...FUNCTIONS.split(' '),
  ...BINDINGS.split(' ').filter((name) => name !== 'globals' && name !== 'scopes'),
])

/** Names that scripts cannot declare or assign. */
export const RESERVED_GLOBALS: ReadonlySet<string> = new Set([
  ...FROZEN_GLOBALS,
  ...['globals', 'scopes', 'globalThis', 'undefined', 'NaN', 'Infinity'],
])

/** The names that refer to the global object. */
export const OF_GLOBAL: ReadonlySet<string> = new Set(['globalThis', 'globals'])
