type OAuthTestStep = { readonly step: string; readonly result: string; readonly message: string }

/** Shows that the test is running. */
export function showOAuthTestRuns(): void {
  const place = resultsPlace()
  const text = document.createElement('p')
  text.textContent = place.dataset.running ?? ''
  place.replaceChildren(text)
}

/**
 * Shows the result of each test step, in a live region.
 * @param unsaved text to show for the secret if the entered one could not be tested
 */
export function showOAuthResults(answer: unknown, unsaved: string | null): void {
  const { steps } = answer as { readonly steps: readonly OAuthTestStep[] }
  const place = resultsPlace()
  const title = document.createElement('h3')
  title.textContent = place.dataset.title ?? ''
  const list = document.createElement('ol')
  list.className = 'tested'
  list.append(...steps.map((one) => resultItem(place, one, unsaved)))
  place.replaceChildren(title, list)
}

function resultItem(place: HTMLElement, { step, result, message }: OAuthTestStep, unsaved: string | null): HTMLElement {
  const isUnsaved = step === 'secret' && unsaved !== null
  const shown = isUnsaved ? 'skipped' : result
  const state = document.createElement('span')
  state.className = `state ${{ ok: 'state-good', failed: 'state-bad' }[shown] ?? 'state-quiet'}`
  state.textContent = place.dataset[shown] ?? shown
  const name = document.createElement('strong')
  name.textContent = place.getAttribute(`data-step-${step}`) ?? step
  const text = document.createElement('p')
  text.textContent = isUnsaved ? unsaved : message
  // Messages from the API are in English.
  if (!isUnsaved) text.lang = 'en'
  const item = document.createElement('li')
  item.append(name, ' ', state, text)
  return item
}

function resultsPlace(): HTMLElement {
  return document.querySelector('#oauth-results') as HTMLElement
}
