import { askApi } from '../../../base/web/scripts/api.ts'
import { bodyOf } from '../../../base/web/scripts/form-body.ts'
import { problemPlace, showProblem } from '../../../base/web/scripts/problem.ts'
import { isSure } from '../../../base/web/scripts/question.ts'
import { sayAfterLoad } from '../../../base/web/scripts/said.ts'

/** Grants as the API shows and takes them. */
type GrantsOfSolution = { databases: Record<string, object>; http: string[]; users: boolean }

/**
 * A form with `data-grants` changes one of a solution's grants; its value is their address. `data-kind` is `database`,
 * `http` or `users`, `data-name` which one. With `data-revoke` it is taken away, else the form's fields are what is granted.
 */
export function takeOverGrants(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || form.dataset.grants === undefined) return
    event.preventDefault()
    void changeGrant(form, form.dataset.grants)
  })
}

async function changeGrant(form: HTMLFormElement, address: string): Promise<void> {
  if (form.getAttribute('aria-busy') === 'true') return
  const { sure, done = '' } = form.dataset
  if (sure !== undefined && !(await isSure(sure))) return
  form.setAttribute('aria-busy', 'true')
  // The API takes all grants at once: what others changed since the page was made stays.
  const known = await askApi('GET', address)
  const answer = known.ok ? await askApi('PUT', address, changed(known.body as GrantsOfSolution, form)) : known
  form.removeAttribute('aria-busy')
  if (answer.ok) {
    sayAfterLoad(done)
    location.reload()
  } else showProblem(problemPlace(form), answer.problem)
}

function changed(grants: GrantsOfSolution, form: HTMLFormElement): GrantsOfSolution {
  const { kind, name = '', revoke } = form.dataset
  const isGranted = revoke === undefined
  if (kind === 'users') return { ...grants, users: isGranted }
  if (kind === 'http') {
    const others = grants.http.filter((host) => host !== name)
    return { ...grants, http: isGranted ? [...others, name] : others }
  }
  const databases = Object.fromEntries(Object.entries(grants.databases).filter(([each]) => each !== name))
  if (isGranted) databases[name] = bodyOf(form)
  return { ...grants, databases }
}
