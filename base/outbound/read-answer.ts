import { certificateProblem } from './certificate-problem.ts'

/* Reads responses from a control center or collector, which may be malformed, too long or missing. */

/** @param most maximum size in bytes @returns null if the response is longer; the rest is not read */
export async function readAtMost(answer: Response, most: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of answer.body ?? []) {
    length += chunk.length
    if (length > most) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * Returns the delay that the server requests with `Retry-After`, in seconds or as a date (RFC 9110, section 10.2.3).
 * @param longest upper bound for the result, in ms
 * @returns in ms; null if the header is missing or invalid
 */
export function waitOf(answer: Response, longest: number): number | null {
  const header = answer.headers.get('retry-after')
  if (header === null) return null
  const wait = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(wait) ? null : Math.min(Math.max(wait, 0), longest)
}

/** Returns the error's code, such as ECONNREFUSED; null if there is none. */
export function codeOfFailure(error: unknown): string | null {
  const code = (error as { cause?: { code?: unknown } } | undefined)?.cause?.code
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : null
}

/**
 * Explains to the operator why there is no response. Uses the error code, because the message may contain addresses in
 * the operator's network.
 */
export function whyNoAnswer(error: unknown): string {
  if ((error as Error | undefined)?.name === 'TimeoutError') return 'the server did not respond in time'
  const code = codeOfFailure(error)
  if (code === null) return 'the connection failed'
  const problem = certificateProblem(code)
  return problem === null ? code : `the server’s certificate (${code}) ${problem}`
}
