import { say } from './said.ts'

/**
 * A button with `data-copy` puts the text of the element of that id (of a field its value) onto the clipboard, and says
 * its `data-copied`.
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
    // Not on http, but on loopback: the text is selected, so that the keys for copying do it.
    if (isField) source.select()
    else getSelection()?.selectAllChildren(source)
  }
}
