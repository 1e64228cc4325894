let isPressed = false
let waiting: (() => void) | null = null

/** Notices when a pointer is pressed and released anywhere on the page. */
export function watchPresses(): void {
  document.addEventListener('pointerdown', () => {
    isPressed = true
  })
  for (const type of ['pointerup', 'pointercancel']) document.addEventListener(type, () => setTimeout(released))
}

/**
 * Runs `work` now or, while a pointer is pressed, once its click was handled. Pressing a button first reports the change
 * of the input that was left. If that moved the button, the pointer would be released beside it, and nothing would be
 * clicked.
 */
export function afterPress(work: () => void): void {
  if (isPressed) waiting = work
  else work()
}

function released(): void {
  isPressed = false
  const work = waiting
  waiting = null
  work?.()
}
