import { defineProperty, deleteProperty, freeze, getOwnPropertyDescriptor, keys, ownKeys } from './builtins.guest.ts'

// Removes built-in globals, and defines the platform's globals.

/** The name of the global in which a fresh context stores its `start` until it is started. */
const START = 'solhostStart'
const unwanted = ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry', START]

/**
 * Removes globals that allow blocking waits, precise clocks built with threads, memory outside the heap limit, or code
 * that runs outside any call. This runs when a context starts, not in the snapshot. V8 extends some of these globals in
 * every new context, and crashes if they are missing.
 */
export function removeGlobals(): void {
  for (let index = 0; index < unwanted.length; index++) deleteProperty(globalThis, unwanted[index] as string)
}

/** RegExp's static properties expose the last match, even if other code ran the regular expression. */
export function removeRegExpStatics(): void {
  for (const key of ownKeys(RegExp)) {
    const descriptor = getOwnPropertyDescriptor(RegExp, key)
    if (descriptor?.get !== undefined && typeof key === 'string') deleteProperty(RegExp, key)
  }
}

/** Defines a global that a solution may replace with its own. */
export function defineReplaceable(globals: object, name: string, value: object): void {
  defineProperty(globals, name, { value, writable: true, enumerable: false, configurable: true })
}

export function defineFrozen(target: object, name: string, value: unknown): void {
  if (typeof value === 'function') freeze(value)
  else if (typeof value === 'object' && value !== null) {
    const names = keys(value)
    for (let index = 0; index < names.length; index++) {
      const part = (value as Record<string, unknown>)[names[index] as string]
      if (typeof part === 'function') freeze(part)
    }
    freeze(value)
  }
  defineProperty(target, name, { value, writable: false, enumerable: true, configurable: false })
}
