import type { Arrival } from '../login/arrival.ts'
import { sendPage } from '../login/send-page.ts'
import { stepOverPage } from '../web/pages.ts'
import type { SecondStepParts } from './second-step-parts.ts'

/**
 * The data that the templates of all pages with a form need.
 * @param action the path that the form is sent to
 */
export function formModel(
  { ctx, scope, solution }: Arrival,
  action: string,
  { formTokens }: Pick<SecondStepParts, 'formTokens'>,
) {
  const { title } = solution.manifest
  return { solution: { title }, action, formToken: formTokens.issue(ctx, scope) }
}

/** Sends the page for a sign-in that has expired or was completed, or for a form that came from another page. */
export function sendStepOver(arrival: Arrival): void {
  const { solution } = arrival
  const href = `/solution/${solution.name}/index.html`
  sendPage(arrival, 410, (frame) => stepOverPage(frame, { solution: solution.manifest, href }))
}
