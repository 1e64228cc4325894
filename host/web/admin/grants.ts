import { askApi } from '../../../base/web/scripts/api.ts'
import { bodyOf } from '../../../base/web/scripts/form-body.ts'
import { problemPlace, showProblem } from '../../../base/web/scripts/problem.ts'
import { isSure } from '../../../base/web/scripts/question.ts'
import { sayAfterLoad } from '../../../base/web/scripts/said.ts'

/** Grants in the form that the API returns and accepts. */
type GrantsOfSolution = { databases: Record<string, object>; http: string[]; users: boolean }

/**
 * Handles forms that change one grant of a solution. `data-grants` is the API URL for the solution's grants.
 * `data-kind` is `database`, `http` or `users`, and `data-name` is the grant's name. A form with `data-revoke` removes
 * the grant; otherwise, the form's fields replace it.
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
  // Saving replaces all grants of the solution: read them first to keep changes that others have made since the page
  // was loaded.
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
