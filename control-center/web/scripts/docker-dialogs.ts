/**
 * A button with `data-dialog` opens the dialog with that id. In the dialog, `role="tab"` buttons switch between panels
 * (ARIA Authoring Practices, "Tabs"). Status messages are shown in the dialog's `.dialog-said`, because the page behind
 * the dialog is inert.
 */
export function takeOverDialogs(): void {
  document.addEventListener('click', (event) => {
    const target = event.target as Element
    const opener = target.closest<HTMLElement>('button[data-dialog]')
    const dialog = document.getElementById(opener?.dataset.dialog ?? '')
    if (dialog instanceof HTMLDialogElement) dialog.showModal()
    const tab = target.closest<HTMLElement>('dialog [role=tab]')
    if (tab !== null) chooseDialogTab(tab)
  })
  document.addEventListener('keydown', (event) => {
    const tab = (event.target as Element).closest<HTMLElement>('dialog [role=tab]')
    if (tab !== null) moveDialogTab(tab, event)
  })
  const said = document.querySelector('#admin-said')
  if (said !== null)
    new MutationObserver(() => sayInDialog(said)).observe(said, { childList: true, characterData: true })
}

function sayInDialog(said: Element): void {
  const place = document.querySelector('dialog[open] .dialog-said')
  if (place !== null) place.textContent = said.textContent
}

function dialogTabs(tab: HTMLElement): HTMLElement[] {
  return [...(tab.closest('[role=tablist]')?.querySelectorAll<HTMLElement>('[role=tab]') ?? [])]
}

function chooseDialogTab(chosen: HTMLElement): void {
  for (const tab of dialogTabs(chosen)) {
    const isChosen = tab === chosen
    tab.setAttribute('aria-selected', String(isChosen))
    tab.tabIndex = isChosen ? 0 : -1
    const panel = document.getElementById(tab.getAttribute('aria-controls') ?? '')
    if (panel !== null) panel.hidden = !isChosen
  }
}

function moveDialogTab(tab: HTMLElement, event: KeyboardEvent): void {
  const tabs = dialogTabs(tab)
  const at = tabs.indexOf(tab)
  const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }
  const place = steps[event.key]
  if (place === undefined) return
  event.preventDefault()
  const next = tabs.at(place % tabs.length)
  if (next === undefined) return
  chooseDialogTab(next)
  next.focus()
}
