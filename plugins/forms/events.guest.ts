import type { Elements } from './elements.guest.ts'
import type { Api, Element, Form, Run } from './types.guest.ts'
import type { Views } from './views.guest.ts'

export type Events = ReturnType<typeof createEvents>

/** Fires events: first the form's function, then the listeners. */
export function createEvents(api: Api, { read }: Elements, { viewOf, functionsOf }: Views) {
  const { safe } = api
  /**
   * The number of calls so far. If it changed while a Promise was awaited, the call that started the function has
   * ended.
   */
  let calls = 0

  /**
   * Calls the form's function, then the listeners. @param handler the function's name, if it is set
   * @returns the function's return value, and whether all listeners agreed
   */
  async function fire(form: Form, element: Element | null, type: string, args: unknown[], handler: string | undefined) {
    const events = api.offered('defaultEvent')
    const started = events?.(type, form.name, element === null ? null : element.definition.name, args) ?? null
    let returned: unknown
    const functions = functionsOf(form.name)
    const own = handler === undefined || functions === undefined ? undefined : read(functions, handler)
    if (typeof own === 'function') {
      const given = api.list<unknown>()
      for (let index = 0; index < args.length; index++) given[index] = args[index]
      given[given.length] = started?.event
      const call = calls
      returned = safe.apply(own as Run, viewOf(form.name), given)
      if (safe.isPromise(returned)) returned = await returned
      if (call !== calls)
        throw new safe.Error('the function returned too late: the call that started it has already ended')
    }
    return { __proto__: null, returned, agreed: started === null || started.fire() }
  }

  function life(form: Form, type: string, args: unknown[] = argsOf()) {
    return fire(form, null, type, args, read(form.handlers, type) as string | undefined)
  }

  return {
    fire,
    life,
    nextCall(): void {
      calls++
    },
  }
}

export function argsOf(...items: unknown[]): unknown[] {
  return items
}
