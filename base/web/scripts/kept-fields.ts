import { scriptText } from './question.ts'
import { say } from './said.ts'

const FIELDS_KEY = 'solhost-fields'
/**
 * Lifetime of stored fields, in ms: longer than anyone needs to confirm their identity. After this time, the page may
 * have changed.
 */
const LONGEST = 10 * 60_000

type KeptControl = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement
type KeptForm = {
  /** The number of rows in each list with a variable number of rows, in document order. */
  readonly rows: readonly number[]
  readonly values: readonly (string | boolean)[]
}
type KeptPage = {
  readonly address: string
  readonly time: number
  readonly forms: readonly KeptForm[]
  /** The index of the form that was sent; -1 if none was. */
  readonly sent: number
}

/** Stores what the user entered on this page, except secrets, until the browser returns to the page. */
export function keepFields(): void {
  const forms = [...document.forms]
  const sent = forms.findIndex((form) => form.getAttribute('aria-busy') === 'true')
  const kept: KeptPage = { address: addressOfPage(), time: Date.now(), forms: forms.map(keptForm), sent }
  try {
    sessionStorage.setItem(FIELDS_KEY, JSON.stringify(kept))
  } catch {
    // The values are larger than the browser's limit for stored data.
  }
}

/**
 * Fills in the values that `keepFields` has stored, and deletes the stored values. Moves the focus to the button of the form that
 * was sent.
 */
export function restoreFields(): void {
  const stored = sessionStorage.getItem(FIELDS_KEY)
  if (stored === null) return
  const kept = JSON.parse(stored) as KeptPage
  if (kept.address !== addressOfPage()) return
  sessionStorage.removeItem(FIELDS_KEY)
  if (Date.now() - kept.time > LONGEST) return
  const forms = [...document.forms]
  for (const [at, form] of kept.forms.entries()) restoreForm(forms[at], form)
  const sent = forms[kept.sent]
  if (sent === undefined || controlsOf(sent).length === 0) return
  sent.querySelector<HTMLButtonElement>('button[type=submit]')?.focus()
  // A live region announces only changes that happen after the page has loaded.
  setTimeout(say, 100, scriptText('restored'))
}

function addressOfPage(): string {
  return location.pathname + location.search
}

function keptForm(form: HTMLFormElement): KeptForm {
  return { rows: listsOf(form).map(({ children }) => children.length), values: controlsOf(form).map(keptValue) }
}

function restoreForm(form: HTMLFormElement | undefined, { rows, values }: KeptForm): void {
  if (form === undefined) return
  // Lists can be nested in rows. So find each list only after all rows of the lists before it exist.
  for (const [at, count] of rows.entries()) setRows(listsOf(form)[at], count)
  const controls = controlsOf(form)
  if (controls.length !== values.length) return
  const fillAll = () => {
    for (const [at, control] of controls.entries()) setValue(control, values[at])
  }
  fillAll()
  for (const control of controls) {
    for (const type of ['input', 'change']) control.dispatchEvent(new Event(type, { bubbles: true }))
  }
  // Fill in the values again, because the events may have made the page's scripts change other fields.
  fillAll()
}

function listsOf(form: HTMLFormElement): HTMLElement[] {
  return [...form.querySelectorAll<HTMLElement>('[data-rows]')]
}

function setRows(list: HTMLElement | undefined, count: number): void {
  if (list === undefined) return
  while (list.children.length > count) list.lastElementChild?.remove()
  const add = list.parentElement?.querySelector<HTMLButtonElement>(':scope > p > [data-add]')
  for (let missing = count - list.children.length; missing > 0; missing--) add?.click()
}

function controlsOf(form: HTMLFormElement): KeptControl[] {
  return [...form.elements].filter((element): element is KeptControl => {
    if (element instanceof HTMLInputElement) return !isSecret(element) && !UNKEPT.includes(element.type)
    return element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement
  })
}

const UNKEPT: readonly string[] = ['file', 'hidden', 'submit', 'button']

/** The type can't be used for this check: while a password is shown, its field has the type `text`. */
function isSecret({ type, autocomplete }: HTMLInputElement): boolean {
  return type === 'password' || /password|one-time-code/.test(autocomplete)
}

function keptValue(control: KeptControl): string | boolean {
  return hasCheck(control) ? control.checked : control.value
}

function setValue(control: KeptControl, value: string | boolean | undefined): void {
  if (hasCheck(control)) control.checked = value === true
  else if (typeof value === 'string') control.value = value
}

function hasCheck(control: KeptControl): control is HTMLInputElement {
  return control instanceof HTMLInputElement && (control.type === 'checkbox' || control.type === 'radio')
}
