import { problemPlace } from './problem.ts'
import { showProviderFields } from './provider-fields.ts'

/**
 * Shows one step of the OAuth settings wizard at a time, with the fields of the chosen provider. Both steps are in one
 * form, so no input is lost between them or put into a URL.
 * @param save called when the user completes the last step
 */
export function takeOverOAuthSteps(form: HTMLFormElement, save: () => void): void {
  showOAuthStep(form, 1)
  showProviderFields(form)
  form.addEventListener('input', () => showProviderFields(form))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (stepOf(form) === 1) goToOAuthStep(form, 2)
    else save()
  })
  document.querySelector('#oauth-back')?.addEventListener('click', () => goToOAuthStep(form, 1))
}

function stepOf(form: HTMLFormElement): number {
  return Number(form.dataset.shown)
}

function showOAuthStep(form: HTMLFormElement, step: number): void {
  form.dataset.shown = String(step)
  for (const part of form.querySelectorAll<HTMLElement>('[data-step]')) part.hidden = part.dataset.step !== String(step)
  for (const part of form.querySelectorAll<HTMLElement>('[data-steps-only]')) part.hidden = false
  const steps = document.querySelector<HTMLElement>('#oauth-steps')
  if (steps === null) return
  steps.hidden = false
  for (const [index, item] of [...steps.children].entries()) {
    if (index === step - 1) item.setAttribute('aria-current', 'step')
    else item.removeAttribute('aria-current')
  }
}

export function goToOAuthStep(form: HTMLFormElement, step: number): void {
  showOAuthStep(form, step)
  problemPlace(form).hidden = true
  form.querySelector<HTMLElement>(`[data-step="${step}"] legend`)?.focus()
}
