import { type Answer, answerOf, csrfToken, type Fault, signInAgain } from './api.ts'
import { faultList, problemPlace, showProblem } from './problem.ts'

/** The API's response to a successful upload. */
type UploadedVersion = { readonly name: string; readonly version: string; readonly warnings: readonly Fault[] }

type UploadForm = {
  readonly form: HTMLFormElement
  readonly input: HTMLInputElement
  readonly bar: HTMLProgressElement
  /** Announces the progress to screen readers, in steps of 25 percent. */
  readonly state: HTMLElement
  /** Shows the number of bytes sent so far, then that the host is checking the bundle. */
  readonly sent: HTMLElement
  readonly result: HTMLElement
}

/**
 * Makes the form with `data-upload` send a bundle to the API and show the progress. Users can drop a file anywhere on
 * the page. A link with `data-choose` opens the file dialog. The form's attributes:
 *
 * - `data-upload`: the HTTP method
 * - `action`: the API's URL
 * - `data-address`: the solution's URL for users, with `{name}` for its name
 * - `data-most`: the maximum size in bytes
 * - `data-workbench`: the page that errors link to
 */
export function takeOverUploads(): void {
  const form = document.querySelector<HTMLFormElement>('form[data-upload]')
  const input = form?.querySelector<HTMLInputElement>('input[type=file]')
  const bar = form?.querySelector('progress')
  const state = form?.querySelector<HTMLElement>('.upload-state')
  const sent = form?.querySelector<HTMLElement>('.upload-sent')
  const result = document.querySelector<HTMLElement>('.upload-result')
  if (!form || !input || !bar || !state || !sent || !result) return
  const parts = { form, input, bar, state, sent, result }
  takeDrops(parts, form.closest<HTMLElement>('.card') ?? form)
  document.querySelector('[data-choose]')?.addEventListener('click', (event) => {
    event.preventDefault()
    // The file dialog returns the focus to the field, and Tab then moves it to the submit button.
    input.focus()
    input.click()
  })
  input.addEventListener('change', () => {
    const [file] = input.files ?? []
    if (file !== undefined && isChecked(parts, file)) problemPlace(form).hidden = true
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const [file] = input.files ?? []
    if (form.getAttribute('aria-busy') === 'true') return
    if (file === undefined) refuseFile(parts, uploadText(form, 'none'))
    else if (isChecked(parts, file)) void uploadFile(parts, file)
  })
}

/**
 * Accepts files on the whole page. Otherwise, the browser would leave the page to open a file that is dropped beside
 * the zone.
 */
function takeDrops(parts: UploadForm, card: HTMLElement): void {
  const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true
  document.addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return
    event.preventDefault()
    card.classList.add('upload-over')
  })
  document.addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) card.classList.remove('upload-over')
  })
  document.addEventListener('drop', (event) => {
    if (!hasFiles(event)) return
    event.preventDefault()
    card.classList.remove('upload-over')
    if (event.dataTransfer !== null) takeDropped(parts, event.dataTransfer)
  })
}

/** Puts a dropped file into the form as if it had been chosen there. The user still has to press the button. */
function takeDropped(parts: UploadForm, dropped: DataTransfer): void {
  const { form, input } = parts
  if (form.getAttribute('aria-busy') === 'true') return
  const isFolder = [...dropped.items].some((item) => item.webkitGetAsEntry()?.isDirectory === true)
  const [file] = dropped.files
  if (isFolder || dropped.files.length > 1) {
    refuseFile(parts, uploadText(form, isFolder ? 'folder' : 'several'))
    return
  }
  if (file === undefined || !isChecked(parts, file)) return
  problemPlace(form).hidden = true
  input.files = dropped.files
  form.querySelector<HTMLButtonElement>('button[type=submit]')?.focus()
}

/** Whether the file is a .zip that isn't too large for the host. The host checks everything else. */
function isChecked(parts: UploadForm, { name, size }: File): boolean {
  const { form } = parts
  const most = Number(form.dataset.most ?? Number.POSITIVE_INFINITY)
  if (!/\.zip$/i.test(name)) refuseFile(parts, uploadText(form, 'kind', name))
  else if (size > most) refuseFile(parts, uploadText(form, 'large', name, bytesText(size), bytesText(most)))
  else return true
  return false
}

