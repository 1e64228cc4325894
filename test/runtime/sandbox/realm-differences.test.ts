import { expect, test } from 'vitest'
import { checkForRealm } from '../../../runtime/sandbox/realm-check.ts'
import { findDifferences } from '../../../runtime/sandbox/realm-differences.ts'

const DECLARED = new Set(['helper'])

/**
 * Scripts that the check rejects. Each row contains the script, the error's position, and a pattern for the message.
 */
const REFUSED: readonly [script: string, place: string, message: RegExp][] = [
  ['function f() {\n  count = 1\n}', '2:3', /"count" is not declared.*declare it with var or let/],
  ['for (key in {}) {}', '1:6', /"key" is not declared/],
  ['[a] = [1]', '1:2', /"a" is not declared/],
  ['JSON = {}', '1:1', /"JSON" is a platform global/],
  ['var security = 1', '1:5', /"security" is a platform global.*rename it/],
  ['function Map() {}', '1:10', /"Map" is a platform global/],
  ['let EventType', '1:5', /"EventType" is a platform global/],
  ['if (!String.prototype.at) String.prototype.at = function () {}', '1:27', /"String.prototype.at" can't be changed/],
  ['var x\nMath.x = 1', '2:1', /"Math.x" can't be changed/],
  ['Error.stackTraceLimit = 5', '1:1', /"Error.stackTraceLimit" can't be changed/],
  ['Error.prepareStackTrace = (e, s) => s', '1:1', /"Error.prepareStackTrace" can't be changed/],
  ["Array['from'] = 1", '1:1', /"Array.from" can't be changed/],
  ['Array[name] = 1', '1:1', /"Array.\[…\]" can't be changed/],
  ['globalThis.Math.x = 1', '1:1', /"Math.x" can't be changed/],
  ['globalThis.Promise = 1', '1:1', /"Promise" can't be changed/],
  ['delete Math.abs', '1:8', /"Math.abs" can't be changed/],
  ['Math.n++', '1:1', /"Math.n" can't be changed/],
  [';[Math.a] = [1]', '1:3', /"Math.a" can't be changed/],
  ['Object.defineProperty(Array.prototype, "last", {})', '1:23', /"Array.prototype" can't be changed/],
  ['Object.assign(String.prototype, {})', '1:15', /"String.prototype" can't be changed/],
  ['Object.prototype.__defineGetter__("x", () => 1)', '1:1', /"Object.prototype" can't be changed/],
  ['Object.getOwnPropertyDescriptor(Error.prototype, "name")', '1:33', /read the property itself/],
  ['Object.isFrozen(Math)', '1:17', /read the property itself/],
  ['Object.getOwnPropertyDescriptor(globalThis, "x")', '1:33', /read the property itself/],
  ['Object.setPrototypeOf(globalThis, null)', '1:23', /"globalThis" can't be changed/],
  ['eval("1")', '1:1', /no eval/],
  ['(0, eval)("var x = 1")', '1:5', /no eval/],
  ['globalThis.eval("1")', '1:1', /no eval/],
  ['new Function("x = 1")()', '1:1', /no Function constructor/],
  ['Function("return this")()', '1:1', /no Function constructor/],
  ['var n = 010', '1:9', /run in strict mode.*Invalid number/],
  ['with ({}) {}', '1:1', /run in strict mode/],
  ['function f(a, a) {}', '1:15', /run in strict mode/],
  ['var root = (function () { return this })()', '1:34', /"this" is undefined/],
  ['function f() { return this }', '1:23', /"this" is undefined/],
  ['[1].map(function () { use(this) })', '1:27', /"this" is undefined/],
  ['const o = { f() { if (!this) return 1 } }', '1:24', /test of "this"/],
  ['function f() { return typeof this }', '1:30', /test of "this"/],
  ['const f = function () { return this.x }', '1:32', /"this" is undefined/],
  ['"use strict"; function f() { return this === undefined }', '1:37', /called in this file/],
  ['function f() { return arguments.callee }', '1:23', /arguments.callee/],
  ['function f(a) { a = 1; return arguments[0] }', '1:17', /keeps the old value of "a"/],
  ['function f(a) { arguments[0] = 1; return a }', '1:17', /does not change the parameters/],
  ['function f(a) { [].shift.call(arguments); return a }', '1:31', /pass \[...arguments\]/],
  ['function f(a) { Array.prototype.splice.apply(arguments, [0]); return a }', '1:46', /pass \[...arguments\]/],
  ['function f(a) { helper(arguments); return a }', '1:24', /pass \[...arguments\]/],
  ['function f(a) { var all = arguments; all[0] = 1; return a }', '1:27', /does not change the parameters/],
  ['arguments.length', '1:1', /only in functions/],
  ['function f() { { function g() {} } return g() }', '1:27', /"g" exists only in this block/],
]

test.each(REFUSED)('the check reports %j at %s', (script, place, message) => {
  const [first] = findDifferences(script, DECLARED)
  expect(`${first?.line}:${first?.column}`).toBe(place)
  expect(first?.message).toMatch(message)
})

const ACCEPTED = [
  'var count = 0; function f() { count = 1; count++ }',
  'helper = 1',
  'globalThis.x = 1; globals.y = 2; scopes.a = 3; delete globalThis.x',
  'function f(Math) { Math.x = 1 }',
  'function f() { var JSON = {}; JSON.a = 1; return JSON }',
  'function Point(x) { this.x = x; var self = this }\nPoint.prototype.move = function () { return this }',
  'function point() { var self = this }\nnew point()',
  'class A { #a = 1; static b = this; get() { return this && this.#a } }',
  'const o = { f() { return this }, g: function () { return this } }',
  'function once(f) { return f.apply(this, arguments) }',
  'function f() { if (!(this instanceof f)) return new f() }',
  '[1].forEach(function () { this.n++ }, {})',
  'var top = this',
  'function f(a) { return arguments[0] + arguments.length + a }',
  '"use strict"; function f(a) { a = 1; return arguments[0] }',
  'function f() { { function g() {} g() } }',
  '"use strict"; { function g() {} }\nvar x = 1',
  'Object.defineProperty({}, "x", {}); Object.assign({}, Math)',
  'const Own = {}; Own.prototype = 1; Own.x = 2',
  'typeof missing === "undefined"',
  'Object.defineProperty(globalThis, "lazy", { get: () => 1 }); Object.assign(globals, {}); Reflect.set(globalThis, "a", 1)',
  'var Own = (function (Base) { function Own() { var _this = Base.call(this) || this; return _this } return Own })(Error)',
  'function f(a) { return Array.prototype.slice.call(arguments, 1).concat(Array.from(arguments), a) }',
  'function f() { return helper(arguments) }',
  'function f(a) { var all = arguments; return () => a.apply(this, all) }',
]

test.each(ACCEPTED)('the check accepts %j', (script) => {
  expect(findDifferences(script, DECLARED)).toEqual([])
})

test('a script that cannot be parsed is not checked, because V8 reports the error', () => {
  expect(findDifferences('function (', DECLARED)).toEqual([])
})

test('two files that run together cannot declare the same name; files that run apart can', () => {
  const scripts = [
    { file: 'modules/auth/globals.js', source: 'function onSolutionOpen() {}\nvar shared' },
    { file: 'globals.js', source: 'function onSolutionOpen() {}' },
    { file: 'scopes/a.js', source: 'const own = 1\nlet shared' },
  ]
  const faults: never[] = []
  expect(checkForRealm(scripts, [[0], [1, 2]], [], faults)).toEqual([
    { globals: ['onSolutionOpen', 'shared'], lexicals: [], readsThis: false },
    { globals: ['onSolutionOpen'], lexicals: [], readsThis: false },
    { globals: [], lexicals: ['own', 'shared'], readsThis: false },
  ])
  expect(faults).toEqual([])
  checkForRealm(scripts, [[0, 2]], [], faults)
  expect(faults).toMatchObject([{ code: 'realm_difference', file: 'scopes/a.js', line: 2, column: 5 }])
})

test('a name that is too long for the hardened realm is reported', () => {
  const faults: never[] = []
  checkForRealm([{ file: 'globals.js', source: `var ${'x'.repeat(65)}` }], [[0]], [], faults)
  expect(faults).toMatchObject([{ line: 1, column: 5, message: expect.stringContaining('at most 64') }])
})
