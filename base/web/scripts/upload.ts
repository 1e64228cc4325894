import { type Answer, answerOf, csrfToken, type Fault, signInAgain } from './api.ts'
import { faultList, problemPlace, showProblem } from './problem.ts'

/** The API's response to a successful upload. */
type UploadedVersion = { readonly name: string; readonly version: string; readonly warnings: readonly Fault[] }

type UploadForm = {
  readonly form: HTMLFormElement
  readonly input: HTMLInputElement
  readonly bar: HTMLProgressElement
  readonly state: HTMLElement
  readonly result: HTMLElement
}

/**
 * The form with `data-upload` sends a bundle to the API and shows its progress: the value is the method, `action` the
 * URL, and `data-address` the URL of the solution `{name}` for users. Files can be dropped anywhere on the form's card.
 */
export function takeOverUploads(): void {
  const form = document.querySelector<HTMLFormElement>('form[data-upload]')
  const input = form?.querySelector<HTMLInputElement>('input[type=file]')
  const bar = form?.querySelector('progress')
  const state = form?.querySelector<HTMLElement>('.upload-state')
  const result = document.querySelector<HTMLElement>('.upload-result')
  if (!form || !input || !bar || !state || !result) return
  const parts = { form, input, bar, state, result }
  takeDrops(parts, form.closest<HTMLElement>('.card') ?? form)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const [file] = input.files ?? []
    if (form.getAttribute('aria-busy') === 'true') return
    if (file === undefined) refuseFile(parts, uploadText(form, 'none'))
    else if (isChecked(parts, file)) void uploadFile(parts, file)
  })
}

function takeDrops(parts: UploadForm, card: HTMLElement): void {
  card.addEventListener('dragover', (event) => {
    event.preventDefault()
    card.classList.add('upload-over')
  })
  card.addEventListener('dragleave', (event) => {
    if (!card.contains(event.relatedTarget as Node | null)) card.classList.remove('upload-over')
  })
  card.addEventListener('drop', (event) => {
    event.preventDefault()
    card.classList.remove('upload-over')
    if (event.dataTransfer !== null) takeDropped(parts, event.dataTransfer)
  })
}

/** Puts a dropped file into the form as if it had been chosen there; the user still presses the button. */
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

/** Whether the file name ends with .zip; the host checks everything else. */
function isChecked(parts: UploadForm, { name }: File): boolean {
  if (/\.zip$/i.test(name)) return true
  refuseFile(parts, uploadText(parts.form, 'kind').replace('{0}', name))
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
  const { form, input, bar, state, result } = parts
  const place = problemPlace(form)
  place.hidden = true
  result.hidden = true
  bar.hidden = false
  form.setAttribute('aria-busy', 'true')
  const answer = await sendFile(form, file, (sent) => showSent(parts, sent))
  form.removeAttribute('aria-busy')
  bar.hidden = true
  state.textContent = ''
  input.value = ''
  if (answer.ok) showUploaded(parts, answer.body as UploadedVersion)
  else showProblem(place, answer.problem)
}

/** @param sent percent; at 100 the upload is complete and the host checks the bundle */
function showSent({ form, bar, state }: UploadForm, sent: number): void {
  const isSent = sent >= 100
  if (isSent) bar.removeAttribute('value')
  else bar.value = sent
  // In steps of 25, since a screen reader reads each change aloud.
  const status = isSent
    ? uploadText(form, 'checking')
    : uploadText(form, 'sending').replace('{0}', String(sent - (sent % 25)))
  if (state.textContent !== status) state.textContent = status
}

/** Uses XMLHttpRequest because fetch does not report upload progress. */
function sendFile(form: HTMLFormElement, file: File, onSent: (percent: number) => void): Promise<Answer> {
  const request = new XMLHttpRequest()
  request.open(form.dataset.upload ?? 'POST', form.getAttribute('action') ?? '')
  request.setRequestHeader('X-CSRF-Token', csrfToken())
  request.setRequestHeader('Content-Type', 'application/zip')
  request.upload.addEventListener('progress', ({ loaded, total }) => onSent(Math.floor((100 * loaded) / total)))
  request.upload.addEventListener('load', () => onSent(100))
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
  if (done !== null) done.textContent = uploadText(form, 'done').replace('{0}', name).replace('{1}', version)
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

function uploadText(form: HTMLFormElement, name: string): string {
  return form.dataset[name] ?? ''
}
