import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isAlone } from '../../runtime/sandbox/hardened-contexts.ts'
import { findDifferences } from '../../runtime/sandbox/realm-differences.ts'
import { namesOf, readTopLevel } from '../../runtime/sandbox/realm-names.ts'
import { directory } from '../attack/directory/host.ts'
import { createScriptLab, manifestOf, type ScriptLab } from '../support/solutions.ts'
import { CROSS, REFUSED, SAME } from './realm/idioms.ts'

const LEAKS = readFileSync(new URL('realm/leaks.js', import.meta.url), 'utf8')
const MANIFEST = { eventTypes: { probe_event: {} } }

const labs: Record<string, ScriptLab> = {}

afterAll(() => {
  for (const lab of Object.values(labs)) lab.stop()
})

beforeAll(() => {
  for (const realm of ['fresh', 'hardened']) {
    const shared = { manifest: { ...MANIFEST, realm }, plugins: [directory(() => {})] }
    labs[realm] = createScriptLab(shared)
    labs[`hurried ${realm}`] = createScriptLab({ ...shared, limits: { AUTHENTICATOR_TIME: 1500 } })
  }
})

describe.each(['fresh', 'hardened'])('realm %s', (realm) => {
  const run = (script: string, queryParams = {}) => (labs[realm] as ScriptLab).run({ script, queryParams })

  test('nothing that a call leaves behind in more than 60 ways is visible to the next call', async () => {
    const first = await run(LEAKS, { control: 'yes' })
    expect(first.failure).toBeNull()
    expect(first.values.ways).toBeGreaterThanOrEqual(60)
    // Make sure that the script can find leaks at all: it must find what its own call left behind.
    expect((first.values.self as string[]).length).toBeGreaterThanOrEqual(realm === 'fresh' ? 60 : 20)
    for (let call = 0; call < 3; call++) {
      const { failure, values } = await run(LEAKS)
      expect(failure).toBeNull()
      expect(values.found).toEqual([])
    }
  })

  test('nothing that a script without the global object changes is visible to the next call', async () => {
    const script = `
      const roots = { security, i18n, application, eventsManager, plugins, console, EventType, EVENTS_AGGREGATION_TYPE, directory, own: () => 1 }
      const seen = new Set()
      const marked = []
      function visit(value, path, keeps) {
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return
        seen.add(value)
        if (Object.hasOwn(value, 'left')) marked.push(path)
        if (keeps) try { value.left = 1 } catch { /* Frozen. */ }
        visit(Object.getPrototypeOf(value), path + '.__proto__', keeps)
        for (const key of Reflect.ownKeys(value)) {
          const descriptor = Object.getOwnPropertyDescriptor(value, key)
          for (const part of ['value', 'get', 'set']) visit(descriptor[part], path + '.' + String(key), keeps)
        }
      }
      async function onSolutionOpen(arg, queryParams) {
        const pending = directory.find('fast')
        visit({ roots, queryParams, pending }, 'all', queryParams.keeps === 'yes')
        await pending.catch(() => {})
        return JSON.stringify({ marked, count: seen.size })
      }`
    const first = await run(script, { keeps: 'yes' })
    expect(first.failure).toBeNull()
    expect(first.values.count).toBeGreaterThan(100)
    for (let call = 0; call < 2; call++) {
      const { failure, values } = await run(script)
      expect(failure).toBeNull()
      expect(values.marked).toEqual([])
    }
  })

  test('calls that wait at the same time keep their own variables, users and messages', async () => {
    const script = `var mine = null
      async function onSolutionOpen(arg, queryParams) {
        mine = queryParams.username
        globalThis.own = mine
        i18n.setI18NMessage('k', mine)
        security.login(mine, '1', ['Users'])
        for (let turn = 0; turn < 3; turn++) await directory.find('slow')
        return JSON.stringify({ all: [mine, globalThis.own, i18n.getI18NMessage('k'), security.getUserName()] })
      }`
    const names = ['anna', 'bert', 'carl', 'dora', 'ella']
    const ends = await Promise.all(names.map((username) => run(script, { username })))
    ends.forEach(({ values, effects }, index) => {
      const name = names[index]
      expect(values.all).toEqual([name, name, name, name])
      expect(effects.login?.username).toBe(name)
    })
  })

  test('a promise job or a function of a call that has ended does nothing in a later call', async () => {
    const script = `async function onSolutionOpen(arg, queryParams) {
        const later = async () => {
          await directory.find('slow')
          security.login('late ' + queryParams.username, '1', ['Users'])
          console.log('late')
        }
        if (queryParams.username === 'first') {
          later().catch(() => {})
          return '{}'
        }
        for (let turn = 0; turn < 5; turn++) await directory.find('slow')
        return JSON.stringify({ user: security.getUserName() })
      }`
    const first = await run(script, { username: 'first' })
    expect(first.effects.login).toBeNull()
    const [second, third] = await Promise.all([run(script, { username: 'second' }), run(script, { username: 'third' })])
    for (const end of [second, third]) {
      expect(end?.values).toEqual({ user: null })
      expect(end?.effects.login).toBeNull()
      expect(end?.log).toEqual([])
    }
  })

  test('an error in the entry function or in top-level code has its position', async () => {
    const thrown = await run(`const a = 1\nfunction onSolutionOpen() {\n  null.x\n}`)
    expect(thrown.failure).toMatchObject({ code: 'script_error', position: { line: 3, column: 8 } })
    const loaded = await run(`undefined.x\nfunction onSolutionOpen() {}`)
    expect(loaded.failure).toMatchObject({ code: 'script_error', position: { line: 1, column: 11 } })
  })

  test('a call after one that was interrupted works', async () => {
    const hurried = (script: string, queryParams = {}) =>
      (labs[`hurried ${realm}`] as ScriptLab).run({ script, queryParams })
    const script = `function onSolutionOpen(arg, q) { Promise.resolve().then(function again() { Promise.resolve().then(again) }); if (q.loop) for (;;); return '{"fine":true}' }`
    const looped = `function onSolutionOpen(arg, q) { if (q.loop === 'yes') for (;;); return '{"fine":true}' }`
    expect((await hurried(script)).failure?.code).toBe('script_timeout')
    expect((await hurried(looped, { loop: 'yes' })).failure?.code).toBe('script_timeout')
    expect((await hurried(looped)).values).toEqual({ fine: true })
  })
})

