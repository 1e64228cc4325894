import { askApi, type Problem } from '../../../base/web/scripts/api.ts'
import { bodyOf } from '../../../base/web/scripts/form-body.ts'
import { goToOAuthStep, takeOverOAuthSteps } from '../../../base/web/scripts/oauth-steps.ts'
import { problemPlace, showProblem } from '../../../base/web/scripts/problem.ts'
import { sayAfterLoad } from '../../../base/web/scripts/said.ts'
import { showTestRuns, showTestSteps } from './test-steps.ts'

const SAVED = '#saved'

/**
 * The wizard for OAuth settings (base/web/scripts/oauth-steps.ts). It stores the secret in the solution's secrets
 * first; the settings contain only the secret's name.
 */
export function takeOverOAuthForm(): void {
  const form = document.querySelector<HTMLFormElement>('#oauth-form')
  if (form === null) return
  takeOverOAuthSteps(form, () => void saveOAuth(form))
  document.querySelector('#oauth-test')?.addEventListener('click', () => void testOAuth(form))
  if (location.hash === SAVED) {
    history.replaceState(null, '', location.pathname)
    void testStoredOAuth(form)
  }
}

type WrittenSecret = { readonly name: string; readonly value: string; readonly hosts: readonly string[] }

/**
 * Returns the entered settings by name, and the entered secret.
 * @throws Error in the user's language
 */
function writtenOAuth(form: HTMLFormElement): { settings: Record<string, unknown>; secret: WrittenSecret | null } {
  const settings = bodyOf(form)
  for (const [index, line] of fieldValue('parameters').split('\n').entries()) {
    if (line.trim() === '') continue
    const [, name, value = ''] = /^\s*([^=\s]+)\s*=(.*)$/.exec(line) ?? []
    if (name === undefined) throw new Error((form.dataset.line ?? '').replace('{0}', String(index + 1)))
    settings[name] = value.trim()
  }
  const field = document.querySelector<HTMLInputElement>('#oauth-secret-name')
  const [value, named] = [fieldValue('secret-value'), field?.value.trim() ?? '']
  const name = named === '' && value !== '' ? (field?.placeholder ?? '') : named
  if (name !== '') settings.apiSecret = `%%${name}%%`
  const hosts = fieldValue('secret-hosts')
    .split(/[\s,]+/)
    .filter((host) => host !== '')
  return { settings, secret: value === '' ? null : { name, value, hosts } }
}

function fieldValue(name: string): string {
  return document.querySelector<HTMLInputElement | HTMLTextAreaElement>(`#oauth-${name}`)?.value ?? ''
}

function readOAuth(form: HTMLFormElement): ReturnType<typeof writtenOAuth> | null {
  problemPlace(form).hidden = true
  try {
    return writtenOAuth(form)
  } catch (error) {
    tellOAuth(form, { status: 422, detail: (error as Error).message })
    return null
  }
}

async function saveOAuth(form: HTMLFormElement): Promise<void> {
  const written = readOAuth(form)
  if (written === null || form.getAttribute('aria-busy') === 'true') return
  const { settings, secret } = written
  if (secret !== null && secret.hosts.length === 0) {
    goToOAuthStep(form, 1)
    return tellOAuth(form, { status: 422, detail: form.dataset.hostsMissing ?? '' })
  }
  form.setAttribute('aria-busy', 'true')
  const problem = (await putSecret(form, secret)) ?? (await putSettings(form, settings))
  form.removeAttribute('aria-busy')
  if (problem !== null) return tellOAuth(form, problem)
  sayAfterLoad(form.dataset.saved ?? '')
  location.hash = SAVED
  location.reload()
}

/** Stores the secret. Call this before storing the settings, because they may refer to a new secret. */
async function putSecret(form: HTMLFormElement, secret: WrittenSecret | null): Promise<Problem | null> {
  if (secret === null) return null
  const { name, value, hosts } = secret
  const answer = await askApi('PUT', `${form.dataset.secrets}${encodeURIComponent(name)}`, { value, hosts })
  return answer.ok ? null : answer.problem
}

async function putSettings(form: HTMLFormElement, settings: Record<string, unknown>): Promise<Problem | null> {
  const answer = await askApi('PUT', form.dataset.settings ?? '', settings)
  return answer.ok ? null : answer.problem
}

/** Tests the entered settings combined with the manifest's; nothing is stored. */
async function testOAuth(form: HTMLFormElement): Promise<void> {
  const written = readOAuth(form)
  if (written === null) return
  showTestRuns(resultsPlace())
  const answer = await askApi('POST', `${form.dataset.settings}/test`, written.settings)
  if (!answer.ok) return tellOAuth(form, answer.problem)
  // The entered secret is not stored yet, so it could not be tested.
  const replaced = written.secret === null ? {} : { secret: form.dataset.notSaved }
  showTestSteps(resultsPlace(), answer.body, replaced)
}

async function testStoredOAuth(form: HTMLFormElement): Promise<void> {
  showTestRuns(resultsPlace())
  const answer = await askApi('POST', `${form.dataset.settings}/test`)
  if (answer.ok) showTestSteps(resultsPlace(), answer.body)
  else tellOAuth(form, answer.problem)
}

function tellOAuth(form: HTMLFormElement, problem: Problem): void {
  resultsPlace().replaceChildren()
  showProblem(problemPlace(form), problem)
}

function resultsPlace(): HTMLElement {
  return document.querySelector('#oauth-results') as HTMLElement
}
