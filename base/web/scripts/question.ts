/** The texts for scripts, which the page contains in the reader's language. */
export function scriptText(name: 'failed' | 'unreachable'): string {
  return dialog().dataset[name] ?? ''
}

/** Asks for confirmation before something that cannot be undone. Pressing Enter does not confirm. */
export function isSure(question: string): Promise<boolean> {
  const box = dialog()
  const text = box.querySelector('#admin-question-text')
  if (text !== null) text.textContent = question
  box.returnValue = 'no'
  box.showModal()
  // Focused by script: browsers warn about `autofocus` if a field already has the focus.
  box.querySelector<HTMLButtonElement>('button[value=no]')?.focus()
  return new Promise((resolve) => {
    box.addEventListener('close', () => resolve(box.returnValue === 'yes'), { once: true })
  })
}

function dialog(): HTMLDialogElement {
  return document.querySelector('#admin-question') as HTMLDialogElement
}
