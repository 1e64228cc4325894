import { askApi } from './api.ts'
import { bodyOf } from './form-body.ts'
import { problemPlace, showProblem } from './problem.ts'
import { isSure } from './question.ts'
import { say, sayAfterLoad } from './said.ts'

/**
 * Sends forms that have the attribute `data-api` to the API. The attribute's value is the HTTP method, and `action` is
 * the URL. The fields are sent as the JSON body (see form-body.ts); GET and DELETE have no body. `{name}` in the URL is
 * replaced by the value of that field, which is then left out of the body.
 * - `data-sure`: a question to confirm first
 * - `data-done`: a message shown on success
 * - `data-then`: `reload` (the default), `stay`, or a URL, in which `{name}` is replaced by that property of the
 *   response
 *
 * With `stay`, the form gets the event `api-done` with the response as `detail`. If the request is refused, it gets
 * `api-failed`.
 */
export function takeOverForms(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || form.dataset.api === undefined) return
    event.preventDefault()
    void send(form)
  })
}

async function send(form: HTMLFormElement): Promise<void> {
  if (form.getAttribute('aria-busy') === 'true') return
  const { api: method = 'POST', sure } = form.dataset
  const place = problemPlace(form)
  place.hidden = true
  if (sure !== undefined && !(await isSure(sure))) return
  const request = requestOf(form, place)
  if (request === null) return
  form.setAttribute('aria-busy', 'true')
  const answer = await askApi(method, request.address, hasBody(method) ? request.body : undefined)
  form.removeAttribute('aria-busy')
  if (answer.ok) return finish(form, answer.body)
  showProblem(place, answer.problem)
  form.dispatchEvent(new CustomEvent('api-failed'))
}

type ApiRequest = { readonly address: string; readonly body: Record<string, unknown> }

/** Returns a form's fields; null if one has an invalid value. In that case, the user sees an error. */
function requestOf(form: HTMLFormElement, place: HTMLElement): ApiRequest | null {
  try {
    const body = bodyOf(form)
    const address = (form.getAttribute('action') ?? '').replace(/\{(\w+)\}/g, (_all, name: string) => {
      const value = String(body[name] ?? '')
      delete body[name]
      return encodeURIComponent(value)
    })
    return { address, body }
  } catch (error) {
    showProblem(place, { status: 422, detail: String(error) })
    return null
  }
}

function hasBody(method: string): boolean {
  return method !== 'GET' && method !== 'DELETE'
}

function finish(form: HTMLFormElement, body: unknown): void {
  const { then = 'reload', done = '' } = form.dataset
  if (then === 'stay') {
    say(done)
    form.dispatchEvent(new CustomEvent('api-done', { detail: body, bubbles: true }))
    return
  }
  if (done !== '') sayAfterLoad(done)
  if (then === 'reload') location.reload()
  else location.assign(then.replace(/\{(\w+)\}/g, (_all, name) => encodeURIComponent(textAt(body, name))))
}

function textAt(body: unknown, name: string): string {
  return String((body as Record<string, unknown> | null)?.[name] ?? '')
}
