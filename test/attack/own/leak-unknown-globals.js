// expect: contained
// why: every global must be a known one, since an unknown one was never reviewed
function onSolutionOpen(arg, queryParams) {
  var known = 'Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError DisposableStack AsyncDisposableStack globalThis JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float16Array Float32Array Float64Array Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set WeakMap WeakSet Proxy Reflect Iterator Temporal decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN security i18n application eventsManager plugins directory console EventType EVENTS_AGGREGATION_TYPE globals scopes LOGGINGLEVEL onSolutionOpen'.split(' ');
  var odd = Reflect.ownKeys(globalThis).filter(function (k) { return known.indexOf(k) < 0 && k !== Symbol.toStringTag; }).map(String);
  for (var p = Object.getPrototypeOf(globalThis); p && p !== Object.prototype; p = Object.getPrototypeOf(p)) odd = odd.concat(Reflect.ownKeys(p).filter(function (k) { return k !== 'constructor'; }).map(String));
  return JSON.stringify({ escaped: odd.length > 0, odd: odd });
}
