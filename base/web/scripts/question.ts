/** Returns a text that scripts show. The page contains these texts in the user's language. */
export function scriptText(name: 'failed' | 'unreachable' | 'restored'): string {
  return dialog().dataset[name] ?? ''
}

/** Asks for confirmation before something that cannot be undone. Pressing Enter does not confirm. */
export function isSure(question: string): Promise<boolean> {
  const box = dialog()
  const text = box.querySelector('#admin-question-text')
  if (text !== null) text.textContent = question
  box.returnValue = 'no'
  box.showModal()
  // A script sets the focus, because browsers warn about `autofocus` if a field already has the focus.
  box.querySelector<HTMLButtonElement>('button[value=no]')?.focus()
  return new Promise((resolve) => {
    box.addEventListener('close', () => resolve(box.returnValue === 'yes'), { once: true })
  })
}

function dialog(): HTMLDialogElement {
  return document.querySelector('#admin-question') as HTMLDialogElement
}
