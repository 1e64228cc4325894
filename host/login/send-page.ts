import { allowPage } from '../../base/http/content-security.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import type { Arrival } from './arrival.ts'

/** Sends one of the platform's own pages within a solution, such as the page for a new password. */
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