function refuseFile({ form }: UploadForm, text: string): void {
  const place = problemPlace(form)
  place.textContent = text
  place.hidden = false
  place.tabIndex = -1
  place.focus()
}

async function uploadFile(parts: UploadForm, file: File): Promise<void> {
  const { form, input, bar, state, sent, result } = parts
  const place = problemPlace(form)
  place.hidden = true
  result.hidden = true
  bar.hidden = false
  form.setAttribute('aria-busy', 'true')
  const answer = await sendFile(form, file, (bytes) => showSent(parts, bytes, file.size))
  form.removeAttribute('aria-busy')
  bar.hidden = true
  state.textContent = ''
  sent.textContent = ''
  input.value = ''
  if (answer.ok) showUploaded(parts, answer.body as UploadedVersion)
  else showProblem(place, answer.problem, form.dataset.workbench)
}

/** Shows the progress. After the last byte, the host checks the bundle; the duration of this check is unknown. */
function showSent({ form, bar, state, sent }: UploadForm, bytes: number, total: number): void {
  const isSent = bytes >= total
  const percent = isSent ? 100 : Math.floor((100 * bytes) / total)
  if (isSent) bar.removeAttribute('value')
  else bar.value = percent
  const checking = uploadText(form, 'checking')
  sent.textContent = isSent ? checking : uploadText(form, 'sent', bytesText(bytes), bytesText(total))
  // Announce the percentage in steps of 25, since a screen reader reads each change aloud.
  const status = isSent ? checking : uploadText(form, 'sending', String(percent - (percent % 25)))
  if (state.textContent !== status) state.textContent = status
}

/** Uses XMLHttpRequest because fetch does not report upload progress. */
function sendFile(form: HTMLFormElement, file: File, onSent: (bytes: number) => void): Promise<Answer> {
  const request = new XMLHttpRequest()
  request.open(form.dataset.upload ?? 'POST', form.getAttribute('action') ?? '')
  request.setRequestHeader('X-CSRF-Token', csrfToken())
  request.setRequestHeader('Content-Type', 'application/zip')
  request.upload.addEventListener('progress', ({ loaded }) => onSent(loaded))
  request.upload.addEventListener('load', () => onSent(file.size))
  return new Promise((resolve) => {
    request.addEventListener('loadend', () => {
      if (request.status === 401) signInAgain()
      resolve(
        request.status === 0 ? { ok: false, problem: { status: 0 } } : answerOf(request.status, request.responseText),
      )
    })
    onSent(0)
    request.send(file)
  })
}

function showUploaded({ form, result }: UploadForm, { name, version, warnings }: UploadedVersion): void {
  const done = result.querySelector('.upload-done')
  if (done !== null) done.textContent = uploadText(form, 'done', name, version)
  const address = uploadText(form, 'address').replaceAll('{name}', name)
  const place = result.querySelector('.upload-address')
  if (place !== null) place.textContent = address
  const open = result.querySelector<HTMLAnchorElement>('.upload-open')
  if (open !== null) open.href = address
  const manage = result.querySelector<HTMLAnchorElement>('.upload-manage')
  if (manage !== null) manage.href = `/admin/solutions/${name}`
  const warned = result.querySelector<HTMLElement>('.upload-warnings')
  warned?.querySelector('ul')?.remove()
  warned?.append(faultList(warnings))
  if (warned !== null) warned.hidden = warnings.length === 0
  result.hidden = false
  result.focus()
}

function uploadText(form: HTMLFormElement, name: string, ...values: readonly string[]): string {
  return (form.dataset[name] ?? '').replace(/\{(\d)\}/g, (all, index: string) => values[Number(index)] ?? all)
}

/** Formats a size, such as '1.2 MB'; each unit is 1024 times the previous one, as in the pages. */
function bytesText(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB']
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10))
  const number = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 1 })
  return `${number.format(count / 1024 ** step)} ${units[step]}`
}
