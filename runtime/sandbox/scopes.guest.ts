import { defineProperty, getOwnPropertyDescriptor, keys, setPrototypeOf } from './builtins.guest.ts'
import type { ScopeText } from './types.guest.ts'
import { record } from './values.guest.ts'

/** The global `scopes`, which contains the names in each script's scope. */
export function createScopes(globals: object) {
  const scopes = record<object>()
  scopes.globals = globals

  /** If two scripts have the same scope, or the same shared name, the later one is used. */
  function addScope({ name, shared }: ScopeText, view: object): void {
    if (name !== 'globals') {
      scopes[name] ??= record<unknown>()
      const names = keys(view)
      for (let index = 0; index < names.length; index++) takeMember(scopes[name], view, names[index] as string)
    }
    for (let index = 0; index < shared.length; index++) takeMember(globals, view, shared[index] as string)
  }

  return { scopes, addScope }
}

function takeMember(target: object, view: object, name: string): void {
  const descriptor = getOwnPropertyDescriptor(view, name)
  if (descriptor === undefined) return
  setPrototypeOf(descriptor, null)
  descriptor.configurable = true
  // A variable that an earlier script declared can't be redefined, so assign its value.
  if (!defineProperty(target, name, descriptor)) {
    ;(target as Record<string, unknown>)[name] = (view as Record<string, unknown>)[name]
  }
}
