import { askApi } from './api.ts'
import { bodyOf } from './form-body.ts'
import { problemPlace, showProblem } from './problem.ts'
import { isSure } from './question.ts'
import { say, sayAfterLoad } from './said.ts'

/**
 * A form with `data-api` is sent to the API: its value is the method, `action` the address; fields make the JSON body (see
 * form-body.ts), but for GET and DELETE. In the address `{name}` is the field of that name, which the body then lacks.
 * - `data-sure`: the question that is asked before
 * - `data-done`: what is told when it is done
 * - `data-then`: `reload` (the default), an address, or `stay`
 * When it is done and the page stays, the form gets the event `api-done` with the answer as `detail`.
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
  if (!answer.ok) showProblem(place, answer.problem)
  else finish(form, answer.body)
}

type ApiRequest = { readonly address: string; readonly body: Record<string, unknown> }

/** null: a field holds what cannot be sent; that was told. */
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
  else location.assign(then)
}
