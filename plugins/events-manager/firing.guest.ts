import type { Api, Arguments, Callback, EventType, Firing, JSEvent, Listener } from './types.guest.ts'

/** Calls an event's listeners. `startEvent` creates the event, and `givenOf` creates each listener's arguments. */
export function createFiring(
  api: Api,
  startEvent: (
    type: string,
    source: string | null,
    args: Arguments,
    form: string | null,
    element: string | null,
  ) => Firing,
  givenOf: (event: JSEvent, args: Arguments) => unknown[],
) {
  const { safe, limits } = api
  let depth = 0

  // A terminated call does not run `finally`, so the next call resets the depth.
  api.onCall(() => {
    depth = 0
  })

  function fire(
    type: EventType,
    context: string | null,
    args: Arguments,
    wanted: 0 | 1,
    firing: Firing = startEvent(type.name, context, args, null, null),
  ): boolean | unknown[] {
    const most = limits.EVENT_DEPTH as number
    if (depth >= most) throw api.quotaError('EVENT_DEPTH', most, depth + 1)
    depth++
    try {
      return run(type, context, args, wanted, firing)
    } finally {
      depth--
    }
  }

  function run(
    type: EventType,
    context: string | null,
    args: Arguments,
    wanted: 0 | 1,
    firing: Firing,
  ): boolean | unknown[] {
    const round = type.listeners
    const { count, first } = args
    const values: unknown[] = []
    let all = true
    let found = 0
    const { event } = firing
    for (let index = 0; index < round.length && !firing.stopped; index++) {
      const { callback, context: where, receiver } = round[index] as Listener
      if (where !== null && context !== null && where !== context) continue
      let value: unknown
      try {
        if (receiver !== undefined) value = safe.apply(callback, receiver, givenOf(event, args))
        else if (count === 1) value = callback(event, first)
        else if (count === 0) value = callback(event)
        else value = callWithMany(callback, event, args)
        if (value === true && wanted === 0) continue
        if (typeof value === 'object' && value !== null && safe.isPromise(value)) value = refusePromise(type)
      } catch (error) {
        value = reportFailure(error, type)
      }
      if (!value) all = false
      if (wanted === 1) values[found++] = value
    }
    return wanted === 1 ? values : all
  }

  /** @returns undefined, which becomes the listener's result */
  function refusePromise({ name }: EventType): undefined {
    api.log(
      'error',
      `a listener for ${name} returned a Promise, which is treated as false; listeners must return their result synchronously`,
    )
    return undefined
  }

  /**
   * Logs the listener's error; the other listeners still run.
   * @returns undefined, which becomes the listener's result
   */
  function reportFailure(error: unknown, { name }: EventType): undefined {
    if (api.isQuotaError(error)) throw error
    api.report(error, `a listener for ${name} failed`)
    return undefined
  }

  function callWithMany(callback: Callback, event: JSEvent, args: Arguments): unknown {
    const { count, first, second, third } = args
    if (count === 2) return callback(event, first, second)
    if (count === 3) return callback(event, first, second, third)
    return safe.apply(callback, undefined, givenOf(event, args))
  }

  return fire
}
