import type { BrowserEvent } from '../web/frames.ts'
import { checkAgain } from './check-again.ts'
import type { ClientEffects } from './client-effects.ts'
import type { CallEntry } from './client-entries.ts'
import type { ClientState } from './client-state.ts'
import type { UserWork } from './user-work.ts'

/** On a live host: after a new version has opened, shows the user's form in it and replays the user's actions. */
export async function replayWork(
  work: UserWork,
  state: ClientState,
  call: CallEntry,
  { apply, showForm }: ClientEffects,
): Promise<void> {
  const before = work.takeUp()
  if (before === null || state.screen.definitionOf(before.form) === null) return
  if (state.screen.shown !== before.form) await showForm(before.form)
  for (const event of before.events) {
    if (state.isOver || state.sandbox === null || state.screen.shown !== before.form) return
    await doAgain(event)
  }

  /** Runs the handlers of a replayed event. Events that the new version doesn't accept are dropped. */
  async function doAgain(done: BrowserEvent): Promise<void> {
    const { screen } = state
    const { event, checked } = checkAgain(done, screen)
    const { form, element, type, value } = event
    if (checked.kind === 'faulty') {
      const { fault, entered } = checked
      screen.views.setFault(form, element, screen.text(fault.key, fault.values), entered)
    }
    if (checked.kind !== 'accepted') return
    work.note(event)
    const definition = screen.definitionOf(form)
    if (type === 'onElementDataChange' && definition !== null) state.secrets.entered(definition, element, value)
    await apply(await call('forms.event', [{ form, element, type, value }]))
  }
}
