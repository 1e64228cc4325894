type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/**
 * The JSON body of a form: one property for each named control. `data-as` sets the type: `text` (the default),
 * `boolean` (a checkbox), `lines` (an array of the non-empty lines) or `json`. An empty control is left out, or is null
 * with `data-empty="null"`. A control with `data-as="choice"` is used only by the page and is not sent.
 * @throws SyntaxError if a `json` control has invalid JSON
 */
export function bodyOf(form: HTMLFormElement): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const control of form.elements) {
    if (isControl(control) && control.name !== '' && !control.disabled) putControl(body, control)
  }
  return body
}

function isControl(element: Element): element is Control {
  return (
    element instanceof HTMLInputElement ||
    element instanceof HTMLSelectElement ||
    element instanceof HTMLTextAreaElement
  )
}

function putControl(body: Record<string, unknown>, control: Control): void {
  const { name, value, dataset } = control
  const as = dataset.as ?? (isCheckbox(control) ? 'boolean' : 'text')
  if (as === 'choice' || (control instanceof HTMLInputElement && control.type === 'radio' && !control.checked)) return
  if (as === 'boolean') body[name] = isCheckbox(control) ? control.checked : value === 'true'
  else if (as === 'lines') body[name] = linesOf(value)
  else if (value !== '') body[name] = as === 'json' ? JSON.parse(value) : value
  else if (dataset.empty === 'null') body[name] = null
}

function isCheckbox(control: Control): control is HTMLInputElement {
  return control instanceof HTMLInputElement && control.type === 'checkbox'
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
