const DAY = 86_400_000

/** Determines the scopes and expiry of a new token from the choices in the form. */
export function takeOverTokenForm(): void {
  const form = document.querySelector<HTMLFormElement>('form[data-token]')
  if (form === null) return
  const showChosen = () => {
    for (const part of form.querySelectorAll<HTMLFieldSetElement>('fieldset[data-kind]')) {
      part.hidden = part.dataset.kind !== kindOf(form)
      part.disabled = part.hidden
    }
    showUntil(form)
  }
  showChosen()
  form.addEventListener('change', showChosen)
  // Must run before the document's submit listener sends the form.
  form.addEventListener('submit', () => {
    setIn(form, 'scopes', JSON.stringify(scopesOf(form)))
    setIn(form, 'permissions', JSON.stringify(permissionsOf(form)))
    setIn(form, 'expiresAt', JSON.stringify(expiryOf(form)))
  })
  form.addEventListener('api-done', () => showUse(form))
}

/** Shows only the commands that the new token can run. */
function showUse(form: HTMLFormElement): void {
  const scopes = scopesOf(form)
  const canDeploy = scopes.some((scope) => scope === 'admin' || /^solutions:.*:write$/.test(scope))
  const isCaller = kindOf(form) === 'call'
  const uses: Readonly<Record<string, boolean>> = { deploy: canDeploy, call: isCaller, api: !isCaller }
  for (const part of document.querySelectorAll<HTMLElement>('[data-use]')) {
    part.hidden = uses[part.dataset.use ?? ''] !== true
  }
  for (const place of document.querySelectorAll<HTMLElement>('[data-endpoints]')) {
    const solution = valueIn(form, 'call-solution').trim()
    place.textContent = (place.dataset.endpoints ?? '').replaceAll('{name}', solution)
  }
}

/** The date is required when it is shown, because an empty date would mean that the token never expires. */
function showUntil(form: HTMLFormElement): void {
  const until = form.querySelector<HTMLElement>('[data-until]')
  const field = fieldIn(form, 'until')
  if (until === null || field === null) return
  field.required = valueIn(form, 'lifetime') === 'until'
  until.hidden = !field.required
}

function kindOf(form: HTMLFormElement): string {
  return form.querySelector<HTMLInputElement>('input[name=kind]:checked')?.value ?? ''
}

function scopesOf(form: HTMLFormElement): readonly string[] {
  if (kindOf(form) === 'author') return [`solutions:${valueIn(form, 'author-solution').trim()}:write`]
  if (kindOf(form) === 'call') return [`solutions:${valueIn(form, 'call-solution').trim()}:call`]
  if (kindOf(form) === 'admin') return ['admin']
  const subjects = [...form.querySelectorAll<HTMLSelectElement>('select[data-subject]')]
  const chosen = subjects.filter(({ value }) => value !== '').map(({ dataset, value }) => `${dataset.subject}:${value}`)
  const right = valueIn(form, 'solutions-right')
  const solutions = valueIn(form, 'solutions').split(/[\s,]+/)
  const named = solutions.filter((name) => name !== '' && right !== '').map((name) => `solutions:${name}:${right}`)
  return [...named, ...chosen]
}

/** The new token's permissions. Only tokens for calling endpoints have any. */
function permissionsOf(form: HTMLFormElement): readonly string[] {
  if (kindOf(form) !== 'call') return []
  const names = valueIn(form, 'call-permissions').split('\n')
  return names.map((name) => name.trim()).filter((name) => name !== '')
}

/** @returns the expiry in epoch ms; null if the token never expires */
function expiryOf(form: HTMLFormElement): number | null {
  const lifetime = valueIn(form, 'lifetime')
  if (lifetime === 'never') return null
  if (lifetime === 'until') return Date.parse(`${valueIn(form, 'until')}Z`)
  return Date.now() + Number(lifetime) * DAY
}

function fieldIn(form: HTMLFormElement, id: string): HTMLInputElement | null {
  return form.querySelector(`#token-${id}`)
}

function valueIn(form: HTMLFormElement, id: string): string {
  return fieldIn(form, id)?.value ?? ''
}

function setIn(form: HTMLFormElement, id: string, value: string): void {
  const field = fieldIn(form, id)
  if (field !== null) field.value = value
}