describe('the hardened realm', () => {
  const ends = async (body: string) => {
    const script = `var given = Math\nfunction onSolutionOpen() { ${body} }`
    const { failure, values } = await (labs.hardened as ScriptLab).run({ script })
    return failure === null ? values : failure.message
  }

  test('the hardened realm refuses each change of a built-in object with an error, in scripts without "use strict" too', async () => {
    const bodies = [
      'given.x = 1',
      'given.abs = 1',
      'delete given.abs',
      'given.__proto__ = {}',
      '[].__proto__.first = 1',
      '({}).__proto__.toString = 1',
      'Object.getPrototypeOf(function* () {}).next = 1',
      'undeclared = 1',
      'globalThis.JSON = 1',
      'Error.stackTraceLimit = 1',
    ]
    const script = `var given = Math\nfunction onSolutionOpen() {
      var errors = []
      ${bodies.map((body) => `try { ${body}; errors.push('nothing') } catch (error) { errors.push(error.name) }`).join('\n')}
      return JSON.stringify({ errors: errors })
    }`
    const { values, failure } = await (labs.hardened as ScriptLab).run({ script })
    expect(failure).toBeNull()
    expect(values.errors).toEqual(
      bodies.map((body) => (body.startsWith('undeclared') ? 'ReferenceError' : 'TypeError')),
    )
  })

  test('the hardened realm has nothing that compiles text', async () => {
    const script = `function onSolutionOpen() {
      const compilers = [eval, (0, eval), Function, (function () {}).constructor, (function* () {}).constructor,
        (async () => {}).constructor, (async function* () {}).constructor, Object.getPrototypeOf((async () => {}).constructor)]
      return JSON.stringify({ errors: compilers.map((compile) => {
        try { return typeof compile('return 1') } catch (error) { return error.name }
      }).concat(compilers.slice(2).map((compile) => {
        try { return typeof new compile('return 1') } catch (error) { return error.name }
      })) })
    }`
    const { values } = await (labs.hardened as ScriptLab).run({ script })
    expect(new Set(values.errors as string[])).toEqual(new Set(['EvalError']))
  })

  test('in the hardened realm, scripts can assign names that an object inherits from a built-in one', async () => {
    expect(
      await ends(`function Fault(m) { this.message = m }
        Fault.prototype = Object.create(Error.prototype); Fault.prototype.constructor = Fault; Fault.prototype.name = 'Fault'
        const o = {}; o.toString = () => 'own'; o.hasOwnProperty = 1; const f = () => 1; f.toString = () => 'f'; f.call = 2
        return JSON.stringify({ all: [String(new Fault('x')), String(o), o.hasOwnProperty, String(f), f.call, Object.keys(o)] })`),
    ).toEqual({ all: ['Fault: x', 'own', 1, 'f', 2, ['toString', 'hasOwnProperty']] })
  })

  test('the hardened realm shows frozen members as read-only values, and reflection on them throws instead of returning false', async () => {
    const script = `const P = [Array.prototype][0], M = [Math][0]
    function onSolutionOpen() {
      const one = Object.getOwnPropertyDescriptor(P, 'map'), all = Object.getOwnPropertyDescriptors(P)
      const own = Object.create(null, Object.getOwnPropertyDescriptors([Error.prototype][0]))
      const changes = [() => Reflect.set(M, 'abs', 1), () => Reflect.defineProperty(M, 'x', {}), () => Reflect.set(M, 'x', 1),
        () => Reflect.deleteProperty(M, 'hypot'), () => Reflect.set({ __proto__: P }, 'at', 1), () => Reflect.set(Object.create(Promise.prototype), 'then', 1),
        () => Reflect.set(Object.freeze({ a: 1 }), 'a', 2), () => Reflect.set([], 0, 1), () => Reflect.set({ get a() {} }, 'a', 1)]
      return JSON.stringify({ all: [typeof one.value, one.writable, one.get, all.map.value === P.map, Reflect.getOwnPropertyDescriptor(P, 'map').value === P.map,
        P.__lookupGetter__('map'), ({ get x() { return 1 } }).__lookupGetter__('x') === undefined, own.name],
        changes: changes.map((change) => { try { return change() } catch (error) { return error.name } }) })
    }`
    const { values, failure } = await (labs.hardened as ScriptLab).run({ script })
    expect(failure).toBeNull()
    expect(values.all).toEqual(['function', false, null, true, true, null, false, 'Error'])
    const refused = 'TypeError'
    expect(values.changes).toEqual([refused, refused, refused, refused, true, refused, false, true, false])
  })

  test('a login that exhausts the stack while it writes log lines does not make the next one hang', async () => {
    const script = `function onSolutionOpen() {
      let lines = 0
      function dive() { try { dive() } catch {} if (lines < 50) try { console.log('line'); directory.find('edge').catch(() => {}); lines++ } catch {} }
      dive()
      return JSON.stringify({ lines })
    }`
    for (const realm of ['fresh', 'hardened', 'hardened', 'hardened']) {
      const { values, failure, log } = await (labs[realm] as ScriptLab).run({ script })
      expect(failure).toBeNull()
      expect(values.lines).toBe(50)
      expect(log.length).toBeGreaterThanOrEqual(50)
    }
  })

  test('the hardened realm hides the platform’s own names from scripts', async () => {
    const script = `function onSolutionOpen() {
      return JSON.stringify({ all: [typeof globals_, typeof solhostGlobals, typeof solhostLexicals, typeof solhostDeclare, typeof run, typeof declare] })
    }`
    const { values } = await (labs.hardened as ScriptLab).run({ script })
    expect(new Set(values.all as string[])).toEqual(new Set(['undefined']))
  })

  test('in the hardened realm, random numbers differ between calls and are between 0 and 1', async () => {
    const script = `function onSolutionOpen() { return JSON.stringify({ all: Array.from({ length: 200 }, Math.random) }) }`
    const all = []
    for (let call = 0; call < 2; call++)
      all.push(...((await (labs.hardened as ScriptLab).run({ script })).values.all as number[]))
    expect(new Set(all).size).toBe(400)
    expect(all.every((one) => one >= 0 && one < 1)).toBe(true)
    expect(Math.max(...all)).toBeGreaterThan(0.9)
  })

  test('the hardened realm refuses a script that closes the function around it', async () => {
    const script = `} } } }); (function () { with ({}) { { (function () {\nfunction onSolutionOpen() {}`
    expect((await (labs.hardened as ScriptLab).run({ script })).failure).not.toBeNull()
  })
})

