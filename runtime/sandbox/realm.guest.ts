// Runs once in a process that serves a solution with the hardened realm. All calls of the solution share one context,
// whose built-in objects are frozen. Each call gets a separate global object, separate bindings and its own run of the
// scripts' top-level code.
import {
  apply,
  create,
  defineProperty,
  deleteProperty,
  freeze,
  getOwnPropertyDescriptor,
  ownKeys,
  parse,
  regExpExec,
  SafeRangeError,
  SafeTypeError,
  setPrototypeOf,
  slice,
  stringify,
} from './builtins.guest.ts'
import { removeGlobals } from './globals.guest.ts'
import { freezeIntrinsics, removeCompilers, replaceReflection } from './realm-freeze.guest.ts'
import { createThrown } from './thrown.guest.ts'
import type { CreateBindings, Enter, FindEntry, Host, Needs } from './types.guest.ts'
import { list, record } from './values.guest.ts'

/** Runs one script for a call. `declare` gets an object with an accessor for each of the script's top-level names. */
type RunScript = (globals: object, lexicals: object, declare: (view: object) => void) => () => unknown
/**
 * Runs a standalone script: no other script runs with it, and it does not use the global object. `declare` gets a
 * function that returns the value of a top-level name.
 */
type RunAlone = (bindings: object, declare: (find: FindName) => void) => () => unknown
type FindName = (name: string) => unknown
/** A script that runs without other scripts, with the bindings that it needs. */
type Alone = { readonly run: RunAlone; readonly needs: Needs }
/** `globals`: the script's names that are properties of the global object. `scope`: the names that are in `scopes`. */
type ScriptFacts = {
  globals: string[]
  lexicals: string[]
  scope: { name: string; shared: string[]; names: string[] } | null
}
/** `find` is null unless the call runs a standalone script. */
type OpenCall = { enter: Enter; globals: object; lexicals: object; find: FindName | null }
type Ask = (context: number, kind: string, text: string, key?: string) => string | null | false
/** The only function that the sandbox process calls in the realm. `name`: the name of an entry function. */
export type Drive = (
  kind: DriveKind,
  id: number,
  text: string,
  script?: RunScript | ((builtIns: object) => RunAlone),
  name?: string,
) => string
type DriveKind = 'names' | 'script' | 'alone' | 'open' | 'run' | 'runAlone' | 'finds' | 'enter' | 'close'
/**
 * The global names of this version. `builtIn` (the language's) and `own` (the platform's) are names that scripts cannot
 * change, so each script can have constants for them. `others` are all other names.
 */
export type GlobalNames = { builtIn: string[]; own: string[]; others: string[] }

/** Built-in globals that are removed because calls must not share them. The platform replaces them. */
const REMOVED = ['console']
/** The length of a random number in hexadecimal digits: 52 bits. */
const RANDOM_DIGITS = 13

/**
 * @param build runs the trusted part with the original functions of Reflect
 * @param optional one item per plugin, in order: whether a call needs the plugin only if its script contains one of the
 * plugin's global names
 * @param ask the only function of the sandbox process that the realm can call
 */
