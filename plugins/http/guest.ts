import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'
import { createAnswers } from './answer.guest.ts'

type Answer = { readonly status: number; readonly headers: readonly [string, string][]; readonly text: string }
type Init = { readonly method: string; readonly headers: [string, string][]; readonly body: string | null }

export default function http(api: GuestApi<null, true>) {
  const { safe } = api
  const answer = createAnswers(api)
  const { parse } = JSON
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
  const settings = ['method', 'headers', 'body']

  function wrong(what: string): TypeError {
    return new safe.TypeError(`plugins.http.fetch: ${what}`)
  }

  function isOneOf(value: string, list: readonly string[]): boolean {
    for (let index = 0; index < list.length; index++) if (list[index] === value) return true
    return false
  }

  function readUrl(value: unknown): string {
    if (typeof value === 'string' && value.length <= 8192 && safe.match(/^https?:\/\//i, value) !== null) return value
    throw wrong('url must be an http or https URL of at most 8192 characters')
  }

  function readInit(value: unknown): Init {
    if (value === undefined || value === null) return { method: 'GET', headers: api.list(), body: null }
    if (typeof value !== 'object' || safe.isArray(value)) throw wrong('init must be an object')
    const names = safe.keys(value)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      if (!isOneOf(name, settings))
        throw wrong(`init has the unknown property ${safe.describe(name)}; only method, headers and body are allowed`)
    }
    // Reads each property once, so that a getter cannot return a different value after the check.
    const { method, headers, body } = value as { method?: unknown; headers?: unknown; body?: unknown }
    const readMethodName = readMethod(method)
    return { method: readMethodName, headers: readHeaders(headers), body: readBody(body, readMethodName) }
  }

  function readMethod(value: unknown): string {
    if (value === undefined || value === null) return 'GET'
    const method = typeof value === 'string' ? safe.upperCase(value) : ''
    if (isOneOf(method, methods)) return method
    throw wrong('init.method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS')
  }

  function readHeaders(value: unknown): [string, string][] {
    const read = api.list<[string, string]>()
    if (value === undefined || value === null) return read
    if (typeof value !== 'object' || safe.isArray(value))
      throw wrong('init.headers must be an object that maps names to strings')
    const names = safe.keys(value)
    if (names.length > 64) throw wrong('init.headers must have at most 64 headers')
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      const text = (value as Record<string, unknown>)[name]
      if (typeof text !== 'string') throw wrong(`init.headers: the value of "${name}" must be a string`)
      read[index] = [name, text]
    }
    return read
  }

  function readBody(value: unknown, method: string): string | null {
    if (value === undefined || value === null) return null
    if (typeof value !== 'string') throw wrong('init.body must be a string')
    if (method === 'GET' || method === 'HEAD') throw wrong(`a ${method} request cannot have a body`)
    return value
  }

  function answerOf({ status, headers: pairs, text }: Answer) {
    const headers = api.record<string>()
    for (let index = 0; index < pairs.length; index++) {
      const pair = pairs[index] as [string, string]
      headers[pair[0]] = pair[1]
    }
    return safe.freeze({
      status,
      ok: status >= 200 && status <= 299,
      headers: safe.freeze(headers),
      text,
      json: safe.freeze(() => parse(text) as unknown),
    })
  }

  /** Throws a new error whose stack contains the script's line. The original error was created outside the script. */
  async function answered(answer: Promise<unknown>): Promise<Answer> {
    try {
      return (await answer) as Answer
    } catch (error) {
      if (api.isQuotaError(error)) throw error
      throw new safe.Error((error as Error).message)
    }
  }

  return {
    answer,
    async fetch(url: unknown, init?: unknown) {
      const address = readUrl(url)
      const { method, headers, body } = readInit(init)
      const changes = method !== 'GET' && method !== 'HEAD'
      const answer = changes
        ? api.request('send', [address, method, headers, body])
        : api.request('fetch', [address, method, headers])
      return answerOf(await answered(answer))
    },
  }
}
