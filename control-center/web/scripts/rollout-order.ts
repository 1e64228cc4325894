import { say } from '../../../base/web/scripts/said.ts'

/** Replaces the position fields of a rollout's environments with buttons that move an environment up or down. */
export function takeOverRolloutOrder(): void {
  for (const list of document.querySelectorAll<HTMLElement>('[data-order]')) {
    for (const item of list.children) addMoveButtons(list, item as HTMLElement)
    list.classList.add('targets-moved')
    numberTargets(list)
  }
}

function addMoveButtons(list: HTMLElement, item: HTMLElement): void {
  const place = item.querySelector<HTMLElement>('[data-position]')
  if (place === null) return
  place.hidden = true
  const buttons = document.createElement('div')
  buttons.className = 'row-actions'
  buttons.append(moveButton(list, item, 'up'), moveButton(list, item, 'down'))
  item.append(buttons)
}

function moveButton(list: HTMLElement, item: HTMLElement, direction: 'up' | 'down'): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'button button-quiet'
  button.textContent = direction === 'up' ? '↑' : '↓'
  button.dataset.move = direction
  button.setAttribute('aria-label', (list.dataset[direction] ?? '').replace('{0}', nameOfTarget(item)))
  button.addEventListener('click', () => moveTarget(list, item, button))
  return button
}

function moveTarget(list: HTMLElement, item: HTMLElement, button: HTMLButtonElement): void {
  if (button.dataset.move === 'up') item.previousElementSibling?.before(item)
  else item.nextElementSibling?.after(item)
  numberTargets(list)
  const others = item.querySelectorAll<HTMLButtonElement>('button:enabled')
  // Restore the focus, because a moved element loses it. If the button is now disabled, focus another button of this
  // environment.
  const next = button.disabled ? others[0] : button
  next?.focus()
  const position = [...list.children].indexOf(item) + 1
  const text = list.dataset.moved ?? ''
  say(
    text
      .replace('{0}', nameOfTarget(item))
      .replace('{1}', String(position))
      .replace('{2}', String(list.children.length)),
  )
}

/** Writes the order to the hidden fields, which the form sends. */
function numberTargets(list: HTMLElement): void {
  const items = [...list.children]
  for (const [index, item] of items.entries()) {
    const field = item.querySelector<HTMLInputElement>('[data-position] input')
    if (field !== null) field.value = String(index + 1)
    for (const button of item.querySelectorAll<HTMLButtonElement>('[data-move]')) {
      button.disabled = button.dataset.move === 'up' ? index === 0 : index === items.length - 1
    }
  }
}

function nameOfTarget(item: HTMLElement): string {
  return item.querySelector<HTMLInputElement>('input[type=checkbox]')?.value ?? ''
}
