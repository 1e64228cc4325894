type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** Reads the design from the page's form, in the API's format. Fields that are not filled in are omitted. */
export function readDesign(designer: HTMLElement, logo: string | null): object {
  const dark = designer.querySelector<HTMLInputElement>('#has-dark')
  return {
    logo,
    colours: { light: paletteOf(designer, 'light'), dark: dark?.checked === true ? paletteOf(designer, 'dark') : null },
    texts: textsOf(designer),
    fields: [...designer.querySelectorAll<HTMLElement>('#design-field-rows [data-design-field]')].flatMap(fieldOf),
  }
}

function paletteOf(designer: HTMLElement, scheme: string): Record<string, string> {
  const inputs = designer.querySelectorAll<HTMLInputElement>(`[data-colour^="${scheme}."]`)
  return Object.fromEntries([...inputs].map((input) => [partOf(input.dataset.colour), input.value]))
}

function textsOf(designer: HTMLElement): Record<string, Record<string, string>> {
  const texts: Record<string, Record<string, string>> = {}
  for (const control of designer.querySelectorAll<HTMLInputElement>('[data-text]')) {
    if (control.value.trim() === '') continue
    const [locale = ''] = (control.dataset.text ?? '').split('.')
    texts[locale] = { ...texts[locale], [partOf(control.dataset.text)]: control.value }
  }
  return texts
}

/** Returns an empty list for a row that was added but not filled in. */
function fieldOf(row: HTMLElement): object[] {
  const entered = (name: string) => row.querySelector<Control>(`[data-of="${name}"]`)?.value ?? ''
  const labels = labelsOf(
    [...row.querySelectorAll<Control>('[data-label]')].map((one) => [one.dataset.label, one.value]),
  )
  const name = entered('name').trim()
  if ((name === '' || name === 'custom_') && Object.keys(labels).length === 0) return []
  const type = entered('type')
  const required = row.querySelector<HTMLInputElement>('[data-of="required"]')?.checked === true
  const isTenant = row.querySelector<HTMLInputElement>('[data-of="isTenant"]')?.checked === true
  return [
    { name, type, required, isTenant, labels, options: type === 'select' ? optionsOf(row, entered('values')) : [] },
  ]
}

/**
 * Returns a select field's options. Its values and its texts in each language are entered in the same order, one per
 * line.
 */
function optionsOf(row: HTMLElement, values: string): object[] {
  const texts = [...row.querySelectorAll<Control>('[data-options]')].map(
    (one) => [one.dataset.options, one.value.split('\n')] as const,
  )
  return values.split('\n').flatMap((line, at) => {
    const value = line.trim()
    return value === '' ? [] : [{ value, labels: labelsOf(texts.map(([locale, lines]) => [locale, lines[at] ?? ''])) }]
  })
}

function labelsOf(labels: readonly (readonly [string | undefined, string])[]): Record<string, string> {
  return Object.fromEntries(
    labels.flatMap(([locale = '', label]) => (label.trim() === '' ? [] : [[locale, label.trim()] as const])),
  )
}

function partOf(path = ''): string {
  return path.split('.')[1] ?? ''
}
