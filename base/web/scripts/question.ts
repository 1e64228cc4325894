/** The texts of the page's script, which stand in the page in the reader's language. */
export function scriptText(name: 'failed' | 'unreachable'): string {
  return dialog().dataset[name] ?? ''
}

/** Asks before something is done that cannot be undone. Enter alone does not do it. */
export function isSure(question: string): Promise<boolean> {
  const box = dialog()
  const text = box.querySelector('#admin-question-text')
  if (text !== null) text.textContent = question
  box.returnValue = 'no'
  box.showModal()
  // By hand: browsers complain of `autofocus` where the reader is already in a field while the page loads.
  box.querySelector<HTMLButtonElement>('button[value=no]')?.focus()
  return new Promise((resolve) => {
    box.addEventListener('close', () => resolve(box.returnValue === 'yes'), { once: true })
  })
}

function dialog(): HTMLDialogElement {
  return document.querySelector('#admin-question') as HTMLDialogElement
}
