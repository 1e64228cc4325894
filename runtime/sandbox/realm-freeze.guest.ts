import {
  apply,
  create,
  defineProperty,
  deleteProperty,
  freeze,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  ownKeys,
  SafeEvalError,
  SafeSet,
  SafeTypeError,
  setAdd,
  setHas,
  setPrototypeOf,
} from './builtins.guest.ts'
import { hiddenIntrinsics } from './realm-hidden.guest.ts'
import { list } from './values.guest.ts'

// Freezes every built-in object of a context, so that a call can't change what later calls get.

/**
 * Names that stay data properties. If one of them became an accessor, V8 would stop using its fast paths for promises,
 * iterators and regular expressions. A script that assigns one of these names to an object that inherits it gets a
 * TypeError.
 */
const KEPT: readonly string[] = ['then', 'next', 'exec']

type Lookups = { readonly __lookupGetter__: () => unknown; readonly __lookupSetter__: () => unknown }

/**
 * The getters and setters that `repairOverrides` defined. To scripts, these properties must look like data properties.
 */
const repaired = new SafeSet<unknown>()
/** All frozen built-in objects. */
const frozen = new SafeSet<unknown>()

/** Freezes everything that scripts can reach from the global object or create with syntax. */
export function freezeIntrinsics(): void {
  const seen = new SafeSet<object>()
  const prototypes = new SafeSet<object>()
  const open = list<object>()

  function visit(value: unknown): void {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return
    if (apply(setHas, seen, [value])) return
    apply(setAdd, seen, [value])
    open[open.length] = value
  }

  function visitParts(value: object): void {
    const prototype = getPrototypeOf(value)
    if (prototype !== null && typeof prototype === 'object') apply(setAdd, prototypes, [prototype])
    visit(prototype)
    const keys = ownKeys(value)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as PropertyKey
      const descriptor = getOwnPropertyDescriptor(value, key) as PropertyDescriptor
      setPrototypeOf(descriptor, null)
      visit(descriptor.get)
      visit(descriptor.set)
      visit(descriptor.value)
      if (key === 'prototype' && typeof descriptor.value === 'object' && descriptor.value !== null)
        apply(setAdd, prototypes, [descriptor.value])
    }
  }

  visit(globalThis)
  const hidden = hiddenIntrinsics()
  for (let index = 0; index < hidden.length; index++) visit(hidden[index])
  for (let index = 0; index < open.length; index++) visitParts(open[index] as object)
  // `visitParts` collects only prototypes that are objects, but Function.prototype is a function.
  apply(setAdd, prototypes, [getPrototypeOf(freezeIntrinsics) as object])
  for (let index = 0; index < open.length; index++) {
    const one = open[index] as object
    if (one !== globalThis && apply(setHas, prototypes, [one])) repairOverrides(one)
  }
  // `repairOverrides` has created new functions, so visit these too.
  for (let index = 0; index < open.length; index++) visitParts(open[index] as object)
  for (let index = 0; index < open.length; index++) {
    freeze(open[index])
    apply(setAdd, frozen, [open[index]])
  }
}

/**
 * Replaces two kinds of functions. The first kind would reveal the accessors of `repairOverrides`. The second kind
 * would return false, instead of throwing an error, when a script changes a frozen object.
 */
export function replaceReflection(): void {
  const { getOwnPropertyDescriptor: describeOwn, getOwnPropertyDescriptors: describeAll } = Object
  const prototype: object = Object.prototype
  const { __lookupGetter__: lookUpGetter, __lookupSetter__: lookUpSetter } = prototype as Lookups
  const { set: setMember } = Reflect
  replaceMethods(Object, {
    getOwnPropertyDescriptor: (target: object, key: PropertyKey) => shown(describeOwn(target, key)),
    getOwnPropertyDescriptors(target: object) {
      const all = describeAll(target) as Record<PropertyKey, PropertyDescriptor>
      const names = ownKeys(all)
      for (let index = 0; index < names.length; index++) {
        const key = names[index] as PropertyKey
        all[key] = shown(all[key]) as PropertyDescriptor
      }
      return all
    },
  })
  replaceMethods(prototype, {
    __lookupGetter__(this: unknown, key: PropertyKey) {
      return withoutRepaired(apply(lookUpGetter, this, [key]))
    },
    __lookupSetter__(this: unknown, key: PropertyKey) {
      return withoutRepaired(apply(lookUpSetter, this, [key]))
    },
  })
  replaceMethods(Reflect, {
    getOwnPropertyDescriptor: (target: object, key: PropertyKey) => shown(getOwnPropertyDescriptor(target, key)),
    defineProperty: (target: object, key: PropertyKey, descriptor: PropertyDescriptor) =>
      needChanged(defineProperty(target, key, descriptor), target, key),
    deleteProperty: (target: object, key: PropertyKey) => needChanged(deleteProperty(target, key), target, key),
    set: (target: object, key: PropertyKey, value: unknown, ...receiver: unknown[]) =>
      needChanged(apply(setMember, Reflect, [target, key, value, ...receiver]) as boolean, target, key),
  })
}

