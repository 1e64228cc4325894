import { createChanges } from './changes.guest.ts'
import { createChecks } from './checks.guest.ts'
import { createElements } from './elements.guest.ts'
import { createEvents } from './events.guest.ts'
import { createInput } from './input.guest.ts'
import { createLife } from './life.guest.ts'
import { createLists } from './lists.guest.ts'
import { createProperties } from './properties.guest.ts'
import { createSending } from './sending.guest.ts'
import { createStrict } from './strict.guest.ts'
import type { Api, Showing } from './types.guest.ts'
import { createUpdates } from './updates.guest.ts'
import { createViews } from './views.guest.ts'

/** A client's forms: their state, the global `forms`, and user input. */
export default function forms(api: Api) {
  const showing: Showing = { current: null, wanted: null, asks: false, isAgreed: false }
  const checks = createChecks(api)
  const lists = createLists(api, checks)
  const properties = createProperties(api, checks, lists)
  const elements = createElements(api, lists)
  const changes = createChanges(api, lists)
  const views = createViews(api, { strict: createStrict(api), checks, properties, elements, changes })
  const events = createEvents(api, elements, views)
  const sending = createSending(api, changes, createUpdates(api), showing)
  const life = createLife(api, elements, events, changes, showing, sending.flush)
  const input = createInput(api, { checks, properties, elements, changes, events }, showing)

  api.offer('showForm', life.wish)
  api.offer('formName', views.nameOf)
  api.onCall((_only, lastCounted) => {
    events.nextCall()
    // Resets state left by a failed call. A terminated call does not run `finally`, so the next call resets it.
    showing.wanted = null
    showing.asks = false
    showing.isAgreed = false
    sending.settle(lastCounted)
    input.takeBackUndecided()
  })
  api.beforeReturn(() => {
    if (showing.wanted !== null) return life.showWanted()
    sending.flush()
    return null
  })
  api.onScript(views.runScript)
  api.entry('event', input.handle)
  api.entry('show', life.wish)
  api.entry('leave', life.leave)
  api.entry('close', life.close)
  /** Called after a failed call, to send the changes that it made. */
  api.entry('flush', () => {})
  api.onLoad((loaded) => {
    elements.load(loaded)
    views.defineForms()
  })
}
