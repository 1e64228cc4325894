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
import type { Enter, FindEntry, Host, Start } from './types.guest.ts'
import { list, record } from './values.guest.ts'

/** Runs one script for a call. `declare` gets an object with an accessor for each of its top-level names. */
type RunScript = (globals: object, lexicals: object, declare: (view: object) => void) => () => unknown
/** `globals`: the script's names that are properties of the global object. `scope`: the names that `scopes` shows. */
type ScriptFacts = {
  globals: string[]
  lexicals: string[]
  scope: { name: string; shared: string[]; names: string[] } | null
}
type OpenCall = { enter: Enter; globals: object; lexicals: object }
type Ask = (context: number, kind: string, text: string, key?: string) => string | null | false
/** The only function that the sandbox process calls in the realm. `name`: an entry function. */
export type Drive = (kind: DriveKind, id: number, text: string, script?: RunScript, name?: string) => string
type DriveKind = 'names' | 'script' | 'open' | 'run' | 'finds' | 'enter' | 'close'

/** Removed because nothing may be shared between calls, or because the platform has its own. */
const REMOVED = ['console']
/** The length of a random number in hexadecimal digits: 52 bits. */
const RANDOM_DIGITS = 13

/**
 * @param build runs the whole trusted part with another global object, and with the original functions of Reflect
 * @param ask the only function of the sandbox process that the realm can call
 */
export default function realm(build: (globals: object, reflect: object) => Start, ask: Ask): Drive {
  const { failedText } = createThrown(() => null)
  const scripts = list<RunScript>()
  const facts = list<ScriptFacts>()
  const calls: Record<number, OpenCall> = record()
  const originals = functionsOf(Reflect)
  let builtIns = list<readonly [PropertyKey, PropertyDescriptor]>()

  function prepare(): void {
    removeGlobals()
    for (let index = 0; index < REMOVED.length; index++) deleteProperty(globalThis, REMOVED[index] as string)
    // The trusted part adds to built-in prototypes, and removes the static properties of RegExp.
    build(create(null), originals)
    removeCompilers()
    replaceRandom()
    replaceReflection()
    builtIns = builtInGlobals()
    freezeIntrinsics()
  }

  /** V8's own generator is one sequence for the whole context, so scripts could compute other calls' numbers. */
  function replaceRandom(): void {
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

  function open(id: number, settings: string): OpenCall {
    const globals = createGlobals()
    const lexicals = record<unknown>()
    const opened: OpenCall = { enter: () => '', globals, lexicals }
    const start = build(globals, originals)
    opened.enter = start(ask as Host, id, settings, () => entryOf(opened, 'onSolutionOpen'))
    return opened
  }

  /** @returns '' or how the script's top-level code failed, as text */
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

  prepare()

  return function drive(kind, id, text, script, name) {
    switch (kind) {
      case 'names':
        return constantNames(open(id, text).globals)
      case 'script':
        scripts[id] = script as RunScript
        facts[id] = parse(text) as ScriptFacts
        return ''
      case 'open':
        calls[id] = open(id, text)
        return ''
      case 'run':
        return run(id, +text)
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
      throw new SafeTypeError(`"${name}" is declared at the top level, but the global object already has it`)
    }
  }
}

/** Copies the functions of an object into one that scripts can't reach. */
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
    // Replacing one would not affect other scripts, which have their own constants for these names.
    descriptor.writable = false
    descriptor.configurable = false
    found[found.length] = [name, descriptor]
  }
  return found
}

function entryOf({ globals, lexicals }: OpenCall, name: string): unknown {
  const holder = getOwnPropertyDescriptor(lexicals, name) === undefined ? globals : lexicals
  const descriptor = getOwnPropertyDescriptor(holder, name)
  // Scripts' own functions are accessors or writable; built-in functions and bindings are neither.
  if (descriptor === undefined || descriptor.writable === false) return undefined
  const found = (holder as Record<string, unknown>)[name]
  return typeof found === 'function' ? found : undefined
}

/** The global names that scripts cannot change, so that each script can have constants for them. */
function constantNames(globals: object): string {
  const found: string[] = []
  const names = ownKeys(globals)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as PropertyKey
    if (typeof name !== 'string' || name === 'eval') continue
    if (apply(regExpExec, /^[A-Za-z_$][\w$]*$/, [name]) === null) continue
    const descriptor = getOwnPropertyDescriptor(globals, name)
    if (descriptor?.writable === false && descriptor.configurable === false) found[found.length] = name
  }
  return stringify(found)
}
