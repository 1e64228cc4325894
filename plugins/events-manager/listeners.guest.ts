import type { Api, EventType, Listener } from './types.guest.ts'

/** Adds and removes listeners, and counts the listeners for all event types together. */
export function createListeners(api: Api) {
  let listenerCount = 0

  function add(type: EventType, listener: Listener): () => boolean {
    const most = api.limits.LISTENERS as number
    if (listenerCount >= most) throw api.quotaError('LISTENERS', most, listenerCount + 1)
    const before = type.listeners
    const after = api.list<Listener>()
    for (let index = 0; index < before.length; index++) after[index] = before[index] as Listener
    after[before.length] = listener
    type.listeners = after
    listenerCount++
    return () => remove(type, (one) => one === listener)
  }

  function remove(type: EventType, isMeant: (listener: Listener) => boolean): boolean {
    const before = type.listeners
    const after = api.list<Listener>()
    for (let index = 0; index < before.length; index++) {
      const one = before[index] as Listener
      if (!isMeant(one)) after[after.length] = one
    }
    type.listeners = after
    listenerCount -= before.length - after.length
    return after.length < before.length
  }

  return { add, remove }
}
