import { say } from './said.ts'

/**
 * A button with `data-copy` copies the text of the element with that id to the clipboard. For a form field, it copies
 * the value. Screen readers then announce the text of `data-copied`.
 */
export function takeOverCopying(): void {
  document.addEventListener('click', (event) => {
    const button = (event.target as Element).closest<HTMLElement>('button[data-copy]')
    const source = document.getElementById(button?.dataset.copy ?? '')
    if (button !== null && source !== null) void copyText(source, button.dataset.copied ?? '')
  })
}

async function copyText(source: HTMLElement, done: string): Promise<void> {
  const isField = source instanceof HTMLInputElement || source instanceof HTMLTextAreaElement
  const text = isField ? source.value : (source.textContent ?? '').trim()
  try {
    await navigator.clipboard.writeText(text)
    say(done)
  } catch {
    // Browsers reject this over http, except on loopback. Then select the text, so that the user can copy it with the
    // keyboard.
    if (isField) source.select()
    else getSelection()?.selectAllChildren(source)
  }
}
