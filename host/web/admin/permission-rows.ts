/**
 * The editable rows with a user's permissions. They are stored as JSON in the hidden field `permissions`, in the API's
 * format.
 */
export function takeOverPermissions(): void {
  for (const group of document.querySelectorAll<HTMLElement>('[data-permissions]')) takeOverPermissionGroup(group)
}

export function takeOverPermissionGroup(group: HTMLElement): void {
  const field = group.querySelector<HTMLInputElement>('input[type=hidden]')
  const rows = group.querySelector<HTMLElement>('[data-rows]')
  const empty = group.querySelector<HTMLTemplateElement>('template')
  const add = group.querySelector<HTMLButtonElement>('[data-add]')
  if (field === null || rows === null || empty === null || add === null) return
  const tell = () => {
    field.value = JSON.stringify([...rows.children].flatMap(permissionOfRow))
  }
  tell()
  group.addEventListener('input', tell)
  add.addEventListener('click', () => {
    rows.append(empty.content.cloneNode(true))
    rows.lastElementChild?.querySelector('input')?.focus()
  })
  rows.addEventListener('click', (event) => {
    const button = (event.target as Element).closest('[data-remove]')
    if (button === null) return
    button.closest('li')?.remove()
    tell()
    add.focus()
  })
}

/** Returns the permission entered in a row as a list. The list is empty if the row has no name. */
function permissionOfRow(row: Element): (string | { name: string; solution: string })[] {
  const name = row.querySelector('input')?.value.trim() ?? ''
  const solution = row.querySelector('select')?.value ?? ''
  if (name === '') return []
  return [solution === '' ? name : { name, solution }]
}
