import { partOf } from './page-data.ts'

/** Asks for the path of a file. @returns null if the user cancels */
export function askPath(title: string, value: string): Promise<string | null> {
  const box = partOf<HTMLDialogElement>('name')
  const input = partOf<HTMLInputElement>('name-path')
  partOf('name-title').textContent = title
  input.value = value
  box.returnValue = 'no'
  box.showModal()
  input.focus()
  input.select()
  return new Promise((resolve) => {
    box.addEventListener('close', () => resolve(box.returnValue === 'yes' ? input.value.trim() : null), { once: true })
  })
}
