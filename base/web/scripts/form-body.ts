type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/**
 * The JSON body that a form stands for: one property for each named control. `data-as` says what the API takes: `text` (the
 * default), `boolean` (that of a checkbox), `lines` (an array, one for each line that is not empty) or `json`. An empty
 * control is left out, or is null with `data-empty="null"`. `data-as="choice"` is for the page alone and not sent.
 * @throws SyntaxError for a control of `json` that holds none
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
  if (as === 'choice') return
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
