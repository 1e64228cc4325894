import { type Effects, noEffects } from '../../base/bundles/host-call.ts'
import type { Press } from '../../plugins/security/host.ts'
import type { ElementDefinition, FormDefinition } from '../../runtime/forms/form-definition.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { BrowserEvent, BrowserFrame, ClosedWhy, NumberedFrame } from '../web/frames.ts'
import { blockingInputs } from './blocking-inputs.ts'
import { checkEvent } from './check-event.ts'
import { createClientConfirming } from './client-confirming.ts'
import type { ClientEffects } from './client-effects.ts'
import type { CallEntry } from './client-entries.ts'
import type { ClientNotices } from './client-notices.ts'
import type { ClientState } from './client-state.ts'
import type { Connection } from './connection.ts'
import { isPermitted, type Place } from './render/outline.ts'
import { tryOf } from './visitor.ts'

/** Frames that concern a form. */
type FormFrame = Exclude<NumberedFrame, { kind: 'confirmed' | 'unconfirmed' }>

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
  const confirming = createClientConfirming(state)
  /** The page load that sent the frame that is being handled. */
  let sender = ''

  /** After a reload, numbers start at 1 again, so a frame of the previous page load must not raise the number. */
  function noteHandled(seq: number): void {
    if (sender === state.page) state.handled = Math.max(state.handled, seq)
  }

  async function take(from: Connection, frame: NumberedFrame): Promise<void> {
    if (!(await isStillSignedIn(state, end))) return
    // If the version failed to open, keep the event for the next version.
    if (work !== null && !state.isOpen && frame.kind === 'event') work.note(frame)
    if (state.isLost && isPress(frame)) sayUndone()
    if (state.sandbox === null || !state.isOpen) return
    if (frame.kind === 'confirmed') return repeatPress(from, frame.seq, frame.proof)
    if (frame.kind === 'unconfirmed') return confirming.refused()
    // A form that was shown earlier may still send events, so ignore them. A frame that names a form that was never
    // shown is forged.
    if (frame.form === state.screen.shown) await react(from, frame)
    else if (!state.screen.hasShown(frame.form)) from.refuse()
  }

  /** Checks the press again before it is repeated, because the form may have changed while the user was being asked. */
  async function repeatPress(from: Connection, seq: number, proof: string): Promise<void> {
    const event = confirming.accept(proof)
    if (event === null) return from.refuse()
    if (event.form !== state.screen.shown) return confirming.sayStale()
    const { screen } = state
    const definition = screen.definitionOf(event.form)
    if (definition === null) return confirming.sayStale()
    const checked = checkEvent(event, definition, screen.viewOf(event.form), screen.contextOf(event.form))
    if (checked.kind !== 'accepted') return confirming.sayStale()
    await press({ ...event, seq }, checked.place, definition, true)
  }

  async function react(from: Connection, frame: FormFrame): Promise<void> {
    const { screen } = state
    const definition = screen.definitionOf(frame.form)
    if (definition === null) return
    if (!isPermitted(definition, screen.contextOf(frame.form))) return from.refuse()
    if (frame.kind === 'resize')
      return void (await fire(frame.seq, { form: frame.form, element: '', type: 'onResize', value: null }))
    if (frame.kind === 'leave') return leave(frame.seq)
    const checked = checkEvent(frame, definition, screen.viewOf(frame.form), screen.contextOf(frame.form))
    if (checked.kind === 'forged') return from.refuse()
    if (checked.kind === 'stale') return
    if (checked.kind === 'faulty') {
      const { fault, entered } = checked
      const text = screen.text(fault.key, fault.values)
      const set = () => screen.views.setFault(frame.form, frame.element, text, entered)
      return send(...screen.changeFaults([frame.element], frame.seq, set))
    }
    if (frame.type === 'onElementDataChange' && screen.views.hasFault(frame.form, frame.element)) {
      const clear = () => screen.views.clearFault(frame.form, frame.element)
      send(...screen.changeFaults([frame.element], frame.seq, clear))
    }
    if (frame.type === 'onAction') return press(frame, checked.place, definition, false)
    if (frame.type === 'onElementDataChange') secrets.entered(definition, frame.element, frame.value)
    work?.note(frame)
    const { form, element, type, value } = frame
    await fire(frame.seq, { form, element, type, value })
  }

  /** @param isConfirmed whether this is a repeated press that the user has just confirmed */
  async function press(frame: BrowserEvent, { element }: Place, definition: FormDefinition, isConfirmed: boolean) {
    if (!mayPress(state, frame, element, definition)) return
    const { form, type, value } = frame
    const pressed = await confirming.pressOf(isConfirmed)
    const reason = element.type === 'button' ? element.confirm : undefined
    if (reason !== undefined && !pressed.isConfirmed && !pressed.isConfirmedNow) {
      return confirming.ask(frame, { reason, every: false })
    }
    const event = { form, element: frame.element, type, value, ...faultsOf(state, frame, definition) }
    const { confirm, showUrl } = await fire(frame.seq, event, pressed)
    if (confirm === undefined || state.isOver || showUrl !== null) return
    if (state.screen.shown === form) return confirming.ask(frame, confirm)
    const message =
      'security.confirm had no effect, because the same event handler also showed another form. Call security.confirm first, and show the form only after the user has confirmed'
    parts.log.write(state.solution.name, { level: 'warn', message })
  }

  /** Shows the requested form after the user has agreed to discard the unsaved input in this one. */
  async function leave(seq: number): Promise<void> {
    const { leaving } = state
    if (leaving === null) return
    state.leaving = null
    const result = await call('forms.leave', [leaving])
    noteHandled(seq)
    await apply(result)
  }

  /** Calls an event's handlers and applies their effects. @returns the effects of the call */
  async function fire(seq: number, event: Record<string, Json>, pressed: Press | null = null): Promise<Effects> {
    const isCounted = state.visitor.isLoginForm && event.type === 'onAction'
    if (isCounted && !(await mayTry(state))) return noEffects()
    const result = await call('forms.event', [event], isCounted ? 'login' : 'open', pressed)
    noteHandled(seq)
    if (result.failure?.code === 'client_gone' && event.type === 'onAction') sayUndone(result.failure.changedSomething)
    await apply(result, isCounted)
    return result.effects
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
      sender = ofPage
      try {
        if (frame.seq > state.handled && ofGeneration === state.generation) await take(from, frame)
      } finally {
        noteHandled(frame.seq)
        send({ kind: 'idle', seq: state.handled })
      }
    })
  }
}

