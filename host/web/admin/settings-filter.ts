/**
 * Filters the settings while the user types. If scripts are disabled, the server filters them by the same rules
 * (host/settings/pages.ts). The script also updates the URL, so that reloading or sharing the page keeps the filter.
 */
export function takeOverSettingsFilter(): void {
  const form = document.querySelector<HTMLFormElement>('#settings-filter')
  const search = form?.querySelector<HTMLInputElement>('#search')
  const setOnly = form?.querySelector<HTMLInputElement>('#set')
  if (!(form && search && setOnly)) return
  for (const button of form.querySelectorAll('button')) button.hidden = true
  const filter = () => filterSettings(search.value.toLowerCase(), setOnly.checked)
  form.addEventListener('input', () => {
    filter()
    keepInAddress(search.value, setOnly.checked)
  })
  form.addEventListener('submit', (event) => event.preventDefault())
  // The browser may restore the fields when the user navigates back to the page, so filter again.
  addEventListener('pageshow', filter)
}

function filterSettings(search: string, isSetOnly: boolean): void {
  let count = 0
  for (const group of document.querySelectorAll<HTMLElement>('.settings-group')) {
    let countInGroup = 0
    for (const row of group.querySelectorAll<HTMLElement>('tbody tr')) {
      row.hidden = (isSetOnly && row.dataset.default !== undefined) || !hasText(row, search)
      if (!row.hidden) countInGroup++
    }
    group.hidden = countInGroup === 0
    const link = document.querySelector(`#settings-groups a[href="#${group.querySelector('h2')?.id}"]`)
    if (link?.parentElement) link.parentElement.hidden = group.hidden
    count += countInGroup
  }
  const place = document.querySelector<HTMLElement>('#settings-count')
  // Live regions announce every change, even if the text stays the same.
  const said = place?.dataset.text?.replace('{0}', String(count)) ?? ''
  if (place && place.textContent !== said) place.textContent = said
  for (const [id, isHidden] of [
    ['settings-groups', count === 0],
    ['settings-none', count > 0],
  ] as const) {
    const element = document.getElementById(id)
    if (element !== null) element.hidden = isHidden
  }
}

function hasText(row: HTMLElement, search: string): boolean {
  const texts = [...row.querySelectorAll('[data-searched]')].map(({ textContent }) => textContent)
  return texts.some((text) => text.toLowerCase().includes(search))
}

function keepInAddress(search: string, isSetOnly: boolean): void {
  const query = new URLSearchParams()
  if (search !== '') query.set('search', search)
  if (isSetOnly) query.set('set', '1')
  history.replaceState(history.state, '', `${location.pathname}${query.size === 0 ? '' : `?${query}`}`)
}
