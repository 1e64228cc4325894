/**
 * The fields for a user's tenant values, with one row per value and its type. The values are written as JSON to the
 * hidden field, in the API's format. Without rows, the field is empty.
 */
export function takeOverTenantValues(): void {
  for (const group of document.querySelectorAll<HTMLElement>('[data-tenant]')) {
    group.addEventListener('input', () => writeTenantValues(group))
    group.addEventListener('click', (event) => {
      const button = event.target instanceof Element ? event.target.closest('button') : null
      if (button?.dataset.add !== undefined) addTenantValue(group)
      else if (button?.dataset.remove !== undefined) removeTenantValue(group, button)
    })
    // When the user navigates back to the page, the browser restores the fields, so update the hidden field.
    writeTenantValues(group)
  }
}

const MOST_TENANT_VALUES = 100

function tenantRows(group: HTMLElement): readonly HTMLElement[] {
  return [...group.querySelectorAll<HTMLElement>('[data-tenant-value]')]
}

function tenantControls(row: HTMLElement) {
  return { type: row.querySelector('select'), value: row.querySelector('input') }
}

function writeTenantValues(group: HTMLElement): void {
  const rows = tenantRows(group)
  const values = rows.flatMap((row) => {
    const { type, value } = tenantControls(row)
    if (type === null || value === null) return []
    const isNumber = type.value === 'number'
    value.type = isNumber ? 'number' : 'text'
    value.step = isNumber ? 'any' : ''
    value.required = isNumber
    return [isNumber ? value.valueAsNumber : value.value]
  })
  const field = group.querySelector<HTMLInputElement>('input[type=hidden]')
  if (field !== null) field.value = values.length === 0 ? '' : JSON.stringify(values)
  const add = group.querySelector<HTMLButtonElement>('[data-add]')
  if (add !== null) add.disabled = rows.length >= MOST_TENANT_VALUES
}

function addTenantValue(group: HTMLElement): void {
  const template = group.querySelector('template')
  const row = template?.content.firstElementChild?.cloneNode(true)
  if (!(template && row instanceof HTMLElement)) return
  const number = Number(group.dataset.added ?? 0) + 1
  group.dataset.added = String(number)
  for (const element of row.querySelectorAll('[id]')) element.id = element.id.replace(/new$/, `new-${number}`)
  for (const label of row.querySelectorAll('label')) label.htmlFor = label.htmlFor.replace(/new$/, `new-${number}`)
  template.before(row)
  tenantControls(row).value?.focus()
  writeTenantValues(group)
}

function removeTenantValue(group: HTMLElement, button: HTMLButtonElement): void {
  button.closest('[data-tenant-value]')?.remove()
  writeTenantValues(group)
  group.querySelector<HTMLButtonElement>('[data-add]')?.focus()
}
