import type { Api } from './types.guest.ts'

export type Strict = ReturnType<typeof createStrict>

/** Creates frozen objects for scripts. A misspelt property name throws an error that suggests the most similar one. */
export function createStrict({ list, safe }: Api) {
  /** Suggests the most similar known name, as the end of a sentence. */
  function hint(name: string, known: readonly string[]): string {
    if (name.length > 64) return ''
    let nearest = ''
    let least = 1000
    const most = known.length > 1000 ? 1000 : known.length
    for (let index = 0; index < most; index++) {
      const candidate = known[index] as string
      const distance = editDistance(safe.lowerCase(name), safe.lowerCase(candidate))
      if (distance < least) {
        least = distance
        nearest = candidate
      }
    }
    return nearest === '' ? '' : `; did you mean ${nearest}?`
  }

  function editDistance(a: string, b: string): number {
    let row = list<number>()
    for (let column = 0; column <= b.length; column++) row[column] = column
    for (let i = 1; i <= a.length; i++) {
      const next = list<number>()
      next[0] = i
      for (let j = 1; j <= b.length; j++) {
        let least = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
        if ((row[j] as number) + 1 < least) least = (row[j] as number) + 1
        if ((next[j - 1] as number) + 1 < least) least = (next[j - 1] as number) + 1
        next[j] = least
      }
      row = next
    }
    return row[b.length] as number
  }

  /** Creates a frozen object that throws for unknown names, on both reads and writes. */
  function strict(
    target: object,
    what: string,
    known: readonly string[],
    set: (key: string, value: unknown) => void,
    more: (key: string) => unknown = () => undefined,
  ): object {
    safe.freeze(target)
    const unknown = (key: unknown) =>
      new safe.TypeError(`${what} has no ${safe.slice(safe.describe(key), 0, 100)}${hint(safe.describe(key), known)}`)
    return safe.proxy(target, {
      __proto__: null,
      get(_target: object, key: string | symbol): unknown {
        if (typeof key === 'string' && safe.hasOwn(target, key)) return (target as Record<string, unknown>)[key]
        const found = typeof key === 'string' ? more(key) : undefined
        if (found !== undefined || isAskedByLanguage(key)) return found
        throw unknown(key)
      },
      set(_target: object, key: string | symbol, value: unknown): boolean {
        if (typeof key !== 'string') throw unknown(key)
        if (!safe.hasOwn(target, key) && more(key) === undefined) throw unknown(key)
        set(key, value)
        return true
      },
    } as ProxyHandler<object>)
  }

  function readOnly(path: string): (key: string) => never {
    return (key) => {
      throw new safe.TypeError(`${path}.${key} cannot be replaced`)
    }
  }

  /**
   * @param set required for writable properties, because a Proxy must not set a property that has no setter on its
   * target
   */
  function define(target: object, key: string, get: () => unknown, set?: (value: unknown) => void): void {
    safe.freeze(get)
    if (set !== undefined) safe.freeze(set)
    safe.defineProperty(target, key, {
      get,
      ...(set === undefined ? null : { set }),
      enumerable: true,
      configurable: false,
    })
  }

  return { strict, readOnly, define }
}

/** Keys that JavaScript itself looks up on any object. */
function isAskedByLanguage(key: unknown): boolean {
  return typeof key !== 'string' || key === 'then' || key === 'toJSON'
}
