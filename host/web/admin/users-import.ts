import { type Answer, answerOf, csrfToken, signInAgain } from '../../../base/web/scripts/api.ts'
import { problemPlace, showProblem } from '../../../base/web/scripts/problem.ts'
import { sayAfterLoad } from '../../../base/web/scripts/said.ts'

const IMPORT = '/admin/api/users.csv'

/** The response of the admin API to an import or its preview. */
type Imported = Readonly<Record<'created' | 'changed' | 'unchanged' | 'createdWithoutPassword', number>> & {
  readonly unlistedPermissions: readonly string[]
}

/** Imports users in two steps: preview the changes, then apply them after confirmation. */
export function takeOverImport(): void {
  const form = document.querySelector<HTMLFormElement>('form[data-import]')
  const summary = document.getElementById('import-told')
  const file = form?.querySelector<HTMLInputElement>('input[type=file]') ?? null
  if (form === null || summary === null || file === null) return
  file.addEventListener('change', () => {
    summary.hidden = true
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void check(form, file, summary)
  })
  summary.querySelector('[data-import-now]')?.addEventListener('click', () => void importNow(form, file))
}

async function check(form: HTMLFormElement, file: HTMLInputElement, summary: HTMLElement): Promise<void> {
  const answer = await sendUsers(form, file, `${IMPORT}?dry-run`)
  summary.hidden = answer === null
  if (answer === null) return
  for (const name of ['created', 'changed', 'unchanged'] as const) {
    const place = summary.querySelector(`[data-count=${name}]`)
    if (place !== null) place.textContent = String(answer[name])
  }
  const { createdWithoutPassword: count, unlistedPermissions } = answer
  showNote(summary, 'passwordless', count === 0 ? '' : String(count))
  showNote(summary, 'unlisted', unlistedPermissions.join(', '))
  summary.tabIndex = -1
  summary.focus()
}

/** @param value '' hides the note */
function showNote(summary: HTMLElement, name: 'passwordless' | 'unlisted', value: string): void {
  const note = summary.querySelector<HTMLElement>(`[data-note=${name}]`)
  const place = note?.querySelector('[data-value]')
  if (!note || !place) return
  note.hidden = value === ''
  place.textContent = value
}

async function importNow(form: HTMLFormElement, file: HTMLInputElement): Promise<void> {
  if ((await sendUsers(form, file, IMPORT)) === null) return
  sayAfterLoad(form.dataset.done ?? '')
  location.assign('/admin/users')
}

/** Posts the CSV file. @returns null if the host rejected it; the page then shows the error */
async function sendUsers(form: HTMLFormElement, file: HTMLInputElement, address: string): Promise<Imported | null> {
  const body = file.files?.[0]
  if (body === undefined || form.getAttribute('aria-busy') === 'true') return null
  const place = problemPlace(form)
  place.hidden = true
  form.setAttribute('aria-busy', 'true')
  const answer = await postCsv(address, body)
  form.removeAttribute('aria-busy')
  if (answer.ok) return answer.body as Imported
  showProblem(place, answer.problem)
  return null
}

async function postCsv(address: string, body: File): Promise<Answer> {
  try {
    const headers = { 'X-CSRF-Token': csrfToken(), 'Content-Type': 'text/csv' }
    const answer = await fetch(address, { method: 'POST', headers, body })
    if (answer.status === 401) signInAgain()
    return answerOf(answer.status, await answer.text())
  } catch {
    return { ok: false, problem: { status: 0 } }
  }
}