export default function realm(build: (reflect: object) => CreateBindings, optional: boolean[], ask: Ask): Drive {
  const { failedText } = createThrown(() => null)
  const scripts = list<RunScript>()
  const facts = list<ScriptFacts>()
  const alone = list<Alone>()
  const calls: Record<number, OpenCall> = record()
  const originals = functionsOf(Reflect)
  let createBindings: CreateBindings = () => () => () => ''
  let builtIns = list<readonly [PropertyKey, PropertyDescriptor]>()
  /** An object with the built-in globals, for the constants of standalone scripts. */
  let builtInHolder: object = {}
  /** The global names of each optional plugin. */
  const namesOfPlugins = list<PropertyKey[]>()
  let settings = '{}'

  function prepare(): void {
    removeGlobals()
    for (let index = 0; index < REMOVED.length; index++) deleteProperty(globalThis, REMOVED[index] as string)
    // Do this before freezing: it adds to built-in prototypes, and removes the static properties of RegExp.
    createBindings = build(originals)
    createBindings(create(null))
    removeCompilers()
    replaceRandom(ask)
    replaceReflection()
    builtIns = builtInGlobals()
    freezeIntrinsics()
    builtInHolder = freeze(createGlobals())
  }

  function createGlobals(): object {
    const globals = {}
    for (let index = 0; index < builtIns.length; index++) {
      const [name, descriptor] = builtIns[index] as readonly [PropertyKey, PropertyDescriptor]
      defineProperty(globals, name, descriptor)
    }
    const descriptor: PropertyDescriptor = create(null)
    descriptor.value = globals
    defineProperty(globals, 'globalThis', descriptor)
    return globals
  }

  function open(id: number, globals: object, needs?: Needs): OpenCall {
    const opened: OpenCall = { enter: () => '', globals, lexicals: record<unknown>(), find: null }
    const start = createBindings(globals, needs)
    opened.enter = start(ask as Host, id, settings, () => entryOf(opened, 'onSolutionOpen'))
    return opened
  }

  /** Runs a script's top-level code. @returns '' or, if the code failed, a description of the failure */
  function run(id: number, index: number): string {
    const { enter, globals, lexicals } = calls[id] as OpenCall
    const { globals: global, lexicals: lexical, scope } = facts[index] as ScriptFacts
    const declare = (view: object): void => {
      takeMembers(globals, view, global, true)
      takeMembers(lexicals, view, lexical, false)
      if (scope === null) return
      const shown = record()
      takeMembers(shown, view, scope.names, true)
      enter(stringify({ kind: 'scope', name: scope.name, shared: scope.shared }), shown as object as FindEntry)
    }
    try {
      apply((scripts[index] as RunScript)(globals, lexicals, freeze(declare)), globals, [])
      return ''
    } catch (error) {
      return failedText(error)
    }
  }

  /** Runs a standalone script. @returns like `run` */
  function runAlone(id: number, index: number): string {
    const { run, needs } = alone[index] as Alone
    const globals = record()
    const opened = open(id, globals, needs)
    calls[id] = opened
    const declare = (find: FindName): void => {
      opened.find = find
    }
    try {
      apply(run(globals, freeze(declare)), undefined, [])
      return ''
    } catch (error) {
      return failedText(error)
    }
  }

  function findPluginNames(): void {
    for (let index = 0; index < optional.length; index++) {
      if (optional[index] !== true) continue
      const plugins = list<boolean>()
      for (let other = 0; other < optional.length; other++) plugins[other] = other === index
      const globals = record()
      open(0, globals, { console: false, plugins })
      namesOfPlugins[index] = ownKeys(globals)
    }
  }

  /** @param names the platform's global names that the script contains */
  function needsOf(names: readonly string[]): Needs {
    const plugins = list<boolean>()
    for (let index = 0; index < optional.length; index++) {
      plugins[index] = optional[index] !== true || hasCommon(namesOfPlugins[index] as PropertyKey[], names)
    }
    return { console: hasCommon(['console'], names), plugins }
  }

  prepare()

  return function drive(kind, id, text, script, name) {
    switch (kind) {
      case 'names':
        settings = text
        findPluginNames()
        return stringify(namesIn(open(id, createGlobals()).globals, builtInHolder))
      case 'script':
        scripts[id] = script as RunScript
        facts[id] = parse(text) as ScriptFacts
        return ''
      case 'alone': {
        const needs = needsOf(parse(text) as string[])
        alone[id] = { run: (script as (builtIns: object) => RunAlone)(builtInHolder), needs }
        return ''
      }
      case 'open':
        calls[id] = open(id, createGlobals())
        return ''
      case 'run':
        return run(id, +text)
      case 'runAlone':
        return runAlone(id, +text)
      case 'finds':
        return entryOf(calls[id] as OpenCall, text) === undefined ? '' : text
      case 'enter': {
        const call = calls[id] as OpenCall
        return name === undefined ? call.enter(text) : call.enter(text, () => entryOf(call, name))
      }
      case 'close': {
        const call = calls[id]
        delete calls[id]
        return call === undefined ? '' : call.enter('{"kind":"end"}')
      }
    }
  }
}

