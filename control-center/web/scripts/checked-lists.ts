/** The values of a group's checked boxes, kept as JSON in its hidden field, as the API takes them. */
export function takeOverCheckedLists(): void {
  for (const group of document.querySelectorAll<HTMLElement>('[data-checked]')) {
    const field = group.querySelector<HTMLInputElement>('input[type=hidden]')
    if (field === null) continue
    const tell = () => {
      const checked = group.querySelectorAll<HTMLInputElement>('input[type=checkbox]:checked')
      field.value = JSON.stringify([...checked].map(({ value }) => value))
    }
    // A browser that comes back to the page keeps what was checked.
    tell()
    group.addEventListener('change', tell)
  }
}
