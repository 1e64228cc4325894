import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Waiting = { readonly run: (...args: never[]) => unknown; readonly args: readonly unknown[] }

const MOST_LATER = 100
const LATEST = 3_600_000

/** The timers of a client's scripts. */
export function createLater(api: GuestApi) {
  const { safe } = api
  /** Pending timers by their id. */
  const waiting = api.record<Waiting>()
  let waitingCount = 0
  let lastId = 0
  /** The ids of the timers that the current or last call added. */
  let added = api.list<number>()
  let cancelled = api.list<{ readonly id: number; readonly one: Waiting }>()

  function readTime(value: unknown): number {
    // `value + 0` turns -0 into 0.
    if (typeof value === 'number' && value >= 0 && value <= LATEST && value % 1 === 0) return value + 0
    throw new safe.TypeError(`application.executeLater: milliseconds must be a whole number from 0 to ${LATEST}`)
  }

  function take(id: number): Waiting | null {
    const one = waiting[id]
    if (one === undefined) return null
    delete waiting[id]
    waitingCount--
    return one
  }

  function put(id: number, one: Waiting): void {
    waiting[id] = one
    waitingCount++
  }

  /** Discards the timers of a failed call, since the host applied none of its commands. */
  function takeBack(): void {
    for (let index = 0; index < cancelled.length; index++) {
      const { id, one } = cancelled[index] as { id: number; one: Waiting }
      put(id, one)
    }
    for (let index = 0; index < added.length; index++) take(added[index] as number)
  }

  function copyOf(args: unknown): readonly unknown[] {
    const copy = api.list<unknown>()
    if (args === undefined || args === null) return copy
    if (!safe.isArray(args)) throw new safe.TypeError('application.executeLater: args must be an array')
    const most = api.limits.EVENT_ARGUMENTS as number
    const count = api.lengthOf(args)
    if (count > most) throw api.quotaError('EVENT_ARGUMENTS', most, count)
    for (let index = 0; index < count; index++) copy[index] = args[index]
    return copy
  }

  if (api.isClient) {
    api.onCall((_state, lastCounted) => {
      if (!lastCounted) takeBack()
      added = api.list()
      cancelled = api.list()
    })
    // The host ignores the return value.
    api.entry('runLater', async (id: number): Promise<void> => {
      const one = take(id)
      if (one === null) return
      const returned = safe.apply(one.run, undefined, one.args)
      if (safe.isPromise(returned)) await returned
    })
  }

  function execute(callback: unknown, milliseconds: unknown, args?: unknown): number {
    if (typeof callback !== 'function')
      throw new safe.TypeError('application.executeLater: callback must be a function')
    const time = readTime(milliseconds)
    const given = copyOf(args)
    if (waitingCount >= MOST_LATER) {
      throw new safe.RangeError(
        `application.executeLater: ${MOST_LATER} functions are already scheduled, which is the maximum`,
      )
    }
    const id = lastId + 1
    api.command('executeLater', [{ id, milliseconds: time }])
    lastId = id
    put(id, { run: callback as Waiting['run'], args: given })
    added[added.length] = id
    return id
  }

  function cancel(id: unknown): boolean {
    const one = typeof id === 'number' ? waiting[id] : undefined
    if (one === undefined) return false
    api.command('cancelLater', [id])
    take(id as number)
    cancelled[cancelled.length] = { id: id as number, one }
    return true
  }

  return { execute, cancel }
}
