let isPressed = false
let waiting: (() => void) | null = null

/** Tracks whether a pointer is pressed anywhere on the page. */
export function watchPresses(): void {
  document.addEventListener('pointerdown', () => {
    isPressed = true
  })
  for (const type of ['pointerup', 'pointercancel']) document.addEventListener(type, () => setTimeout(released))
}

/**
 * Runs `work` now or, while a pointer is pressed, once its click has been handled. When the user presses a button, the
 * browser first reports a change of the input that loses the focus. If the response moved the button, the pointer would
 * be released beside it, and nothing would be clicked.
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
