import type { Api, Arguments, JSEvent } from './types.guest.ts'

const NO_ARGUMENTS: Arguments = { count: 0, first: undefined, second: undefined, third: undefined, all: null }

/** Reads an event's arguments, and copies them for its listeners. */
export function createArguments(api: Api) {
  const { safe, limits } = api

  /**
   * The first three arguments have separate properties. Most events have no more, and a call with fixed arguments is
   * much faster than one with a list.
   */
  function readArguments(value: unknown): Arguments {
    if (value === undefined || value === null) return NO_ARGUMENTS
    if (!safe.isArray(value)) throw new safe.TypeError('the callback arguments must be an array')
    const most = limits.EVENT_ARGUMENTS as number
    const count = api.lengthOf(value)
    if (count > most) throw api.quotaError('EVENT_ARGUMENTS', most, count)
    if (count <= 3) {
      const first = count > 0 ? value[0] : undefined
      const second = count > 1 ? value[1] : undefined
      return { count, first, second, third: count > 2 ? value[2] : undefined, all: null }
    }
    const all = api.list<unknown>()
    for (let index = 0; index < count; index++) all[index] = value[index]
    return { count, first: undefined, second: undefined, third: undefined, all }
  }

  function givenOf(event: JSEvent, { count, first, second, third, all }: Arguments): unknown[] {
    const given = api.list<unknown>()
    given[0] = event
    if (all !== null) for (let index = 0; index < count; index++) given[index + 1] = all[index]
    else {
      if (count > 0) given[1] = first
      if (count > 1) given[2] = second
      if (count > 2) given[3] = third
    }
    return given
  }

  /** Copies the arguments, so that a listener can't change the next listener's arguments. */
  function dataOf({ count, first, second, third, all }: Arguments): unknown[] {
    if (count === 0) return []
    if (count === 1) return [first]
    if (count === 2) return [first, second]
    if (count === 3) return [first, second, third]
    const data: unknown[] = []
    for (let index = 0; index < count; index++) data[index] = (all as unknown[])[index]
    return data
  }

  return { readArguments, givenOf, dataOf }
}
