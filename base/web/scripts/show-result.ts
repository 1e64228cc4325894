/**
 * A form with `data-result` does not reload the page. On success, the element with that id replaces the form. In that
 * element:
 * - `data-value` names the property of the response to show, such as `user.name`. With the prefix `form:`, it names a
 *   field of the form.
 * - An element with `data-if` is hidden if the value that it names is empty or false.
 * - In the URL of a link with `data-address`, `{name}` is replaced by the value with that name.
 *
 * An element with `data-gone-with`, such as "No tokens yet", is hidden once the result with that id is shown.
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
  for (const element of document.querySelectorAll<HTMLElement>(`[data-gone-with="${result.id}"]`)) element.hidden = true
  form.hidden = true
  result.hidden = false
  result.tabIndex = -1
  result.focus()
}

function resultValue(form: HTMLFormElement, answer: unknown, name: string): string {
  const field = /^form:(.+)$/.exec(name)?.[1]
  if (field === undefined) return String(valueAt(answer, name) || '')
  const control = form.elements.namedItem(field)
  return control instanceof HTMLInputElement ? control.value : ''
}

function valueAt(answer: unknown, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], answer)
}
