/** The tab that the user has opened last in each element, until the host has confirmed it. */
const opened = new Map<string, { readonly tab: string; readonly seq: number }>()

/** Opens a tab in the page or in a patch's document. */
export function openTab(tab: HTMLElement): void {
  const list = tab.closest('[role=tablist]')
  for (const one of list?.querySelectorAll<HTMLElement>('[role=tab]') ?? []) {
    const isOpen = one === tab
    one.setAttribute('aria-selected', String(isOpen))
    one.tabIndex = isOpen ? 0 : -1
    const panel = tab.ownerDocument.getElementById(one.getAttribute('aria-controls') ?? '')
    if (panel !== null) panel.hidden = !isOpen
  }
}

export function markOpened(tab: HTMLElement, seq: number): void {
  opened.set(tab.dataset.element ?? '', { tab: tab.id, seq })
}

/**
 * Opens the tabs that the user opened after event `seq`, in a patch that is not applied yet. If the page closed them
 * even briefly, a focused control in them would lose the focus.
 */
export function keepOpened(patch: Document, seq: number): void {
  for (const [element, { tab, seq: openedBy }] of opened) {
    if (openedBy <= seq) opened.delete(element)
    const found = patch.getElementById(tab)
    if (openedBy > seq && found !== null) openTab(found)
  }
}

/** Call this when another form is shown: forgets the tabs that were opened in the previous one. */
export function forgetOpened(): void {
  opened.clear()
}

/** Returns the tab that gets the focus if the user presses `key` in `tab`; null if no tab does. */
export function tabByKey(tab: HTMLElement, key: string): HTMLElement | null {
  const tabs = [...(tab.closest('[role=tablist]')?.querySelectorAll<HTMLElement>('[role=tab]') ?? [])]
  const isRightToLeft = getComputedStyle(tab).direction === 'rtl'
  const steps = { ArrowRight: isRightToLeft ? -1 : 1, ArrowLeft: isRightToLeft ? 1 : -1 }
  if (key === 'Home') return tabs[0] ?? null
  if (key === 'End') return tabs.at(-1) ?? null
  if (key !== 'ArrowRight' && key !== 'ArrowLeft') return null
  return tabs[(tabs.indexOf(tab) + steps[key] + tabs.length) % tabs.length] ?? null
}
