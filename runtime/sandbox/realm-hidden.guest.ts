import { getOwnPropertyDescriptor, getPrototypeOf } from './builtins.guest.ts'
import { list } from './values.guest.ts'

/**
 * Returns the built-in objects that can't be found as a property of another object, because only syntax or calls create
 * them. Their prototypes and accessors are shared by everything in the context. If one is missing,
 * `test/runtime/realm-intrinsics.parts.test.ts` reports it.
 */
export function hiddenIntrinsics(): object[] {
  const found = list<object>()

  /** Adds the value's prototype. Calls share the prototype, even if each of them creates its own value. */
  function addKind(value: object): void {
    found[found.length] = getPrototypeOf(value) as object
  }

  function* generator() {}
  async function* asyncGenerator() {}
  async function asyncFunction() {}
  const iterator = (value: unknown, key: symbol | string, ...args: unknown[]) =>
    (value as Record<PropertyKey, (...given: unknown[]) => object>)[key]?.(...args) as object
  addKind(generator)
  addKind(asyncGenerator)
  addKind(asyncFunction)
  addKind(async () => {})
  addKind(generator.prototype)
  addKind(asyncGenerator.prototype)
  addKind(iterator([], Symbol.iterator))
  addKind(iterator('', Symbol.iterator))
  addKind(iterator(new Map(), Symbol.iterator))
  addKind(iterator(new Set(), Symbol.iterator))
  addKind(iterator('', 'matchAll', /a/g))
  addKind(iterator(generator(), 'map', (value: unknown) => value))
  const plain = { next: () => ({ done: true, value: undefined }), __proto__: null }
  addKind(Iterator.from(plain as Iterator<unknown>))
  addAccessors(new Error())
  // biome-ignore lint/complexity/noArguments: the object itself is needed, not its elements.
  addAccessors((() => arguments)())
  if (typeof Intl === 'object' && typeof Intl.Segmenter === 'function') {
    const segments = new Intl.Segmenter().segment('a')
    addKind(segments)
    addKind(segments[Symbol.iterator]())
  }
  return found

  /** `stack` of an error and `callee` of an arguments object are accessors whose functions are shared. */
  function addAccessors(value: object): void {
    addKind(value)
    const names = ['stack', 'callee', 'caller']
    for (let index = 0; index < names.length; index++) {
      const descriptor = getOwnPropertyDescriptor(value, names[index] as string)
      if (descriptor?.get !== undefined) found[found.length] = descriptor.get
      if (descriptor?.set !== undefined) found[found.length] = descriptor.set
    }
  }
}
