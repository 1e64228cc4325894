import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'
import {
  ACTIVE_TYPE,
  ANSWER_HEADER,
  CONTENT_TYPE,
  HEADER_VALUE,
  JSON_TYPE,
  MOST_ANSWER_HEADERS,
  OTHER_CHARSET,
  RESERVED_HEADER,
} from './answer-rules.guest.ts'

const { stringify } = JSON
const SafeWeakMap = WeakMap
const { get: weakGet, set: weakSet } = WeakMap.prototype

/** Creates `plugins.http.answer`. Only objects that this function returned are treated as responses. */
export function createAnswers(api: GuestApi<null, true>) {
  const { safe } = api
  /** The JSON text of each response. Null at first, because the snapshot can't contain a WeakMap with entries. */
  let texts: WeakMap<object, string> | null = null

  api.onReturn((value) => {
    if (texts === null || typeof value !== 'object' || value === null) return null
    return safe.apply(weakGet as () => string | undefined, texts, [value]) ?? null
  })

  function wrong(what: string): TypeError {
    return new safe.TypeError(`plugins.http.answer: ${what}`)
  }

  function needStatus(status: unknown): number {
    const known =
      typeof status === 'number' &&
      status % 1 === 0 &&
      ((status >= 200 && status <= 299) || status === 303 || status === 307 || (status >= 400 && status <= 599))
    if (known) return status
    throw wrong('status must be 200 to 299, 303, 307 or 400 to 599')
  }

  function readHeaders(value: unknown): Record<string, string> {
    const read = api.record<string>()
    if (value === undefined || value === null) return read
    if (typeof value !== 'object' || safe.isArray(value))
      throw wrong('headers must be an object that maps names to strings')
    const names = safe.keys(value)
    if (names.length > MOST_ANSWER_HEADERS) throw wrong(`headers may have at most ${MOST_ANSWER_HEADERS} entries`)
    for (let index = 0; index < names.length; index++) {
      const given = names[index] as string
      const name = safe.lowerCase(given)
      if (safe.match(ANSWER_HEADER, name) === null || safe.match(RESERVED_HEADER, name) !== null) {
        throw wrong(`the header "${safe.slice(given, 0, 80)}" can’t be set`)
      }
      if (read[name] !== undefined) throw wrong(`the header "${name}" is set twice`)
      read[name] = needValue(name, (value as Record<string, unknown>)[given])
    }
    return read
  }

  function needValue(name: string, value: unknown): string {
    if (typeof value !== 'string' || safe.match(HEADER_VALUE, value) === null) {
      throw wrong(`the value of the header "${name}" must be a string of 1 to 4096 visible ASCII characters and spaces`)
    }
    if (name === 'location' && !api.isAllowedAddress(value)) {
      throw wrong('location must be an http, https or mailto URL or a path that starts with "/"')
    }
    if (name === 'content-type') needType(value)
    return value
  }

  function needType(type: string): void {
    if (safe.match(CONTENT_TYPE, type) === null) throw wrong('content-type must be a media type such as text/csv')
    if (safe.match(ACTIVE_TYPE, type) !== null) {
      throw wrong(`the content type ${type} is not allowed, because browsers render or run it`)
    }
    if (safe.match(OTHER_CHARSET, type) !== null) throw wrong('the charset of content-type must be utf-8')
  }

  /** Returns the result's JSON property that contains the body. */
  function bodyText(body: unknown, type: string | undefined): string {
    const allowed = api.limits.ANSWER_SIZE as number
    if (type !== undefined && safe.match(JSON_TYPE, type) === null) {
      if (typeof body !== 'string') throw wrong(`the body must be a string, because the content type is ${type}`)
      if (body.length > allowed) throw api.quotaError('ANSWER_SIZE', allowed, body.length, 'plugins.http.answer')
      return `"text":${stringify(body)}`
    }
    const text: unknown = stringify(body)
    if (typeof text !== 'string') throw wrong('the body cannot be converted to JSON')
    if (text.length > allowed) throw api.quotaError('ANSWER_SIZE', allowed, text.length, 'plugins.http.answer')
    return `"value":${text}`
  }

  return function answer(status: unknown, body?: unknown, headers?: unknown): object {
    if (api.state() !== true) throw wrong('this function can be called only in an endpoint')
    const code = needStatus(status)
    const read = readHeaders(headers)
    if ((code === 303 || code === 307) && read.location === undefined) {
      throw wrong(`status ${code} requires the header location`)
    }
    const isEmpty = body === undefined || body === null
    if (!isEmpty && (code === 204 || code === 205)) throw wrong(`a response with status ${code} cannot have a body`)
    const content = isEmpty ? '' : `,${bodyText(body, read['content-type'])}`
    const created = safe.freeze(api.record())
    texts ??= new SafeWeakMap()
    safe.apply(weakSet as () => unknown, texts, [created, `{"status":${code},"headers":${stringify(read)}${content}}`])
    return created
  }
}