/** V8's own random generator has one sequence for the whole context, so scripts could compute other calls' numbers. */
function replaceRandom(ask: Ask): void {
  let digits = ''
  let used = 0
  const { random } = {
    random(): number {
      if (used >= digits.length) {
        let answered: string | null | false
        try {
          answered = ask(0, 'random', '')
        } catch {
          answered = false
        }
        if (typeof answered !== 'string') throw new SafeRangeError('Maximum call stack size exceeded')
        digits = answered
        used = 0
      }
      const from = used
      used += RANDOM_DIGITS
      return +`0x${apply(slice, digits, [from, from + RANDOM_DIGITS])}` / 2 ** 52
    },
  }
  const descriptor: PropertyDescriptor = create(null)
  descriptor.value = random
  defineProperty(Math, 'random', descriptor)
}

/** Defines an accessor for each name, so that other scripts see and set the script's own variable. */
function takeMembers(target: object, view: object, names: readonly string[], isEnumerable: boolean): void {
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string
    const descriptor = getOwnPropertyDescriptor(view, name)
    if (descriptor === undefined) continue
    setPrototypeOf(descriptor, null)
    descriptor.enumerable = isEnumerable
    descriptor.configurable = false
    if (getOwnPropertyDescriptor(target, name) !== undefined || !defineProperty(target, name, descriptor)) {
      throw new SafeTypeError(`"${name}" is declared at the top level, but is already a global property; rename it`)
    }
  }
}

/** Copies an object's functions into an object that scripts can't access. */
function functionsOf(holder: object): object {
  const copy: Record<PropertyKey, unknown> = record()
  const names = ownKeys(holder)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as PropertyKey
    copy[name] = (holder as Record<PropertyKey, unknown>)[name]
  }
  return freeze(copy)
}

function builtInGlobals() {
  const found = list<readonly [PropertyKey, PropertyDescriptor]>()
  const names = ownKeys(globalThis)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as PropertyKey
    if (name === 'globalThis') continue
    const descriptor = getOwnPropertyDescriptor(globalThis, name) as PropertyDescriptor
    setPrototypeOf(descriptor, null)
    // Replacing a built-in global would not affect other scripts, which have their own constants for these names.
    descriptor.writable = false
    descriptor.configurable = false
    found[found.length] = [name, descriptor]
  }
  return found
}

function entryOf({ globals, lexicals, find }: OpenCall, name: string): unknown {
  if (find !== null) {
    const own = find(name)
    return typeof own === 'function' ? own : undefined
  }
  const holder = getOwnPropertyDescriptor(lexicals, name) === undefined ? globals : lexicals
  const descriptor = getOwnPropertyDescriptor(holder, name)
  // Properties with a script's own functions are writable or accessors. Those with built-in functions and bindings are
  // neither.
  if (descriptor === undefined || descriptor.writable === false) return undefined
  const found = (holder as Record<string, unknown>)[name]
  return typeof found === 'function' ? found : undefined
}

function namesIn(globals: object, builtIns: object): GlobalNames {
  const found: GlobalNames = { builtIn: [], own: [], others: [] }
  const names = ownKeys(globals)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as PropertyKey
    if (typeof name !== 'string') continue
    const descriptor = getOwnPropertyDescriptor(globals, name)
    const isFixed = descriptor?.writable === false && descriptor.configurable === false
    const isIdentifier = apply(regExpExec, /^[A-Za-z_$][\w$]*$/, [name]) !== null
    let kind = found.others
    if (isFixed && isIdentifier && name !== 'eval' && name !== 'globalThis') {
      kind = getOwnPropertyDescriptor(builtIns, name) === undefined ? found.own : found.builtIn
    }
    kind[kind.length] = name
  }
  return found
}

function hasCommon(some: readonly PropertyKey[], others: readonly PropertyKey[]): boolean {
  for (let index = 0; index < some.length; index++) {
    for (let other = 0; other < others.length; other++) if (some[index] === others[other]) return true
  }
  return false
}
