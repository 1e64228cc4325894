// A solution's script, run by realm-intrinsics.parts.test.ts.
/**
 * Collects every object that a script can access, and marks those that it can change. Reports the marks of earlier
 * calls.
 */
function onSolutionOpen() {
  const seen = new Set()
  const open = []
  const found = new Map()
  const marked = []
  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function'
  /** Visits an object that all calls share, and every object that it refers to. */
  function share(value, path) {
    if (!isObject(value) || seen.has(value) || value === globalThis) return
    seen.add(value)
    found.set(value, path)
    if (isMarked(value)) marked.push(path)
    open.push([value, path])
    share(Reflect.getPrototypeOf(value), `${path}.__proto__`)
    for (const key of Reflect.ownKeys(value)) {
      const descriptor = Reflect.getOwnPropertyDescriptor(value, key)
      const name = `${path}.${String(key)}`
      share(descriptor.get, `${name}(get)`)
      share(descriptor.set, `${name}(set)`)
      share(descriptor.value, name)
    }
  }
  /**
   * Visits the prototype and accessors of a value that belongs to this call. The value isn't shared with other calls,
   * but its prototype and accessors may be.
   */
  function use(value, path) {
    if (!isObject(value) || value === globalThis) return
    share(Reflect.getPrototypeOf(value), `proto of ${path}`)
    for (const key of Reflect.ownKeys(value)) {
      const { get, set } = Reflect.getOwnPropertyDescriptor(value, key)
      share(get, `${path}.${String(key)}(get)`)
      share(set, `${path}.${String(key)}(set)`)
    }
  }
  const own = new Set(['globalThis', 'globals', 'scopes', 'onSolutionOpen'])
  const bindings = ['security', 'i18n', 'application', 'eventsManager', 'plugins', 'console', 'EventType']
  for (const name of [...bindings, 'EVENTS_AGGREGATION_TYPE', 'LOGGINGLEVEL']) own.add(name)
  for (const key of Reflect.ownKeys(globalThis)) {
    if (!own.has(String(key))) share(globalThis[key], String(key))
  }

  function* generator() {
    yield 1
  }
  async function* asyncGenerator() {
    yield 1
  }
  class Base {
    static #brand = 1
    #own = 2
    accessor = Base.#brand + this.#own
  }
  const plain = { next: () => ({ done: true, value: 1 }) }
  const values = [
    ['function*', () => generator],
    ['function* object', () => generator()],
    ['async function*', () => asyncGenerator],
    ['async function* object', () => asyncGenerator()],
    ['async function', () => async () => {}],
    ['promise', () => Promise.resolve(1)],
    ['class', () => Base],
    ['instance', () => new Base()],
    [
      'arguments',
      function () {
        return arguments
      },
    ],
    ['sloppy error', () => new TypeError('x', { cause: 1 })],
    ['aggregate', () => new AggregateError([1])],
    ['bound', () => (() => {}).bind(null)],
    ['template', () => ((strings) => strings)`a`],
    ['raw', () => ((strings) => strings.raw)`a`],
    ['revocable', () => Proxy.revocable({}, {})],
    ['iterator of plain', () => Iterator.from(plain)],
    ['match', () => /(?<a>b)/d.exec('b')],
    ['groups', () => /(?<a>b)/d.exec('b')?.groups],
    ['import', () => import('x').catch(() => {})],
    [
      'overflow',
      () => {
        function dive() {
          dive()
        }
        try {
          return dive()
        } catch (error) {
          return error
        }
      },
    ],
  ]
  const samples = [
    undefined,
    null,
    0,
    1,
    -1,
    'a',
    'en',
    '2020-01-01',
    'UTC',
    10n,
    Symbol.iterator,
    true,
    [],
    [1, 2],
    {},
    /a/g,
    new Map([[1, 2]]),
    new Set([1]),
    new Date(0),
    () => 1,
    new ArrayBuffer(8),
    new Uint8Array(4),
    plain,
    'hour',
    { calendar: 'iso8601', year: 2020, month: 1, day: 1, timeZone: 'UTC' },
    { years: 1 },
    'P1D',
    '2020-01-01T00:00[UTC]',
  ]
  for (const [path, make] of values) {
    const value = make()
    use(value, path)
    samples.push(value)
  }
  let calls = 0
  /**
   * The prototypes of the values that functions have returned or thrown so far. The first value with each prototype is
   * also used as an argument and receiver in later calls.
   */
  const kinds = new Set()
  function nothing() {}
  function take(value, path) {
    use(value, path)
    if (!isObject(value)) return
    if (value instanceof Promise) value.then(nothing, nothing)
    const prototype = Reflect.getPrototypeOf(value)
    if (kinds.has(prototype) || samples.length > 110) return
    kinds.add(prototype)
    samples.push(value)
  }
  function attempt(path, run) {
    calls++
    try {
      take(run(), path)
    } catch (error) {
      take(error, `${path} throws`)
    }
  }
  const skipped = /escape|repeat|pad|fill|Array$|ArrayBuffer|allocate|resize|fromAsync|concat$|Atomics/
  for (let index = 0; index < open.length; index++) {
    const [value, path] = open[index]
    if (typeof value !== 'function' || skipped.test(path) || /^(?:security|plugins)/.test(path)) continue
    const target = value
    attempt(path, () => Reflect.construct(target, []))
    for (let at = 0; at < samples.length; at++) {
      const one = samples[at]
      attempt(path, () => Reflect.apply(target, one, []))
      attempt(path, () => Reflect.apply(target, undefined, [one]))
      attempt(path, () => Reflect.construct(target, [one]))
      if (at % 4 === 0) attempt(path, () => Reflect.apply(target, one, [() => 1]))
    }
  }
  // Marking must succeed only for objects that belong to this call. If it succeeds for a shared object, the next call
  // finds and reports the mark.
  let frozen = 0
  for (const [value] of found) {
    try {
      if (Object.isFrozen(value)) frozen++
      else mark(value)
    } catch {
      // Ignore errors: a proxy that this call created may throw when it is inspected.
    }
  }
  return JSON.stringify({ marked: marked.slice(0, 50), frozen, calls, kinds: kinds.size })
}

const MARK = 'marked by an earlier call'

function mark(value) {
  if (Reflect.defineProperty(value, MARK, { value: MARK, configurable: true })) return
  for (const key of Reflect.ownKeys(value)) Reflect.set(value, key, MARK)
}

function isMarked(value) {
  try {
    return Reflect.ownKeys(value).some((key) => Reflect.getOwnPropertyDescriptor(value, key).value === MARK)
  } catch {
    return false
  }
}
