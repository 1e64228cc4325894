// A solution's script, run by hardened-realm.parts.test.ts. Each entry of `ways` is [name, leave, find]: `leave` leaves
// something behind in one call, and `find` checks whether the next call can see it.
const KEY = 'left behind'
var kept = null
let keptToo = null
function counted() {}
class Shared {
  static #last = null
  static value = null
  static swap(value) {
    const last = Shared.#last
    Shared.#last = value
    return last
  }
}
class Stamp extends function (target) {
  return target
} {
  #mark = KEY
  static has(target) {
    return #mark in target
  }
}
const site = () => ((strings) => strings)`left`
const cells = new WeakMap()
const generator = (function* () {})()
const regexp = /a/g
const template = site()
let late = null
let stamped = false

const protoOf = Object.getPrototypeOf
const asyncGenerator = (async function* () {})()
const expando = (make) => [
  () => {
    Object.defineProperty(make(), KEY, { value: 1, configurable: true, writable: true })
  },
  () => KEY in Object(make()),
]
const named = (make, name, value) => {
  const target = make()
  return [
    () => Reflect.defineProperty(target, name, { value, configurable: true }) || Reflect.set(target, name, value),
    () => make()[name] === value,
  ]
}
const HIDDEN = {
  'array iterator': () => protoOf([][Symbol.iterator]()),
  'string iterator': () => protoOf(''[Symbol.iterator]()),
  'map iterator': () => protoOf(new Map()[Symbol.iterator]()),
  'set iterator': () => protoOf(new Set()[Symbol.iterator]()),
  'regexp iterator': () => protoOf('a'.matchAll(/a/g)),
  'iterator helper': () => protoOf([].values().map((one) => one)),
  'wrapped iterator': () => protoOf(Iterator.from({ next() {} })),
  iterator: () => Iterator.prototype,
  generator: () => protoOf(protoOf(generator)),
  'generator function': () => protoOf(function* () {}),
  'async generator': () => protoOf(protoOf(asyncGenerator)),
  'async generator function': () => protoOf(async function* () {}),
  'async iterator': () => protoOf(protoOf(protoOf(asyncGenerator))),
  'async function': () => protoOf(async () => {}),
  segments: () => protoOf(new Intl.Segmenter().segment('a')),
  'segment iterator': () => protoOf(new Intl.Segmenter().segment('a')[Symbol.iterator]()),
  'typed array': () => protoOf(Uint8Array),
  'typed array prototype': () => protoOf(Uint8Array.prototype),
  'stack getter': () => Object.getOwnPropertyDescriptor(new Error(), 'stack').get ?? Error,
  'thrower of arguments': () => {
    const strict = (function () {
      return arguments
    })()
    return Object.getOwnPropertyDescriptor(strict, 'callee').get
  },
  unscopables: () => Array.prototype[Symbol.unscopables],
  'species getter': () => Object.getOwnPropertyDescriptor(Promise, Symbol.species).get,
  'proto getter': () => Object.getOwnPropertyDescriptor(Object.prototype, '__proto__').get,
}
const OPEN = {
  Object: () => Object,
  'Object.prototype': () => Object.prototype,
  'Function.prototype': () => Function.prototype,
  'Array.prototype': () => Array.prototype,
  'Promise.prototype': () => Promise.prototype,
  'Error.prototype': () => Error.prototype,
  'RangeError.prototype': () => RangeError.prototype,
  'String.prototype': () => String.prototype,
  'String.prototype.getName': () => String.prototype.getName,
  Math: () => Math,
  JSON: () => JSON,
  Reflect: () => Reflect,
  Intl: () => Intl,
  'Intl.NumberFormat.prototype': () => Intl.NumberFormat.prototype,
  'Temporal.PlainDate.prototype': () => Temporal.PlainDate.prototype,
  'Symbol.prototype': () => Symbol.prototype,
  'Date.prototype': () => Date.prototype,
  'RegExp.prototype': () => RegExp.prototype,
  'BigInt.prototype': () => BigInt.prototype,
  'Map.prototype': () => Map.prototype,
  globalThis: () => globalThis,
  'a binding': () => security,
  'a function of a binding': () => security.login,
  'the prototype of a function of a binding': () => security.login.prototype ?? security.login,
  'a constant of a binding': () => EventType,
  console: () => console.log,
  scopes: () => scopes,
}
const ways = [
  ...Object.entries({ ...HIDDEN, ...OPEN }).map(([name, make]) => [name, ...expando(make)]),
  [
    'JSON.parse',
    ...named(
      () => JSON,
      'parse',
      () => KEY,
    ),
  ],
  [
    'Promise.prototype.then',
    () => {
      if (!Object.isFrozen(Promise.prototype)) Promise.prototype.then.left = 1
    },
    () => Promise.prototype.then.left === 1,
  ],
  [
    'Error.stackTraceLimit',
    () => {
      Error.stackTraceLimit = 3
    },
    () => Error.stackTraceLimit === 3,
  ],
  [
    'Error.prepareStackTrace',
    () => {
      Error.prepareStackTrace = () => KEY
    },
    () => new Error().stack === KEY,
  ],
  [
    'an element of Array.prototype',
    () => {
      Array.prototype[7] = KEY
    },
    () => Array(9)[7] === KEY,
  ],
  [
    'the prototype of a built-in',
    () => {
      Object.setPrototypeOf(Math, { left: 1 })
    },
    () => Math.left === 1,
  ],
  [
    'Object.prototype.toString',
    () => {
      Object.defineProperty(Object.prototype, 'toString', { value: () => KEY, configurable: true, writable: true })
    },
    () => `${{}}` === KEY,
  ],
  [
    'a getter of Object.prototype',
    () => {
      Object.prototype.__defineGetter__('leftGetter', () => KEY)
    },
    () => ({}).leftGetter === KEY,
  ],
  [
    'delete',
    () => {
      delete Math.hypot
    },
    () => !('hypot' in Math),
  ],
  [
    'Symbol.for as a property',
    () => {
      globalThis[Symbol.for(KEY)] = 1
    },
    () => globalThis[Symbol.for(KEY)] === 1,
  ],
  [
    'a registered symbol as a key of Object',
    () => {
      Object[Symbol.for(KEY)] = 1
    },
    () => Object[Symbol.for(KEY)] === 1,
  ],
  [
    'a top-level variable',
    () => {
      kept = KEY
    },
    () => kept === KEY,
  ],
  [
    'a top-level let',
    () => {
      keptToo = KEY
    },
    () => keptToo === KEY,
  ],
  [
    'a function declaration',
    () => {
      counted.left = KEY
    },
    () => counted.left === KEY,
  ],
  [
    'a static field',
    () => {
      Shared.value = KEY
    },
    () => Shared.value === KEY,
  ],
  [
    'a private static field',
    () => {
      Shared.swap(KEY)
    },
    () => Shared.swap(null) === KEY,
  ],
  [
    'a private field of a built-in',
    () => {
      new Stamp(Math)
      stamped = true
    },
    () => Stamp.has(Math),
  ],
  [
    'a private field of a template object',
    () => {
      new Stamp(template)
    },
    () => Stamp.has(site()),
  ],
  [
    'a template object as a key',
    () => {
      cells.set(site(), KEY)
    },
    () => cells.get(site()) === KEY,
  ],
  [
    'lastIndex of a literal',
    () => {
      regexp.exec('aaa')
    },
    () => regexp.lastIndex !== 0,
  ],
  [
    'the last match',
    () => {
      ;/(left) behind/.exec(KEY)
    },
    () => RegExp.$1 === 'left' || RegExp.lastMatch === KEY || RegExp['$_'] === KEY,
  ],
  [
    'the last match of a subclass',
    () => {
      ;/(left) behind/.exec(KEY)
    },
    () => class extends RegExp {}.$1 === 'left',
  ],
  [
    'a listener',
    () => {
      eventsManager.addEventListener('probe_event', () => KEY)
    },
    () => eventsManager.hasEventListeners('probe_event'),
  ],
  [
    'a message',
    () => {
      i18n.setI18NMessage('k', KEY)
    },
    () => i18n.getI18NMessage('k') === KEY,
  ],
  [
    'the locale',
    () => {
      i18n.setLocale('nl')
    },
    () => i18n.getCurrentLanguage() === 'nl',
  ],
  [
    'the user',
    () => {
      security.login('anna', '1', ['Users'])
    },
    () => security.getUserName() !== null,
  ],
  [
    'the tenant',
    () => {
      security.setTenantValue(KEY)
    },
    () => security.getTenantValue() !== null,
  ],
  [
    'a global',
    () => {
      globalThis.leftGlobal = KEY
    },
    () => typeof leftGlobal !== 'undefined',
  ],
  [
    'a scope',
    () => {
      scopes.left = KEY
    },
    () => scopes.left === KEY,
  ],
  [
    'globals',
    () => {
      globals.leftToo = KEY
    },
    () => globals.leftToo === KEY,
  ],
  [
    'the caller',
    () => {
      late = counted.bind(KEY)
    },
    () => late !== null,
  ],
]

/** Returns the names of the entries whose `find` sees something, no matter which call left it behind. */
function findAll() {
  return ways
    .filter(([, , find]) => {
      try {
        return find() === true
      } catch {
        return false
      }
    })
    .map(([name]) => name)
}

function leaveAll() {
  for (const [, leave] of ways) {
    try {
      leave()
    } catch {
      // Ignore errors: the hardened realm doesn't allow some of these actions.
    }
  }
}

function onSolutionOpen(argument, queryParams) {
  const found = findAll()
  leaveAll()
  return JSON.stringify({ found, ways: ways.length, self: queryParams.control === 'yes' ? findAll() : [], stamped })
}
