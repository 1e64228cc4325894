import { goTo } from '../../base/http/go-to.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { Arrival } from './arrival.ts'

/** A user who is signed in, and where to send their browser. */
export type SignedIn = {
  readonly username: string
  /** The URL that a script set, which replaces `page`; or null. */
  readonly showUrl: string | null
  readonly page: string
  /** The locale of the page that `sendToAddress` shows before a redirect to another origin. */
  readonly locale: string
}

/**
 * The last step of a sign-in. Redirects the browser to the URL that a script set, or otherwise to the requested page.
 */
export function redirectSignedIn(
  { ctx, serverUrl }: Arrival,
  { showUrl, page, locale }: Omit<SignedIn, 'username'>,
): void {
  if (showUrl === null) goTo(ctx, page)
  else sendToAddress(ctx, showUrl, serverUrl, locale)
}
