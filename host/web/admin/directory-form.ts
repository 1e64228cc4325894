import { takeOverPermissionGroup } from './permission-rows.ts'

type Usual = Readonly<Record<string, Readonly<Record<string, string>>>>

/**
 * Handles the form for a directory: rows of groups, and fields with default values that depend on the kind of
 * directory.
 */
export function takeOverDirectoryForm(): void {
  const form = document.querySelector<HTMLFormElement>('#directory-form')
  if (form === null) return
  takeOverGroups(form)
  takeOverKind(form)
  // Must run before the document's submit listener sends the form.
  form.addEventListener('submit', () => {
    fillHidden(form, 'groups', groupsOf(form))
    fillHidden(form, 'attributes', attributesOf(form))
  })
}

function fillHidden(form: HTMLFormElement, name: string, value: unknown): void {
  const field = form.elements.namedItem(name)
  if (field instanceof HTMLInputElement) field.value = JSON.stringify(value)
}

function takeOverGroups(form: HTMLFormElement): void {
  const part = form.querySelector<HTMLElement>('[data-groups]')
  const rows = part?.querySelector<HTMLElement>(':scope > [data-rows]')
  const empty = part?.querySelector<HTMLTemplateElement>(':scope > template')
  const add = part?.querySelector<HTMLButtonElement>(':scope > p > [data-add]')
  if (!rows || !empty || !add) return
  add.addEventListener('click', () => {
    rows.append(empty.content.cloneNode(true))
    const group = rows.lastElementChild?.querySelector<HTMLElement>('[data-permissions]')
    if (group) takeOverPermissionGroup(group)
    rows.lastElementChild?.querySelector('input')?.focus()
  })
  rows.addEventListener('click', (event) => {
    const button = (event.target as Element).closest('[data-remove-group]')
    if (button === null) return
    button.closest('li')?.remove()
    add.focus()
  })
}

/** Leaves out rows without any entry. */
function groupsOf(form: HTMLFormElement): { dn: string; permissions: unknown[] }[] {
  return [...form.querySelectorAll('.group-row')].flatMap((row) => {
    const dn = row.querySelector<HTMLInputElement>('[data-dn]')?.value.trim() ?? ''
    const listed = row.querySelector<HTMLInputElement>('[data-permissions] > input[type=hidden]')?.value ?? '[]'
    const permissions = JSON.parse(listed) as unknown[]
    return dn === '' && permissions.length === 0 ? [] : [{ dn, permissions }]
  })
}

function attributesOf(form: HTMLFormElement): Record<string, string | null> {
  const fields = [...form.querySelectorAll<HTMLInputElement>('[data-attribute]')]
  return Object.fromEntries(fields.map(({ dataset, value }) => [dataset.attribute, value.trim() || null]))
}

/**
 * Handles the choice of another kind of directory. Fields that still contain the defaults of the previous kind get the
 * defaults of the new one.
 */
function takeOverKind(form: HTMLFormElement): void {
  const select = form.querySelector<HTMLSelectElement>('select[name=idAttribute]')
  if (select === null) return
  const usual = JSON.parse(form.dataset.usual ?? '{}') as Usual
  let before = select.value
  const show = () => {
    for (const part of form.querySelectorAll<HTMLElement>('[data-kind]'))
      part.hidden = part.dataset.kind !== select.value
  }
  show()
  select.addEventListener('change', () => {
    for (const field of form.querySelectorAll<HTMLInputElement>('[data-usual-of]')) {
      const name = field.dataset.usualOf ?? ''
      if (field.value === usual[before]?.[name]) field.value = usual[select.value]?.[name] ?? ''
    }
    before = select.value
    show()
  })
}
