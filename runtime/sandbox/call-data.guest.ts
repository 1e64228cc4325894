import {
  apply,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  hasEnumerable,
  isArray,
  keys,
  setPrototypeOf,
} from './builtins.guest.ts'
import type { CallText } from './types.guest.ts'

/**
 * Makes common expressions work on an object without a prototype: `'' + queryParams`,
 * `queryParams.hasOwnProperty(name)`.
 */
const everydayNames = ['toString', 'hasOwnProperty', Symbol.toPrimitive] as const
/** Define these as methods, because ordinary functions have a `prototype` object, which the calls would share. */
const { textOfObject, hasData } = {
  textOfObject(): string {
    return '[object Object]'
  },
  /** Returns false for the added methods, because they are not data. */
  hasData(this: object, name: string): boolean {
    return apply(hasEnumerable, this, [name])
  },
}
const everydayMethods = [hidden(textOfObject), hidden(hasData), hidden(textOfObject)] as const

/** Prepares a call's data. Its objects get no prototype, because a script could have changed the prototype. */
export function readCall(read: CallText): CallText {
  setPrototypeOf(read.state, null)
  const { args } = read
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]
    if (typeof arg !== 'object' || arg === null || isArray(arg)) continue
    setPrototypeOf(arg, null)
    addEverydayMethods(arg)
    if (read.returnsJson === true) prepareParts(arg as Record<string, unknown>)
  }
  return read
}

/**
 * Removes the prototypes of a request's parts, such as the query or the nested body. Parts that are objects get the
 * same own methods as the request itself.
 */
function prepareParts(request: Record<string, unknown>): void {
  const names = keys(request)
  for (let index = 0; index < names.length; index++) {
    const part = request[names[index] as string]
    if (typeof part !== 'object' || part === null) continue
    removePrototypes(part)
    if (!isArray(part)) addEverydayMethods(part)
  }
}

/**
 * Recursion is safe here, because the host limits the depth. Arrays keep their prototype, because scripts need their
 * methods.
 */
function removePrototypes(value: object): void {
  if (isArray(value)) {
    for (let index = 0; index < value.length; index++) removeFrom(value[index])
    return
  }
  setPrototypeOf(value, null)
  const names = keys(value)
  for (let index = 0; index < names.length; index++) {
    removeFrom((value as Record<string, unknown>)[names[index] as string])
  }
}

function removeFrom(value: unknown): void {
  if (typeof value === 'object' && value !== null) removePrototypes(value)
}

/**
 * Adds own, non-enumerable methods, so that nothing is inherited. If the data has a property with the same name, the
 * property is kept.
 */
function addEverydayMethods(data: object): void {
  for (let index = 0; index < everydayNames.length; index++) {
    const name = everydayNames[index] as PropertyKey
    if (getOwnPropertyDescriptor(data, name) === undefined) {
      defineProperty(data, name, everydayMethods[index] as PropertyDescriptor)
    }
  }
}

function hidden(value: object): PropertyDescriptor {
  const descriptor: PropertyDescriptor = {
    value: freeze(value),
    enumerable: false,
    writable: true,
    configurable: true,
  }
  setPrototypeOf(descriptor, null)
  return descriptor
}
