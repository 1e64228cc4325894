import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { BrowserEvent, BrowserFrame, ClosedWhy, NumberedFrame } from '../web/frames.ts'
import { checkEvent } from './check-event.ts'
import type { ClientEffects } from './client-effects.ts'
import type { CallEntry } from './client-entries.ts'
import type { ClientNotices } from './client-notices.ts'
import type { ClientState } from './client-state.ts'
import type { Connection } from './connection.ts'
import { missingInputs } from './missing-inputs.ts'
import { isPermitted, type Place } from './render/outline.ts'
import { tryOf } from './visitor.ts'

/** Receives the frames of a client's browser. */
export type ReceiveFrame = (from: Connection, frame: BrowserFrame) => void

/** Maximum queued frames per browser. No person types this fast. */
const MOST_WAITING = 300

/** Handles the user's actions: checks each event against the form as it is shown, then runs its handlers. */
export function createReceiveFrame(
  state: ClientState,
  call: CallEntry,
  { sayUndone }: ClientNotices,
  { apply }: ClientEffects,
  end: (why: ClosedWhy | null) => Promise<void>,
): ReceiveFrame {
  const { parts, outbox, lane, secrets, work } = state
  const { send } = outbox

  async function take(from: Connection, frame: NumberedFrame): Promise<void> {
    if (!(await isStillSignedIn())) return
    // If the version failed to open, keep the event for the next version.
    if (work !== null && !state.isOpen && frame.kind === 'event') work.note(frame)
    if (state.isLost && isPress(frame)) sayUndone()
    if (state.sandbox === null || !state.isOpen) return
    // Ignore events for a form that is no longer shown, as if the user had clicked next to it.
    if (frame.form === state.screen.shown) await react(from, frame)
    else if (!state.screen.hasShown(frame.form)) from.refuse()
  }

  async function isStillSignedIn(): Promise<boolean> {
    const { found } = state.visitor
    if (found === null || (await parts.sessions.find(state.solution.name, found.cookie)) !== null) return true
    void end('signed-out')
    return false
  }

  async function react(from: Connection, frame: NumberedFrame): Promise<void> {
    const { screen } = state
    const definition = screen.definitionOf(frame.form)
    if (definition === null) return
    if (!isPermitted(definition, screen.contextOf(frame.form))) return from.refuse()
    if (frame.kind === 'resize')
      return fire(frame.seq, { form: frame.form, element: '', type: 'onResize', value: null })
    if (frame.kind === 'leave') return leave(frame.seq)
    const checked = checkEvent(frame, definition, screen.viewOf(frame.form), screen.contextOf(frame.form))
    if (checked.kind === 'forged') return from.refuse()
    if (checked.kind === 'stale') return
    if (checked.kind === 'faulty') {
      screen.views.setFault(frame.form, frame.element, screen.text(checked.fault.key, checked.fault.values))
      return send(...screen.patch([frame.element], frame.seq))
    }
    if (frame.type === 'onElementDataChange' && screen.views.clearFault(frame.form, frame.element)) {
      send(...screen.patch([frame.element], frame.seq))
    }
    if (frame.type === 'onAction' && !mayPress(frame, checked.place, definition)) return
    if (frame.type === 'onElementDataChange') secrets.entered(definition, frame.element, frame.value)
    work?.note(frame)
    const { form, element, type, value } = frame
    const hasFaults = type === 'onAction' && element === definition.saves && screen.views.hasFaults(form)
    await fire(frame.seq, { form, element, type, value, ...(hasFaults ? { hasFaults } : {}) })
  }

  /** Shows the form that the user has agreed to leave for. A form that a script shows meanwhile stays. */
  async function leave(seq: number): Promise<void> {
    const { leaving } = state
    if (leaving === null) return
    state.leaving = null
    const result = await call('forms.leave', [leaving])
    state.handled = Math.max(state.handled, seq)
    await apply(result)
  }

  async function fire(seq: number, event: Record<string, Json>): Promise<void> {
    const isCounted = state.visitor.isLoginForm && event.type === 'onAction'
    if (isCounted && !(await mayTry())) return
    const result = await call('forms.event', [event], isCounted ? 'login' : 'open')
    state.handled = Math.max(state.handled, seq)
    if (result.failure?.code === 'client_gone' && event.type === 'onAction') sayUndone(result.failure.changedSomething)
    await apply(result, isCounted)
  }

  /**
   * In a login form, each button press may be a sign-in attempt. The account is known only after the script has run.
   */
  async function mayTry(): Promise<boolean> {
    const wait = await parts.throttle.count(tryOf(state.visitor), true)
    if (wait === null) return true
    send({ kind: 'message', text: state.screen.text('platform.login.throttled'), level: 'error' })
    return false
  }

  /** A primary button submits the form, so required inputs must be filled in. Other buttons don't check this. */
  function mayPress({ form, seq }: BrowserEvent, { element }: Place, definition: FormDefinition): boolean {
    if (element.type !== 'button' || element.kind !== 'primary') return true
    const { screen } = state
    const missing = missingInputs(definition, screen.viewOf(form), screen.contextOf(form))
    const [first] = missing
    if (first === undefined) return true
    for (const name of missing) screen.views.setFault(form, name, screen.text('platform.form.missing'))
    send(...screen.patch(missing, seq), { kind: 'focus', element: first })
    return false
  }

  return (from, frame) => {
    if (from !== outbox.connection || state.isOver) return
    // Only the first frame on a connection may be a hello, and `Clients` handles that one.
    if (frame.kind === 'hello' || lane.waiting() >= MOST_WAITING) {
      from.refuse()
      return
    }
    const { page: ofPage, generation: ofGeneration } = state
    void lane.enqueue(async () => {
      if (state.isOver || ofPage !== state.page) return
      try {
        if (frame.seq > state.handled && ofGeneration === state.generation) await take(from, frame)
      } finally {
        if (ofPage === state.page) state.handled = Math.max(state.handled, frame.seq)
        send({ kind: 'idle', seq: state.handled })
      }
    })
  }
}

function isPress(frame: NumberedFrame): boolean {
  return frame.kind === 'event' && frame.type === 'onAction'
}
