import { PlatformError } from '../../runtime/errors.ts'
import { hostPortOf, namesPlaceOf } from '../../runtime/host-port.ts'
import { isJsonObject } from '../../runtime/json.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { OAuthProblem, quote } from './problems.ts'

/**
 * Sends all requests to providers. They go through `Outbound`, have limits on size and time, and don't follow
 * redirects.
 */
export interface ProviderRequests {
  /**
   * Checks a URL for requests or browser redirects. It must use https, or http if `OAUTH_ALLOWED_HOSTS` lists it, and
   * have no username, password or fragment.
   * @returns why the URL is rejected, worded to follow the setting's name; null if it is allowed
   */
  refusalOf(address: string): string | null
  /**
   * Reads a JSON object: a discovery document or a key set. Any response except a JSON object with status 200 is
   * rejected.
   * @param seen called with the headers of each response, with lowercase names
   * @throws OAuthProblem `oauth_provider`; `oauth_configuration` if the operator must list the host
   */
  getJson(address: string, seen?: (headers: Readonly<Record<string, string>>) => void): Promise<Record<string, unknown>>
  /** The `fetch` function for openid-client. Throws the same errors as `getJson` if there is no response. */
  readonly fetch: (address: string, options: ProviderFetch) => Promise<Response>
}

export type ProviderFetch = {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: unknown
}

export function createProviderRequests(
  outbound: Outbound,
  allowedHosts: readonly string[],
  limits: Pick<Limits, 'OAUTH_TIME' | 'OAUTH_SIZE'>,
): ProviderRequests {
  function refusalOf(address: string): string | null {
    const url = URL.parse(address)
    if (url === null || !/^https?:\/\/[^/\\]/i.test(address)) return 'must be an https URL'
    if (url.username !== '' || url.password !== '') return 'must not have a username or password'
    if (url.hash !== '' || address.includes('#')) return 'must not have a fragment'
    if (url.protocol === 'http:' && !namesPlaceOf(url, allowedHosts)) {
      const { host, port } = hostPortOf(url)
      return `must be an https URL, unless the operator allows http for ${host}:${port} in OAUTH_ALLOWED_HOSTS`
    }
    return null
  }

  async function request(address: string, method: string, headers: Record<string, string>, body: string | null) {
    const refusal = refusalOf(address)
    if (refusal !== null)
      throw new OAuthProblem('oauth_configuration', `the provider’s URL ${originOf(address)}${refusal}`)
    try {
      return await outbound.request({
        url: address,
        method,
        headers,
        body,
        maxBytes: limits.OAUTH_SIZE,
        timeoutMs: limits.OAUTH_TIME,
      })
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      const isOurs = error.code === 'ERR_OUTBOUND_PRIVATE' || error.code === 'ERR_OUTBOUND_INVALID'
      if (isOurs) throw new OAuthProblem('oauth_configuration', error.message, { cause: error })
      const isSilent = error.code === 'ERR_OUTBOUND_FAILED' || error.code === 'ERR_OUTBOUND_TIME'
      throw new OAuthProblem('oauth_provider', error.message, {
        cause: error,
        ...(isSilent ? { detail: 'unreachable' } : {}),
      })
    }
  }

  return {
    refusalOf,
    async getJson(address, seen) {
      const { host } = new URL(address)
      const { status, headers, body } = await request(address, 'GET', { accept: 'application/json' }, null)
      seen?.(headers)
      if (status !== 200) throw new OAuthProblem('oauth_provider', `${host} returned HTTP ${status}, not 200`)
      const value = readObject(body)
      if (value === null) throw new OAuthProblem('oauth_provider', `${host} did not return a JSON object`)
      return value
    },
    async fetch(address, { method, headers, body }) {
      const text = body === undefined || body === null ? null : String(body)
      const answer = await request(address, method, { ...headers }, text)
      // Some servers send other numbers, such as 999. A `Response` can't have them.
      if (answer.status < 200 || answer.status > 599)
        throw new OAuthProblem('oauth_provider', `${new URL(address).host} returned HTTP ${answer.status}`)
      const hasNoBody = [204, 205, 304].includes(answer.status)
      const response = new Response(hasNoBody ? null : new Uint8Array(answer.body), {
        status: answer.status,
        headers: { ...answer.headers },
      })
      Object.defineProperty(response, 'url', { value: address })
      return response
    },
  }
}

function readObject(body: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}

/** Shows only the URL's origin, because the rest may contain secrets, such as a password. Empty if there is none. */
function originOf(address: string): string {
  const url = URL.parse(address)
  return url === null || url.host === '' ? '' : `${quote(`${url.protocol}//${url.host}`)} `
}
