import { allowPage } from '../../base/http/content-security.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import type { Arrival } from '../login/arrival.ts'
import { stepOverPage } from '../web/pages.ts'

/** Sends one of the platform's pages in a solution. */
export function sendPage(
  { ctx, locale }: Pick<Arrival, 'ctx' | 'locale'>,
  status: number,
  render: (frame: { readonly locale: string; readonly nonce: string }) => string,
): void {
  const nonce = createNonce()
  allowPage(ctx, nonce)
  ctx.vary('Accept-Language')
  sendHtml(ctx, status, render({ locale, nonce }))
}

/** The sign-in has expired or was completed, or the form came from another page. */
export function sendStepOver(arrival: Arrival): void {
  const { solution } = arrival
  const href = `/solution/${solution.name}/index.html`
  sendPage(arrival, 410, (frame) => stepOverPage(frame, { solution: solution.manifest, href }))
}