describe('typical scripts', () => {
  function declaredIn(source: string): string[] {
    const { globals, lexicals } = namesOf(readTopLevel('', source, undefined))
    return [...globals, ...lexicals]
  }

  const numbered = (scripts: readonly string[], from = 0) =>
    scripts.map((script, index) => script.replaceAll('ID', `${from + index}`))

  async function answersIn(realm: string, idioms: readonly string[]): Promise<unknown> {
    const calls = idioms.map((_, index) => `() => idiom${index}()`)
    const entry = `function onSolutionOpen() {
      return JSON.stringify({ all: [${calls}].map((idiom) => {
        try { return idiom() ?? null } catch (error) { return error.name + ': ' + error.message }
      }) })
    }`
    const sources = [...idioms, CROSS.replaceAll('ID', `${idioms.length - 1}`), entry]
    const lab = labs[realm] as ScriptLab
    const solution = lab.solution({
      manifest: manifestOf({ authenticator: 'AUTHENTICATOR', modules: ['auth'], ...MANIFEST, realm }),
      modules: [{ name: 'auth', manifest: manifestOf({ name: 'auth', type: 'authenticator' }) }],
      scripts: sources.map((source, index) => ({
        module: 'auth',
        file: `modules/auth/scopes/s${index}.js`,
        source,
        scope: {
          name: `s${index}`,
          names: namesOf(readTopLevel('', source, undefined)).globals,
          shared: [],
          isOwn: false,
        },
        realm: namesOf(readTopLevel('', source, undefined)),
      })),
    })
    const { failure, values } = await lab.runEntry(solution, {
      unit: 'authenticator',
      entry: 'onSolutionOpen',
      args: [null, {}],
      secrets: new Map(),
      call: {
        kind: 'login',
        correlationId: 'TEST0-00000',
        user: null,
        account: null,
        address: '127.0.0.1',
        locale: 'en',
        serverUrl: 'http://127.0.0.1:8080',
      },
    })
    expect(failure).toBeNull()
    return values.all
  }

  test('at least 64 idioms have the same results in both realms', async () => {
    const idioms = numbered(SAME)
    const declared = new Set(
      [...idioms, CROSS.replaceAll('ID', `${idioms.length - 1}`)].flatMap((source) => declaredIn(source)),
    )
    expect(idioms.length).toBeGreaterThanOrEqual(64)
    expect(
      idioms.flatMap((source) => findDifferences(source, declared).map(({ message }) => [source, message])),
    ).toEqual([])
    const fresh = await answersIn('fresh', idioms)
    expect(await answersIn('hardened', idioms)).toEqual(fresh)
    expect((fresh as unknown[]).filter((one) => typeof one === 'string' && /Error: /.test(one))).toEqual([])
  })

  test('scripts that cannot use the global object, and the same scripts with access to it, have the same results', async () => {
    const names = { builtIn: [], own: [], others: ['globals', 'scopes', 'LOGGINGLEVEL', 'eval'] }
    const idioms = numbered(SAME).filter((source) =>
      isAlone({ file: '', source, realm: namesOf(readTopLevel('', source, undefined)) }, names),
    )
    expect(idioms.length).toBeGreaterThanOrEqual(50)
    const calls = idioms.map((source) => `() => ${/function (idiom\d+)/.exec(source)?.[1]}()`)
    const script = `${idioms.join('\n')}
      function onSolutionOpen() {
        return JSON.stringify({ all: [${calls}].map((idiom) => {
          try { return idiom() ?? null } catch (error) { return error.name + ': ' + error.message }
        }) })
      }`
    expect(isAlone({ file: '', source: script, realm: namesOf(readTopLevel('', script, undefined)) }, names)).toBe(true)
    const answers = []
    for (const [realm, added] of [
      ['fresh', ''],
      ['hardened', ''],
      ['hardened', '\n// globalThis'],
    ] as const) {
      const { failure, values } = await (labs[realm] as ScriptLab).run({ script: script + added })
      expect(failure).toBeNull()
      answers.push(values.all)
    }
    expect(answers[1]).toEqual(answers[0])
    expect(answers[2]).toEqual(answers[0])
  })

  test('a script runs without the global object only if it can neither use it nor replace one of its properties', () => {
    const names = { builtIn: ['Array'], own: ['security'], others: ['globals', 'eval'] }
    const alone = (source: string) =>
      isAlone({ file: '', source, realm: namesOf(readTopLevel('', source, undefined)) }, names)
    const yes = [
      'security.login()',
      'const globalsOfMine = 1',
      'class A { b = this; static { this.c = this } }',
      'function f() { return this }',
      '({ a() { return this } })',
    ]
    const no = [
      'globalThis.a = 1',
      'f(() => this)',
      'class A { [this.b]() {} }',
      'class A extends this.B {}',
      'globals.a = 1',
      "f(eval('1'))",
      'var security = 1',
      'function Array() {}',
      'global\\u0054his.a = 1',
      'if (',
    ]
    expect(yes.filter((source) => !alone(source))).toEqual([])
    expect(no.filter(alone)).toEqual([])
    expect(isAlone({ file: '', source: '', realm: { globals: [], lexicals: [] } }, names)).toBe(false)
  })

  test('the check refuses idioms that would have a different result', () => {
    const accepted = numbered(REFUSED).filter((source) => findDifferences(source, new Set()).length === 0)
    expect(accepted).toEqual([])
  })
})
