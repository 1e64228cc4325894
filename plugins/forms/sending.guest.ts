import type { Changes } from './changes.guest.ts'
import { pieceOf } from './checks.guest.ts'
import type { Api, Element, Form, Part, Showing } from './types.guest.ts'
import type { Updates } from './updates.guest.ts'

/** Events that browsers send only if a script listens. */
const ASKED = ['onElementFocusGained', 'onElementFocusLost', 'onAction', 'onResize']

/** Sends the host the changes since the last call. */
export function createSending(api: Api, changes: Changes, { send, sizeOfChanges }: Updates, showing: Showing) {
  const { safe } = api
  const PIECE = pieceOf(api)
  let sentForms = api.list<Form>()
  /** `known` is the state that the host has. `sent` is the state that the last call sent. */
  const known = { shown: null as string | null, listening: '' }
  const sent = { shown: null as string | null, listening: '' }

  function partsOf({ own, usedElements: elements }: Form): Part[] {
    const parts = api.list<Part>()
    parts[0] = own
    for (let index = 0; index < elements.length; index++) parts[index + 1] = elements[index] as Element
    return parts
  }

  /**
   * Call this once it is known whether the last call succeeded. If it did, the host has applied the changes that it
   * sent. Otherwise, they must be sent again.
   */
  function settle(didCount: boolean): void {
    const forms = sentForms
    sentForms = api.list()
    for (let index = 0; index < forms.length; index++) {
      const form = forms[index] as Form
      if (!didCount) changes.note(form)
      const parts = partsOf(form)
      for (let place = 0; place < parts.length; place++) {
        const part = parts[place] as Part
        if (!didCount && part.sent !== null) restoreChanges(part, part.sent)
        part.sent = null
      }
    }
    if (!didCount) return
    known.shown = sent.shown
    known.listening = sent.listening
  }

  function restoreChanges(part: Part, before: Record<string, unknown>): void {
    part.changed ??= api.record()
    const names = safe.keys(before)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      ;(part.changed as Record<string, unknown>)[name] = before[name]
    }
  }

  /**
   * Sends all changes. A change that is too large is reverted to the host's state.
   * @throws the error for the last change that was too large
   */
  function flush(): void {
    let fault: unknown = null
    const forms = changes.forms()
    for (let index = 0; index < forms.length; index++) fault = flushSmall(forms[index] as Form) ?? fault
    for (let index = 0; index < forms.length; index++) fault = flushLarge(forms[index] as Form) ?? fault
    if (showing.current !== known.shown) api.command('show', [showing.current])
    const listening = listenedTypes()
    if (listening.text !== known.listening) api.command('listening', [listening.types])
    if (fault !== null) throw fault
    // Set this first, so that `settle` finds all forms even if the call is terminated here.
    sentForms = forms
    changes.forget()
    sent.shown = showing.current
    sent.listening = listening.text
    for (let index = 0; index < forms.length; index++) rememberSent(forms[index] as Form)
  }

  function rememberSent(form: Form): void {
    const parts = partsOf(form)
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Part
      part.sent = part.changed
      part.changed = null
    }
  }

  /** Sends small elements together in one command. @returns an error, or null */
  function flushSmall(form: Form): unknown {
    const parts = partsOf(form)
    let fault: unknown = null
    let pack = api.list<Part>()
    let size = 0
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Part
      const own = part.changed === null ? 0 : sizeOfChanges(part)
      if (own === 0 || own > PIECE) continue
      if (size + own > PIECE) {
        fault = send(form, pack) ?? fault
        pack = api.list()
        size = 0
      }
      pack[pack.length] = part
      size += own
    }
    return (pack.length === 0 ? null : send(form, pack)) ?? fault
  }

  function flushLarge(form: Form): unknown {
    const parts = partsOf(form)
    let fault: unknown = null
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Part
      if (part.changed === null || sizeOfChanges(part) <= PIECE) continue
      const pack = api.list<Part>()
      pack[0] = part
      fault = send(form, pack) ?? fault
    }
    return fault
  }

  function listenedTypes(): { types: string[]; text: string } {
    const hasListeners = api.offered('hasListeners')
    const types = api.list<string>()
    let text = ''
    for (let index = 0; index < ASKED.length; index++) {
      const type = ASKED[index] as string
      if (hasListeners?.(type) !== true) continue
      types[types.length] = type
      text += `${type} `
    }
    return { types, text }
  }

  return { flush, settle }
}
