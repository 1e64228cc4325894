import { type Control, controlsIn, eventValue, isChanged, isControl, isOfTable, isSent, markSent } from './controls.ts'
import type { Exchange, NewFrame } from './exchange.ts'
import { showGrouped } from './grouped-inputs.ts'
import { clearConnection, clearOldMessages, pageText, showMessage } from './notices.ts'
import { isBeingPatched, rest } from './patch.ts'
import { afterPress, watchPresses } from './press.ts'
import { markOpened, openTab, tabByKey } from './tabs.ts'

type EventFrame = Extract<NewFrame, { kind: 'event' }>
type EventType = EventFrame['type']

/** Sends user actions in the form as events. All listeners are on `root`, because elements are replaced. */
export function listenToUser(root: HTMLElement, exchange: Exchange): void {
  watchPresses()
  root.addEventListener('submit', (event) => event.preventDefault())
  root.addEventListener('change', ({ target }) => isControl(target) && !isBeingTyped(target) && changed(target))
  root.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest<HTMLButtonElement>('button') : null
    if (button !== null && !button.disabled) pressed(button)
  })
  root.addEventListener('dblclick', ({ target }) => {
    const row =
      target instanceof Element && target.closest('button, input, label') === null ? target.closest('tr') : null
    row?.querySelector<HTMLButtonElement>('button[data-open]')?.click()
  })
  root.addEventListener('keydown', (event) => {
    const { target, key, altKey, ctrlKey, metaKey } = event
    if (!(target instanceof HTMLElement) || altKey || ctrlKey || metaKey) return
    if (key === 'Enter' && target instanceof HTMLInputElement && !event.isComposing) return entered(event, target)
    const next = target.role === 'tab' ? tabByKey(target, key) : null
    if (next === null) return
    event.preventDefault()
    next.focus()
    next.click()
  })
  root.addEventListener('focusin', ({ target, relatedTarget }) =>
    focusMoved('onElementFocusGained', target, relatedTarget),
  )
  root.addEventListener('focusout', ({ target, relatedTarget }) => {
    if (target instanceof HTMLButtonElement && !isBeingPatched()) rest(target)
    if (isControl(target)) {
      showGrouped(target)
      left(target)
    }
    focusMoved('onElementFocusLost', target, relatedTarget)
  })

  /** Presses the first visible primary button. The browser's default behaviour could also press one in a closed tab. */
  function entered(event: KeyboardEvent, input: HTMLInputElement): void {
    event.preventDefault()
    if (event.repeat || isOfTable(input)) return
    const buttons = [...root.querySelectorAll<HTMLButtonElement>('button[type=submit]')]
    const primary = buttons.find((button) => button.checkVisibility())
    if (primary === undefined) changed(input)
    else primary.click()
  }

  function changed(control: Control): void {
    if (isOff()) return
    afterPress(clearConnection)
    if (control.dataset.selectAll !== undefined) selectAll(control)
    else if (control.dataset.select !== undefined) selectRow(control)
    else sendChange(control)
  }

  /**
   * Sends the value of an input that has lost the focus, unless it was already sent. Browsers don't fire a change event
   * for every change, for example after Enter.
   */
  function left(control: Control): void {
    // Ignore this if only the window lost the focus.
    if (isOff() || control === document.activeElement) return
    if (!isOfTable(control) && !isSent(control)) sendChange(control)
  }

  function sendChange(control: Control): void {
    if (control.dataset.element === undefined || !isChanged(control)) return
    sayUnreadable(control)
    const more = control.validity.badInput ? ({ isUnreadable: true } as const) : {}
    markSent(control, send('onElementDataChange', control, eventValue(control), more))
  }

  function selectRow(control: Control): void {
    const row = rowOf(control)
    if (row === null || !(control instanceof HTMLInputElement)) return
    markSent(control, send('onRecordSelection', control, { rows: [row], selected: control.checked }))
  }

  function selectAll(all: Control): void {
    if (!(all instanceof HTMLInputElement)) return
    const boxes = [...(all.closest('table')?.querySelectorAll<HTMLInputElement>('input[data-select]') ?? [])]
    const rows = boxes.map(rowOf).filter((row) => row !== null)
    if (rows.length === 0) return
    const seq = send('onRecordSelection', all, { rows, selected: all.checked })
    for (const box of boxes) {
      box.checked = all.checked
      markSent(box, seq)
    }
    markSent(all, seq)
  }

  function pressed(button: HTMLButtonElement): void {
    const { press, open, sort, direction, page, tab } = button.dataset
    clearConnection()
    if (button.getAttribute('aria-disabled') === 'true') return
    if (tab !== undefined) {
      if (button.getAttribute('aria-selected') === 'true') return
      openTab(button)
      markOpened(button, send('showTab', button, tab))
      return
    }
    if (press === undefined && open === undefined && sort === undefined && page === undefined) return
    // Password managers may fill inputs without firing an event.
    for (const control of controlsIn(root)) if (!isOfTable(control)) sendChange(control)
    // While offline, reject presses, because they would run later without the user watching. Input is still sent later.
    if (!exchange.isOnline) {
      showMessage(pageText('notnow'), 'warning')
      return
    }
    clearOldMessages()
    if (press !== undefined) send('onAction', button, null)
    else if (open !== undefined) send('onAction', button, rowOf(button))
    else if (page !== undefined) send('showPage', button, Number(page))
    else if (sort !== undefined && (direction === 'ascending' || direction === 'descending')) {
      send('onSort', button, { column: sort, direction })
    }
  }

  function focusMoved(type: 'onElementFocusGained' | 'onElementFocusLost', target: unknown, other: unknown): void {
    if (isOff() || !(target instanceof HTMLElement)) return
    if (!(target.dataset.events ?? '').split(' ').includes(type)) return
    // The options of a radio group are one element, so the focus has not left it.
    if (other instanceof HTMLElement && other.dataset.element === target.dataset.element) return
    send(type, target, null)
  }

  /** True while the form is being patched or is disabled. Its events are then caused by the page, not by the user. */
  function isOff(): boolean {
    return isBeingPatched() || root.inert
  }

  function send<Type extends EventType>(
    type: Type,
    from: HTMLElement,
    value: Extract<EventFrame, { type: Type }>['value'],
    more: Pick<Extract<EventFrame, { type: 'onElementDataChange' }>, 'isUnreadable'> = {},
  ): number {
    const form = from.closest<HTMLElement>('form[data-form]')?.dataset.form ?? ''
    const element = from.dataset.element ?? ''
    return exchange.send({ kind: 'event', form, element, type, value, ...more } as EventFrame)
  }
}

/**
 * Whether the user is typing a date. Browsers fire a change event at each digit that makes the date valid, such as the
 * first digit of the year. So the date is sent only on blur, on Enter, or when a button is pressed.
 */
function isBeingTyped(control: Control): boolean {
  return control.type === 'date' && control === document.activeElement
}

/** After a patch, restores the error of an input that has an invalid number or date. */
export function sayUnreadable(control: Control): void {
  const { badInput } = control.validity
  const error = document.getElementById(control.id.replace(/\.input$/, '.error'))
  if (!badInput || error === null) return
  control.setAttribute('aria-invalid', 'true')
  const described = control.getAttribute('aria-describedby')?.split(' ') ?? []
  control.setAttribute('aria-describedby', [...new Set([...described, error.id])].join(' '))
  error.textContent = pageText(control.type === 'date' ? 'baddate' : 'badnumber')
}

function rowOf(within: Element): string | number | null {
  const row = within.closest<HTMLElement>('tr')?.dataset.row
  return row === undefined ? null : (JSON.parse(row) as string | number)
}
