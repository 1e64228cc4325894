type TestStep = { readonly step: string; readonly result: string; readonly message: string }

/** Shows in a live region that a test is running. The region's data attributes contain the texts. */
export function showTestRuns(place: HTMLElement): void {
  const text = document.createElement('p')
  text.textContent = place.dataset.running ?? ''
  place.replaceChildren(text)
}

/**
 * Shows the result of each test step, and what to do about those that failed.
 * @param replaced texts by step; each explains why that step could not be tested, and is shown instead of its result
 */
export function showTestSteps(
  place: HTMLElement,
  answer: unknown,
  replaced: Readonly<Record<string, string | undefined>> = {},
): void {
  const { steps } = answer as { readonly steps: readonly TestStep[] }
  const title = document.createElement('h3')
  title.textContent = place.dataset.title ?? ''
  const list = document.createElement('ol')
  list.className = 'tested'
  list.append(...steps.map((one) => resultItem(place, one, replaced[one.step])))
  place.replaceChildren(title, list)
}

function resultItem(place: HTMLElement, { step, result, message }: TestStep, unsaved: string | undefined): HTMLElement {
  const shown = unsaved === undefined ? result : 'skipped'
  const state = document.createElement('span')
  state.className = `state ${{ ok: 'state-good', failed: 'state-bad' }[shown] ?? 'state-quiet'}`
  state.textContent = place.dataset[shown] ?? shown
  const name = document.createElement('strong')
  name.textContent = place.getAttribute(`data-step-${step}`) ?? step
  const text = document.createElement('p')
  text.textContent = unsaved ?? message
  // Messages from the API are always in English.
  if (unsaved === undefined) text.lang = 'en'
  const item = document.createElement('li')
  item.append(name, ' ', state, text)
  const advice = place.getAttribute(`data-advice-${step}`)
  if (shown === 'failed' && advice !== null) item.append(stepAdvice(advice))
  return item
}

function stepAdvice(advice: string): HTMLElement {
  const line = document.createElement('p')
  line.className = 'advice'
  line.textContent = advice
  return line
}
