import { showTestRuns, showTestSteps } from './test-steps.ts'

/** Handles the form that tests a directory. The test runs automatically after the settings are saved. */
export function takeOverDirectoryTest(): void {
  const form = document.querySelector<HTMLFormElement>('#test-form')
  const place = document.querySelector<HTMLElement>('#test-results')
  if (form === null || place === null) return
  form.addEventListener('submit', () => showTestRuns(place))
  form.addEventListener('api-done', (event) => {
    // Remove the result of the previous test.
    document.querySelector('#last-test')?.remove()
    showTestSteps(place, (event as CustomEvent<unknown>).detail)
  })
  form.addEventListener('api-failed', () => place.replaceChildren())
  if (new URLSearchParams(location.search).has('test')) {
    history.replaceState(null, '', location.pathname)
    form.requestSubmit()
  }
}
