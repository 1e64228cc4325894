/** Writes the values of a group's checked boxes to the group's hidden field. The format is JSON, as the API expects. */
export function takeOverCheckedLists(): void {
  for (const group of document.querySelectorAll<HTMLElement>('[data-checked]')) {
    const field = group.querySelector<HTMLInputElement>('input[type=hidden]')
    if (field === null) continue
    const update = () => {
      const checked = group.querySelectorAll<HTMLInputElement>('input[type=checkbox]:checked')
      field.value = JSON.stringify([...checked].map(({ value }) => value))
    }
    // Update now, because the browser restores the checked boxes when the user navigates back to the page.
    update()
    group.addEventListener('change', update)
  }
}
