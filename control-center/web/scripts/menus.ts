/**
 * Menu buttons (ARIA Authoring Practices, "Menu Button"). A button with `aria-haspopup="menu"` opens the menu that it
 * controls. Users open it with a click, Enter, Space or an arrow key, or by right-clicking the row. In the menu, arrow
 * keys, Home, End and first letters move the focus; Escape and Tab close the menu.
 */
export function takeOverMenus(): void {
  document.addEventListener('click', (event) => {
    const target = event.target as Element
    const button = target.closest<HTMLElement>('button[aria-haspopup=menu]')
    const open = openMenu()
    if (open !== null && (button === null || menuOf(button) === open || !open.contains(target))) {
      closeMenu(open, open.contains(target))
    }
    if (button !== null && menuOf(button) !== open) showMenu(button, 0)
  })
  document.addEventListener('keydown', (event) => {
    const target = event.target as Element
    const button = target.closest<HTMLElement>('button[aria-haspopup=menu]')
    const menu = target.closest<HTMLElement>('[role=menu]')
    if (button !== null && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault()
      showMenu(button, event.key === 'ArrowDown' ? 0 : -1)
    } else if (menu !== null) moveInMenu(menu, event)
  })
  document.addEventListener('contextmenu', openByRightClick)
  // Keeps the menu next to its button. A menu that was opened at the pointer is moved to the button.
  for (const name of ['scroll', 'resize']) {
    window.addEventListener(
      name,
      () => {
        pointer = null
        placeOpenMenu()
      },
      { passive: true },
    )
  }
}

/** The position of the right click that opened the menu; null if the menu is next to its button. */
let pointer: { readonly x: number; readonly y: number } | null = null

/**
 * Opens the row's menu, except on a link or with Shift: then the browser shows its own menu. The context menu key sends
 * no pointer position.
 */
function openByRightClick(event: MouseEvent): void {
  const target = event.target as Element
  const button = target.closest('tr')?.querySelector<HTMLElement>('button[aria-haspopup=menu]') ?? null
  if (button === null || event.shiftKey || target.closest('a, [role=menu]') !== null) return
  event.preventDefault()
  showMenu(button, 0, event.button === 2 ? { x: event.clientX, y: event.clientY } : null)
}

function openMenu(): HTMLElement | null {
  return document.querySelector<HTMLElement>('[role=menu]:popover-open')
}

function menuOf(button: HTMLElement): HTMLElement | null {
  return document.getElementById(button.getAttribute('aria-controls') ?? '')
}

function menuItems(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role=menuitem]')]
}

/** @param place index of the item to focus; -1 for the last */
function showMenu(button: HTMLElement, place: number, at: typeof pointer = null): void {
  const menu = menuOf(button)
  if (menu === null) return
  closeMenu(openMenu(), false)
  pointer = at
  menu.showPopover()
  button.setAttribute('aria-expanded', 'true')
  placeOpenMenu()
  menuItems(menu).at(place)?.focus({ preventScroll: true })
}

function buttonOf(menu: HTMLElement): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[aria-controls="${CSS.escape(menu.id)}"]`)
}

function placeOpenMenu(): void {
  const menu = openMenu()
  const at = menu === null ? undefined : buttonOf(menu)?.getBoundingClientRect()
  if (menu === null || at === undefined) return
  const size = menu.getBoundingClientRect()
  const { left, top, bottom } =
    pointer === null
      ? { left: at.right - size.width, top: at.top - 4, bottom: at.bottom + 4 }
      : { left: pointer.x, top: pointer.y, bottom: pointer.y }
  const isBelow = bottom + size.height + 4 <= innerHeight
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - size.width - 8))}px`
  menu.style.top = `${isBelow ? bottom : Math.max(8, top - size.height)}px`
}

function closeMenu(menu: HTMLElement | null, returnsFocus: boolean): void {
  if (menu === null) return
  const button = buttonOf(menu)
  menu.hidePopover()
  button?.setAttribute('aria-expanded', 'false')
  if (returnsFocus) button?.focus()
}

function moveInMenu(menu: HTMLElement, event: KeyboardEvent): void {
  const items = menuItems(menu)
  const at = items.indexOf(document.activeElement as HTMLElement)
  const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }
  const place = steps[event.key]
  if (event.key === 'Escape') closeMenu(menu, true)
  else if (event.key === 'Tab') closeMenu(menu, true)
  else if (place !== undefined) items.at(place % items.length)?.focus()
  else if (event.key.length === 1 && event.key !== ' ') focusByLetter(items, at, event.key)
  if (event.key === 'Escape' || place !== undefined) event.preventDefault()
}

function focusByLetter(items: readonly HTMLElement[], at: number, letter: string): void {
  const later = [...items.slice(at + 1), ...items.slice(0, at + 1)]
  const starts = (item: HTMLElement) => (item.textContent ?? '').trim().toLowerCase().startsWith(letter.toLowerCase())
  later.find(starts)?.focus()
}
