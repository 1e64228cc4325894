import type { TestHost } from './host.ts'
import { type Answer, ask } from './http.ts'

export type SendOptions = { readonly headers?: Record<string, string>; readonly authorization?: string }

/**
 * Returns functions that send requests to a host's admin API, by default as the admin account. A request's body is sent
 * as JSON.
 */
export function apiOf(host: () => Pick<TestHost, 'url' | 'admin'>) {
  function send(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Answer> {
    const { headers = {}, authorization = host().admin } = options
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    return ask(`${host().url}/admin/api${path}`, {
      method,
      headers: { authorization, ...type, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }
  return {
    send,
    /**
     * Sends a GET request.
     * @returns the response's parsed JSON
     */
    get: async (path: string) => (await send('GET', path)).json() as Record<string, unknown>,
    items: async (path: string) => ((await send('GET', path)).json() as { items: Record<string, unknown>[] }).items,
  }
}

/** Returns the status and the error code in the response to a rejected request. */
export function codeOf(answer: Answer): [status: number, code: string] {
  return [answer.status, (answer.json() as { code: string }).code]
}
