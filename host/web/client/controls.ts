export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/**
 * The last value sent for each input, by the input's key; null for an invalid number or date. It is treated as the
 * input's value until the page contains the host's response.
 */
const sentValues = new Map<string, { readonly value: string | null; readonly seq: number }>()

export function isControl(node: unknown): node is Control {
  return node instanceof HTMLInputElement || node instanceof HTMLSelectElement || node instanceof HTMLTextAreaElement
}

/** Whether the control selects table rows. */
export function isOfTable({ dataset }: Control): boolean {
  return dataset.select !== undefined || dataset.selectAll !== undefined
}

export function controlsIn(root: Element): Control[] {
  return [...root.querySelectorAll<Control>('input, select, textarea')]
}

/** The value in the host's format; null if it is empty, or not a valid number or date. */
export function eventValue(control: Control): string | number | boolean | null {
  if (control instanceof HTMLInputElement) {
    if (control.type === 'checkbox') return control.checked
    if (control.type === 'radio') return groupOf(control).find(({ checked }) => checked)?.value ?? null
    if (control.type === 'number') return Number.isFinite(control.valueAsNumber) ? control.valueAsNumber : null
    if (control.type === 'date') return control.value === '' ? null : control.value
  }
  if (control instanceof HTMLSelectElement) return control.value === '' ? null : control.value
  return control.value
}

/** Whether the user has changed an input since its value was sent or received. */
export function isChanged(control: Control): boolean {
  const value = readValue(control)
  const sent = sentValues.get(keyOf(control))
  return value === null || value !== (sent === undefined ? hostValue(control) : sent.value)
}

/** Whether an input still has the value that was last sent, even if that is invalid. */
export function isSent(control: Control): boolean {
  return sentValues.get(keyOf(control))?.value === readValue(control)
}

export function markSent(control: Control, seq: number): void {
  sentValues.set(keyOf(control), { value: readValue(control), seq })
}

/** Whether the user changed an input after event `seq`, the last one in a patch. The input then keeps its value. */
export function isAhead(control: Control, seq: number): boolean {
  return isChanged(control) || (sentValues.get(keyOf(control))?.seq ?? 0) > seq
}

export function markReceived(control: Control): void {
  // The host never sends a password back. While the host has one, the value that this page sent is still the current
  // one.
  if (!control.hasAttribute('data-kept')) sentValues.delete(keyOf(control))
}

/** Call this when another form is shown: forgets the values that were sent from the previous one. */
export function forgetSent(): void {
  sentValues.clear()
}

/** Updates the default value to the host's without changing what the user sees. */
export function takeHostValue(control: Control, from: Element): void {
  if (control instanceof HTMLSelectElement && from instanceof HTMLSelectElement) {
    const { value } = control
    for (const option of control.options) {
      option.defaultSelected = [...from.options].some((one) => one.value === option.value && one.defaultSelected)
    }
    control.value = value
    if (control.selectedIndex === -1) control.value = from.value
    return
  }
  for (const name of ['value', 'checked']) {
    const value = from.getAttribute(name)
    if (value === null) control.removeAttribute(name)
    else if (control.getAttribute(name) !== value) control.setAttribute(name, value)
  }
}

function keyOf(control: Control): string {
  return control.type === 'radio' ? `radio ${control.name}` : control.id
}

function hostValue(control: Control): string {
  if (control instanceof HTMLSelectElement) return [...control.options].find((one) => one.defaultSelected)?.value ?? ''
  if (control instanceof HTMLInputElement && control.type === 'checkbox') return String(control.defaultChecked)
  if (control instanceof HTMLInputElement && control.type === 'radio') {
    return groupOf(control).find((one) => one.defaultChecked)?.id ?? ''
  }
  return control.defaultValue
}

function readValue(control: Control): string | null {
  return control.validity.badInput ? null : liveValue(control)
}

function liveValue(control: Control): string {
  if (control instanceof HTMLInputElement && control.type === 'checkbox') return String(control.checked)
  if (control instanceof HTMLInputElement && control.type === 'radio') {
    return groupOf(control).find((one) => one.checked)?.id ?? ''
  }
  return control.value
}

function groupOf(control: HTMLInputElement): HTMLInputElement[] {
  const all = control.form?.querySelectorAll<HTMLInputElement>(`input[type=radio][name="${CSS.escape(control.name)}"]`)
  return all === undefined ? [control] : [...all]
}
