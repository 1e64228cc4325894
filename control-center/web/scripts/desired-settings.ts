import { type Answer, askApi } from '../../../base/web/scripts/api.ts'
import { bodyOf } from '../../../base/web/scripts/form-body.ts'
import { takeOverOAuthSteps } from '../../../base/web/scripts/oauth-steps.ts'
import { problemPlace, showProblem } from '../../../base/web/scripts/problem.ts'
import { isSure } from '../../../base/web/scripts/question.ts'
import { sayAfterLoad } from '../../../base/web/scripts/said.ts'

type OAuthSettings = Readonly<Record<string, unknown>>
type Settings = Readonly<Record<string, unknown>> & { readonly oauth?: Readonly<Record<string, OAuthSettings>> }
type DesiredState = { readonly number: number; readonly settings: Settings }

/**
 * Sets up the forms for an environment's settings. `data-desired` is the URL of the environment's desired state. A form
 * with `data-solution` changes that solution's sign-in settings. A form that also has `data-removes` removes these
 * settings, after asking the question in `data-sure`. The remaining form changes all other settings.
 */
export function takeOverDesiredSettings(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('[data-desired]')) {
    if (form.id === 'oauth-form') takeOverOAuthSteps(form, () => void saveDesired(form))
    else {
      form.addEventListener('submit', (event) => {
        event.preventDefault()
        void saveDesired(form)
      })
    }
  }
}

async function saveDesired(form: HTMLFormElement): Promise<void> {
  if (form.getAttribute('aria-busy') === 'true') return
  const { desired = '', then, done = '', sure } = form.dataset
  const place = problemPlace(form)
  place.hidden = true
  if (sure !== undefined && !(await isSure(sure))) return
  form.setAttribute('aria-busy', 'true')
  const answer = await changeDesired(desired, (settings) => changedSettings(form, settings))
  form.removeAttribute('aria-busy')
  if (!answer.ok) return showProblem(place, answer.problem)
  sayAfterLoad(done)
  if (then === undefined) location.reload()
  else location.assign(then)
}

/** Send the sequence number. The API then rejects the change if someone else has changed the state in the meantime. */
async function changeDesired(url: string, change: (settings: Settings) => Settings): Promise<Answer> {
  const current = await askApi('GET', url)
  if (!current.ok) return current
  const { number, settings } = current.body as DesiredState
  return askApi('PUT', url, { number, settings: change(settings) })
}

function changedSettings(form: HTMLFormElement, { oauth = {}, ...others }: Settings): Settings {
  const { solution } = form.dataset
  if (solution === undefined) return { ...bodyOf(form), ...withOAuth(oauth) }
  const { [solution]: _, ...kept } = oauth
  const isRemoved = form.dataset.removes !== undefined
  return { ...others, ...withOAuth(isRemoved ? kept : { ...kept, [solution]: writtenDesiredOAuth(form) }) }
}

function withOAuth(oauth: NonNullable<Settings['oauth']>): Pick<Settings, 'oauth'> {
  return Object.keys(oauth).length === 0 ? {} : { oauth }
}

/** The settings contain only the secret's name, because its value stays on the Satellite. */
function writtenDesiredOAuth(form: HTMLFormElement): OAuthSettings {
  const name = form.querySelector<HTMLInputElement>('#oauth-secret')?.value.trim() ?? ''
  return { ...bodyOf(form), ...(name === '' ? {} : { apiSecret: `%%${name}%%` }) }
}
