const FOCUSABLE = ['input', 'select', 'textarea', 'button', 'a[href]', '[tabindex="0"]']
  .map((one) => `${one}:not(:disabled, [tabindex="-1"])`)
  .join()

/** Focuses an element's control and scrolls it into view. If it is in closed tabs, these are opened as by a click. */
export function focusElement(root: HTMLElement, element: string): void {
  const form = root.querySelector<HTMLElement>('form[data-form]')?.dataset.form ?? ''
  const place = document.getElementById(`e-${form}-${element}`)
  if (place === null || place.hidden) return
  for (const panel of panelsAround(place)) document.getElementById(panel.getAttribute('aria-labelledby') ?? '')?.click()
  const control =
    place.querySelector<HTMLElement>('input[type=radio]:checked:enabled') ?? place.querySelector<HTMLElement>(FOCUSABLE)
  control?.focus({ preventScroll: true })
  // Scroll the element to the centre, because notices cover the edge of the window.
  ;(control ?? place).scrollIntoView({ block: 'center' })
}

/** The closed tab panels around an element, outermost first. */
function panelsAround(place: Element): Element[] {
  const panels: Element[] = []
  let panel = place.parentElement?.closest('[role=tabpanel]') ?? null
  while (panel !== null) {
    if (panel.hasAttribute('hidden')) panels.unshift(panel)
    panel = panel.parentElement?.closest('[role=tabpanel]') ?? null
  }
  return panels
}
