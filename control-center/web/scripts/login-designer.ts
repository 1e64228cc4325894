import { askApi } from '../../../base/web/scripts/api.ts'
import { takeOverLoginPreview } from '../../../base/web/scripts/login-preview.ts'
import { scriptText } from '../../../base/web/scripts/question.ts'
import { readDesign } from './read-design.ts'

/** Debounce delay in ms, from the last change until the draft is saved. */
const PAUSE = 300

/** Saves the design as a draft, which the preview shows. Also writes it to the form that publishes the design. */
export function takeOverLoginDesigner(): void {
  const designer = document.getElementById('designer')
  const published = document.querySelector<HTMLInputElement>('#design-json')
  if (designer === null || published === null) return
  // Read the default value. When the user navigates back, the browser may restore an outdated current value.
  const logo = { value: (JSON.parse(published.defaultValue) as { logo: string | null }).logo }
  const keep = createKeeper(designer, published, () => readDesign(designer, logo.value))
  takeOverLogo(designer, (value) => {
    logo.value = value
    keep()
  })
  takeOverFields(designer, keep)
  designer.addEventListener('input', (event) => {
    if ((event.target as Element).closest('.design-result') === null) keep()
  })
  published.value = JSON.stringify(readDesign(designer, logo.value))
  addCounter()
  takeOverLoginPreview()
}

/** @returns a function to call after each change. It sends the latest design, one request at a time. */
function createKeeper(designer: HTMLElement, published: HTMLInputElement, read: () => object): () => void {
  let timer = 0
  let isSending = false
  let isChanged = false

  async function send(): Promise<void> {
    if (isSending) return
    isSending = true
    while (isChanged) {
      isChanged = false
      const answer = await askApi('PUT', designer.dataset.draft ?? '', { design: read() })
      showOutdated(
        answer.ok
          ? null
          : (answer.problem.detail ?? scriptText(answer.problem.status === 0 ? 'unreachable' : 'failed')),
      )
      if (answer.ok) showAgain()
    }
    isSending = false
  }

  return () => {
    published.value = JSON.stringify(read())
    isChanged = true
    clearTimeout(timer)
    timer = setTimeout(() => void send(), PAUSE)
  }
}

/** Shows why the preview is out of date, without moving the focus. */
function showOutdated(problem: string | null): void {
  const place = document.getElementById('design-problem')
  if (place === null) return
  place.hidden = problem === null
  place.lang = 'en'
  if (place.textContent !== problem) place.textContent = problem
}

/** Adds a counter to the URL of the preview, so that it reloads after each change. */
function addCounter(): void {
  const counter = document.createElement('input')
  counter.type = 'hidden'
  counter.name = 'change'
  counter.value = '0'
  document.getElementById('login-preview-form')?.append(counter)
}

function showAgain(): void {
  const form = document.querySelector<HTMLFormElement>('#login-preview-form')
  const counter = form?.querySelector<HTMLInputElement>('[name=change]')
  if (!form || !counter) return
  counter.value = String(Number(counter.value) + 1)
  form.dispatchEvent(new Event('change'))
}

function takeOverLogo(designer: HTMLElement, change: (logo: string | null) => void): void {
  const file = designer.querySelector<HTMLInputElement>('#logo')
  const shown = designer.querySelector<HTMLImageElement>('#logo-shown')
  const remove = designer.querySelector<HTMLButtonElement>('#logo-remove')
  if (file === null || shown === null || remove === null) return
  const show = (logo: string | null) => {
    shown.hidden = logo === null
    remove.hidden = logo === null
    shown.src = logo ?? 'data:,'
    change(logo)
  }
  file.addEventListener('change', () => {
    const [chosen] = file.files ?? []
    if (chosen === undefined) return
    if (chosen.size > Number(designer.dataset.largest)) return showOutdated(designer.dataset.tooLarge ?? '')
    const reader = new FileReader()
    reader.addEventListener('load', () => show(String(reader.result)))
    reader.readAsDataURL(chosen)
  })
  remove.addEventListener('click', () => {
    file.value = ''
    show(null)
    file.focus()
  })
}

function takeOverFields(designer: HTMLElement, keep: () => void): void {
  const rows = designer.querySelector<HTMLElement>('#design-field-rows')
  const empty = designer.querySelector<HTMLTemplateElement>('#design-field-new')
  const add = designer.querySelector<HTMLButtonElement>('#design-field-add')
  if (rows === null || empty === null || add === null) return
  add.addEventListener('click', () => {
    rows.append(empty.content.cloneNode(true))
    rows.lastElementChild?.querySelector('input')?.focus()
  })
  rows.addEventListener('click', (event) => {
    const button = (event.target as Element).closest('[data-remove-field]')
    if (button === null) return
    button.closest('[data-design-field]')?.remove()
    add.focus()
    keep()
  })
  rows.addEventListener('input', (event) => {
    const control = event.target as HTMLElement
    if (control.dataset.of !== 'type') return
    const isSelect = (control as HTMLSelectElement).value === 'select'
    const row = control.closest('[data-design-field]')
    for (const part of row?.querySelectorAll<HTMLElement>('[data-of-select]') ?? []) part.hidden = !isSelect
  })
}
