import { keepFields } from './kept-fields.ts'

/** A problem document of the API (RFC 9457). */
export type Problem = {
  readonly status: number
  readonly code?: string
  readonly detail?: string
  readonly faults?: readonly Fault[]
}

export type Fault = {
  readonly file?: string
  readonly line?: number
  readonly column?: number
  readonly message: string
  readonly code?: string
  /** The source line that contains the error. */
  readonly source?: string | null
  /** How to fix the error. */
  readonly advice?: string | null
}

export type Answer = { readonly ok: true; readonly body: unknown } | { readonly ok: false; readonly problem: Problem }

/** Returns the token that each request contains to prove that the page sent it (CSRF). */
export function csrfToken(): string {
  return document.querySelector<HTMLMetaElement>('meta[name=csrf-token]')?.content ?? ''
}

/**
 * Calls the API. If the API is unreachable, the status of the result is 0. If the user has been signed out in the
 * meantime, redirects to the sign-in page. After the sign-in, the browser returns to this page, which fills in the
 * fields again.
 */
export async function askApi(method: string, address: string, body?: unknown): Promise<Answer> {
  const headers = { 'X-CSRF-Token': csrfToken(), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) }
  try {
    const answer = await fetch(address, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (answer.status === 401) {
      keepFields()
      signInAgain()
    }
    const result = answerOf(answer.status, await answer.text())
    if (!result.ok && result.problem.code === 'ERR_CONFIRMATION_NEEDED') confirmFirst()
    return result
  } catch {
    return { ok: false, problem: { status: 0 } }
  }
}

/**
 * Requests data that a page shows while it is open. The request is marked as unattended, so that a page that is left
 * open does not extend the session. If the user has been signed out in the meantime, redirects to the sign-in page.
 */
export async function askUnattended(
  address: string,
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  const own = { 'X-CSRF-Token': csrfToken(), 'X-Unattended': '1' }
  const answer = await fetch(address, { headers: { ...headers, ...own }, signal })
  if (answer.status === 401) signInAgain()
  return answer
}

export function answerOf(status: number, text: string): Answer {
  const body = parsed(text)
  if (status >= 200 && status < 300) return { ok: true, body }
  return { ok: false, problem: { ...(typeof body === 'object' ? body : {}), status } }
}

export function signInAgain(): void {
  location.assign(addressOf('sign-in'))
}

/**
 * Redirects to the page where the user confirms their identity. Afterwards, the browser returns to this page, which
 * fills in the fields again.
 */
function confirmFirst(): void {
  keepFields()
  location.assign(addressOf('confirm'))
}

function addressOf(page: 'sign-in' | 'confirm'): string {
  const signIn = document.querySelector<HTMLMetaElement>('meta[name=sign-in]')?.content ?? ''
  const address = signIn.replace(/sign-in$/, page)
  return `${address}?to=${encodeURIComponent(location.pathname + location.search)}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
