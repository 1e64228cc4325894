import { isAllowedAddress } from '../../runtime/address.ts'
import { z } from '../../runtime/zod.ts'
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

/** The response that an endpoint's function returned. */
export type EndpointAnswer = {
  readonly status: number
  /** The headers, keyed by lowercase name. */
  readonly headers: ReadonlyMap<string, string>
  /** The body; null if the response has none. */
  readonly body: string | null
}

const Headers = z
  .record(
    z
      .string()
      .regex(ANSWER_HEADER)
      .refine((name) => !RESERVED_HEADER.test(name)),
    z.string().regex(HEADER_VALUE),
  )
  .refine((headers) => Object.keys(headers).length <= MOST_ANSWER_HEADERS)
  .refine(({ location }) => location === undefined || isAllowedAddress(location))
  .refine(({ 'content-type': type }) => type === undefined || isPassiveType(type))

const Result = z.union([
  z.strictObject({ value: z.unknown() }),
  z.strictObject({
    status: z.int().refine(isStatus),
    headers: Headers,
    value: z.unknown().optional(),
    text: z.string().optional(),
  }),
])

/**
 * Reads the guest's result, and applies the rules again.
 * @param result null if the function returned nothing
 * @throws TypeError if only a modified guest can have sent the result. The process must then not be reused.
 */
export function readEndpointAnswer(result: string | null, largest: number): EndpointAnswer {
  if (result === null) return { status: 204, headers: new Map(), body: null }
  const read = Result.safeParse(parsed(result))
  if (!read.success)
    throw new TypeError('the sandbox process returned a response that plugins.http.answer cannot create')
  const { data } = read
  const headers = new Map('headers' in data ? Object.entries(data.headers) : [])
  const status = 'status' in data ? data.status : 200
  const type = headers.get('content-type')
  const text = 'text' in data ? data.text : undefined
  if (text !== undefined && (type === undefined || JSON_TYPE.test(type))) {
    throw new TypeError('the sandbox process returned a text response with a JSON content type or no content type')
  }
  const body = text ?? ('value' in data && data.value !== undefined ? JSON.stringify(data.value) : null)
  if (body !== null && Buffer.byteLength(body) > largest) throw new AnswerTooLarge(Buffer.byteLength(body))
  return { status, headers, body }
}

/**
 * Thrown if the response is larger than `ANSWER_SIZE` in bytes. The guest has checked only the number of characters.
 */
export class AnswerTooLarge extends Error {
  readonly used: number

  constructor(used: number) {
    super('the response is larger than ANSWER_SIZE allows')
    this.used = used
  }
}

function isStatus(status: number): boolean {
  return (status >= 200 && status <= 299) || status === 303 || status === 307 || (status >= 400 && status <= 599)
}

function isPassiveType(type: string): boolean {
  return CONTENT_TYPE.test(type) && !ACTIVE_TYPE.test(type) && !OTHER_CHARSET.test(type)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
