import type { Api, Arguments, Firing, JSEvent } from './types.guest.ts'

/** Creates events. Listeners can stop an event's propagation. */
export function createEvents(safe: Api['safe'], dataOf: (args: Arguments) => unknown[]) {
  let kind: ReturnType<typeof createKind> | null = null

  /**
   * The methods are on the prototype, because most events have few listeners and creating methods for each event would
   * cost more. The class is created for the first event, because most sign-ins fire none.
   */
  function createKind() {
    class FiredEvent implements JSEvent {
      declare readonly type: string
      declare readonly source: string | null
      declare readonly formName: string | null
      declare readonly elementName: string | null
      declare readonly data: unknown[]
      declare readonly stopPropagation: () => void
      constructor(
        type: string,
        source: string | null,
        formName: string | null,
        elementName: string | null,
        data: unknown[],
        stopPropagation: () => void,
      ) {
        this.type = type
        this.source = source
        this.formName = formName
        this.elementName = elementName
        this.data = data
        this.stopPropagation = stopPropagation
      }
      getType(): string {
        return this.type
      }
      getFormName(): string | null {
        return this.formName
      }
      getElementName(): string | null {
        return this.elementName
      }
    }
    safe.freeze(FiredEvent.prototype)
    return safe.freeze(FiredEvent)
  }

  return function startEvent(
    type: string,
    source: string | null,
    args: Arguments,
    formName: string | null,
    elementName: string | null,
  ): Firing {
    const stopPropagation = (): void => {
      firing.stopped = true
    }
    kind ??= createKind()
    const event = new kind(type, source, formName, elementName, dataOf(args), stopPropagation)
    const firing: Firing = { stopped: false, event }
    return firing
  }
}