function replaceMethods(target: object, methods: object): void {
  const names = ownKeys(methods)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string
    define(target, name, (methods as Record<string, unknown>)[name])
  }
}

/** Returns the descriptor that scripts see. For them, a repaired property is a read-only value. */
function shown(descriptor: PropertyDescriptor | undefined): PropertyDescriptor | undefined {
  if (descriptor?.get === undefined || !apply(setHas, repaired, [descriptor.get])) return descriptor
  const { get, enumerable } = descriptor
  return { value: apply(get, undefined, []), writable: false, enumerable: enumerable === true, configurable: false }
}

function withoutRepaired(accessor: unknown): unknown {
  return apply(setHas, repaired, [accessor]) ? undefined : accessor
}

/** @throws TypeError if the property was not changed because a built-in object is frozen */
function needChanged(isChanged: boolean, target: object, key: PropertyKey): boolean {
  if (isChanged) return true
  for (let holder: object | null = target; holder !== null; holder = getPrototypeOf(holder)) {
    const isOwn = getOwnPropertyDescriptor(holder, key) !== undefined
    if (apply(setHas, frozen, [holder]) && (isOwn || holder === target)) throw readOnly(key)
    if (isOwn) return false
  }
  return false
}

function readOnly(key: PropertyKey): TypeError {
  const what = typeof key === 'string' ? `the property "${key}"` : 'this property'
  return new SafeTypeError(`${what} cannot be set in the hardened realm, because built-in objects are frozen`)
}

/**
 * If an object inherits a read-only property, the language forbids assigning a property with this name to the object.
 * An accessor makes such assignments work as they did before the prototype was frozen.
 */
function repairOverrides(holder: object): void {
  const keys = ownKeys(holder)
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as PropertyKey
    const descriptor = getOwnPropertyDescriptor(holder, key) as PropertyDescriptor
    setPrototypeOf(descriptor, null)
    if (typeof key !== 'string' || isKept(key) || (key === 'constructor' && hasSpecies(descriptor.value))) continue
    if (descriptor.configurable !== true || descriptor.writable !== true) continue
    defineProperty(holder, key, accessorOf(holder, key, descriptor))
  }
}

function isKept(key: string): boolean {
  for (let index = 0; index < KEPT.length; index++) if (KEPT[index] === key) return true
  return false
}

/**
 * Whether the value is a constructor such as Array or Promise. V8 has fast paths for the methods of such constructors,
 * but only while `constructor` is a data property.
 */
function hasSpecies(value: unknown): boolean {
  return typeof value === 'function' && getOwnPropertyDescriptor(value, Symbol.species) !== undefined
}

function accessorOf(holder: object, key: string, { value, enumerable }: PropertyDescriptor): PropertyDescriptor {
  const accessor = {
    __proto__: null,
    get: () => value as unknown,
    // Use a method, because the setter needs `this` but must not be a constructor.
    set(this: unknown, assigned: unknown): void {
      if (this !== holder && ((typeof this === 'object' && this !== null) || typeof this === 'function')) {
        const own: PropertyDescriptor = create(null)
        own.value = assigned
        own.writable = true
        own.enumerable = true
        own.configurable = true
        if (defineProperty(this, key, own)) return
      }
      throw readOnly(key)
    },
    enumerable: enumerable === true,
    configurable: false,
  }
  apply(setAdd, repaired, [accessor.get])
  apply(setAdd, repaired, [accessor.set])
  return accessor
}

/**
 * Replaces the functions that compile text. The compiled code could be sloppy. It would then fail silently instead of
 * throwing an error.
 */
export function removeCompilers(): void {
  const functionPrototype = getPrototypeOf(removeCompilers) as object
  const replaced = replaceConstructor('Function', functionPrototype, functionPrototype)
  define(globalThis, 'Function', replaced)
  const kinds = [function* () {}, async () => {}, async function* () {}]
  const names = ['GeneratorFunction', 'AsyncFunction', 'AsyncGeneratorFunction']
  for (let index = 0; index < kinds.length; index++) {
    replaceConstructor(names[index] as string, getPrototypeOf(kinds[index] as object) as object, replaced)
  }
  define(globalThis, 'eval', compilerOf('eval'))
}

function replaceConstructor(name: string, prototype: object, parent: object): object {
  const replaced = compilerOf(name)
  setPrototypeOf(replaced, parent)
  define(replaced, 'prototype', prototype)
  define(prototype, 'constructor', replaced)
  return replaced
}

function compilerOf(name: string): object {
  // Use a function declaration, because classes may extend these functions.
  function refuse(): never {
    throw new SafeEvalError(`the hardened realm has no ${name}: it cannot compile text. Write a function instead.`)
  }
  define(refuse, 'name', name)
  return refuse
}

function define(target: object, key: string, value: unknown): void {
  const descriptor: PropertyDescriptor = create(null)
  descriptor.value = value
  descriptor.writable = true
  descriptor.enumerable = false
  descriptor.configurable = true
  if (!defineProperty(target, key, descriptor)) {
    const narrower: PropertyDescriptor = create(null)
    narrower.value = value
    if (!defineProperty(target, key, narrower)) throw new SafeTypeError(`"${key}" cannot be replaced`)
  }
}
