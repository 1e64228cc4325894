/**
 * A form with `data-result` stays, and when it is done the element of that id takes its place. Inside, `data-value` names
 * the property of the answer, or with `form:` the field of the form, that an element shows; where it is empty, the element
 * with `data-if` of that name goes. In the address of a link with `data-address` `{name}` is such a property.
 */
export function showResults(): void {
  document.addEventListener('api-done', (event) => {
    const form = event.target as HTMLFormElement
    const result = document.getElementById(form.dataset.result ?? '')
    if (result !== null) showResult(form, result, (event as CustomEvent<unknown>).detail)
  })
}

function showResult(form: HTMLFormElement, result: HTMLElement, answer: unknown): void {
  const textOf = (name: string) => resultValue(form, answer, name)
  for (const element of result.querySelectorAll<HTMLElement>('[data-value]')) {
    element.textContent = textOf(element.dataset.value ?? '')
  }
  for (const element of result.querySelectorAll<HTMLElement>('[data-if]')) {
    element.hidden = textOf(element.dataset.if ?? '') === ''
  }
  for (const link of result.querySelectorAll<HTMLAnchorElement>('a[data-address]')) {
    link.href = (link.dataset.address ?? '').replace(/\{(\w+)\}/g, (_all, name) => encodeURIComponent(textOf(name)))
  }
  form.hidden = true
  result.hidden = false
  result.tabIndex = -1
  result.focus()
}

function resultValue(form: HTMLFormElement, answer: unknown, name: string): string {
  const field = /^form:(.+)$/.exec(name)?.[1]
  if (field === undefined) return String((answer as Record<string, unknown> | null)?.[name] ?? '')
  const control = form.elements.namedItem(field)
  return control instanceof HTMLInputElement ? control.value : ''
}