async function isStillSignedIn(state: ClientState, end: (why: ClosedWhy) => Promise<void>): Promise<boolean> {
  const { found } = state.visitor
  if (found === null) return true
  const session = await state.parts.sessions.find(state.solution.name, found.cookie)
  if (session === null) {
    void end('signed-out')
    return false
  }
  // The user may have confirmed their identity, which changes the session's methods and the time of the last
  // confirmation.
  state.visitor = { ...state.visitor, found: { ...found, session } }
  return true
}

function isPress(frame: NumberedFrame): boolean {
  return frame.kind === 'event' && frame.type === 'onAction'
}

/**
 * Counts a button press in a login form as a sign-in attempt. The account is known only after the script has run.
 * @returns false if the attempt is throttled
 */
async function mayTry({ parts, visitor, screen, outbox }: ClientState): Promise<boolean> {
  const wait = await parts.throttle.count(tryOf(visitor), true)
  if (wait === null) return true
  outbox.send({ kind: 'message', text: screen.text('platform.login.throttled'), level: 'error' })
  return false
}

/** What the guest must know about the form's invalid inputs when the user presses something. */
function faultsOf({ screen: { views } }: ClientState, { form, element }: BrowserEvent, { saves }: FormDefinition) {
  return {
    ...(element === saves && views.hasFaults(form) ? { hasFaults: true } : {}),
    ...(views.hasInvalid(form) ? { isInvalid: true } : {}),
  }
}

/**
 * A primary button submits the form, so required inputs must be filled in, and no input may show an invalid value. The
 * same applies to the button that saves. Other buttons don't check this.
 */
function mayPress(
  { screen, outbox }: ClientState,
  { form, seq }: BrowserEvent,
  element: ElementDefinition,
  definition: FormDefinition,
): boolean {
  if (element.type !== 'button' || (element.kind !== 'primary' && element.name !== definition.saves)) return true
  const blocking = blockingInputs(definition, screen.viewOf(form), screen.contextOf(form), {
    needsRequired: element.kind === 'primary',
    isInvalid: (name) => screen.views.isInvalid(form, name),
  })
  const [first] = blocking
  if (first === undefined) return true
  // An input may be empty because a handler has just rejected what the user entered. Its error says more than that the
  // input is empty.
  const { elements } = screen.viewOf(form)
  const missing = blocking
    .filter(({ name, isInvalid }) => !isInvalid && !elements.get(name)?.error)
    .map(({ name }) => name)
  for (const name of missing) screen.views.setFault(form, name, screen.text('platform.form.missing'))
  outbox.send(...screen.patch(missing, seq), { kind: 'focus', element: first.name })
  return false
}
