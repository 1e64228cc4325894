import { answerOf, csrfToken, type Problem } from '../../../base/web/scripts/api.ts'
import { pageData } from './page-data.ts'

/** A problem document from the API, with the additional members in responses about drafts. */
export type HostProblem = Problem & {
  readonly etag?: string | null
  readonly active?: string | null
  readonly version?: string
  readonly activatedAt?: number
  readonly activatedBy?: string
}

export type HostAnswer<Body> =
  | { readonly ok: true; readonly body: Body }
  | { readonly ok: false; readonly problem: HostProblem }

export type HostCall = {
  readonly body?: unknown
  /** The etag for `If-Match`, from the page's last read of the file; null if the file must not exist yet. */
  readonly etag?: string | null
  /** Whether the browser finishes the request after the page is closed. */
  readonly keepalive?: boolean
}

let sessionToken = csrfToken()

/** The path of a file in the API, relative to the path of the draft. */
export function filePath(path: string): string {
  return `/files/${path.split('/').map(encodeURIComponent).join('/')}`
}

/**
 * Calls the draft's API. Unlike other pages, the workbench stays open after the user has been signed out. If they sign
 * in again in another tab, the next call is repeated with the new session's CSRF token.
 */
export async function callHost<Body>(method: string, path: string, call: HostCall = {}): Promise<HostAnswer<Body>> {
  const answer = await callOnce<Body>(method, path, call)
  const isOfOldSession = !answer.ok && (answer.problem.status === 401 || answer.problem.code === 'ERR_FOREIGN_ORIGIN')
  if (!isOfOldSession || call.keepalive === true || !(await renewSessionToken())) return answer
  return callOnce<Body>(method, path, call)
}

async function callOnce<Body>(method: string, path: string, call: HostCall): Promise<HostAnswer<Body>> {
  const { body, etag, keepalive = false } = call
  const headers = new Headers({ 'X-CSRF-Token': sessionToken })
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  if (etag !== undefined) headers.set(etag === null ? 'If-None-Match' : 'If-Match', etag === null ? '*' : `"${etag}"`)
  try {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${pageData.api}${path}`, { method, headers, keepalive, ...sent })
    return answerOf(answer.status, await answer.text()) as HostAnswer<Body>
  } catch {
    return { ok: false, problem: { status: 0 } }
  }
}

/** Loads the CSRF token of the current session. @returns false if no user is signed in */
async function renewSessionToken(): Promise<boolean> {
  try {
    const answer = await fetch(pageData.session)
    if (!answer.ok) return false
    sessionToken = ((await answer.json()) as { csrfToken: string }).csrfToken
    return true
  } catch {
    return false
  }
}
