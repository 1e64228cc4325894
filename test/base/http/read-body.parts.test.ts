import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2, constants, createServer as createHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import Koa, { type Context } from 'koa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBytes, readForm, readFormPairs, readJson, readOptionalJson } from '../../../base/http/read-body.ts'
import type { PlatformError } from '../../../runtime/errors.ts'
import type { Limits } from '../../../runtime/limits.ts'

const LIMIT = 1000
const limits = { JSON_BODY: LIMIT, FORM_BODY: LIMIT, FORM_FIELDS: 5 } as Limits

const READERS: Record<string, (ctx: Context) => Promise<unknown>> = {
  json: (ctx) => readJson(ctx, limits),
  optional: (ctx) => readOptionalJson(ctx, limits),
  form: async (ctx) => [...(await readForm(ctx, limits))],
  pairs: (ctx) => readFormPairs(ctx, limits),
  bytes: async (ctx) => (await readBytes(ctx, ['application/zip'], LIMIT)).toString('hex'),
  // Work before the body is read, such as a database query, may take longer than the connection stays open.
  late: async (ctx) => {
    await new Promise((resolve) => ctx.req.once('close', resolve))
    return readJson(ctx, limits)
  },
}
const TYPES: Record<string, string> = {
  form: 'application/x-www-form-urlencoded',
  pairs: 'application/x-www-form-urlencoded',
  bytes: 'application/zip',
}
const typeOf = (reader: string) => TYPES[reader] ?? 'application/json'

type Outcome = { value?: unknown; code?: string; message?: string }
const begun = new Set<string>()
const errors = new Map<string, PlatformError>()

const app = new Koa()
app.silent = true
app.use(async (ctx) => {
  begun.add(ctx.querystring)
  try {
    ctx.body = { value: await READERS[ctx.path.slice(1)]?.(ctx) } satisfies Outcome
  } catch (error) {
    const { code, message } = error as PlatformError
    errors.set(ctx.querystring, error as PlatformError)
    ctx.body = { code, message } satisfies Outcome
  }
})
const server = createServer(app.callback())
const http2 = createHttp2(app.callback())
const portOf = (of: typeof server | typeof http2) => (of.address() as AddressInfo).port

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  http2.listen(0, '127.0.0.1')
  await Promise.all([once(server, 'listening'), once(http2, 'listening')])
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
  http2.close()
})

const isComplete = (text: string) => text.split('\r\n\r\n')[1]?.endsWith('}') === true

/** Sends these bytes after the headers, and waits for the response without completing the body. */
async function send(
  reader: string,
  headers: string[],
  body: string | Buffer = '',
  type = typeOf(reader),
): Promise<Outcome> {
  const socket = connect(portOf(server), '127.0.0.1').on('error', () => {})
  socket.write(`DELETE /${reader} HTTP/1.1\r\n${['Host: a', `Content-Type: ${type}`, ...headers].join('\r\n')}\r\n\r\n`)
  socket.write(body)
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    if (isComplete(text)) break
  }
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n')))
}

const sendWhole = (reader: string, body: string | Buffer, headers: string[] = []) =>
  send(reader, [`Content-Length: ${Buffer.byteLength(body)}`, ...headers], body)

/** JSON parsers quote their input in error messages, so the tests check that no response contains this text. */
const secret = 'swordfish'

test.each<[what: string, reader: string, body: string | Buffer, outcome: Outcome]>([
  ['an object', 'json', '{"a":[1,"ü"]}', { value: { a: [1, 'ü'] } }],
  ['null, which the route’s schema rejects', 'json', 'null', { value: null }],
  [
    'a body that is not JSON',
    'json',
    `{"a":"${secret}`,
    { code: 'ERR_BAD_REQUEST', message: 'The request body is not valid JSON. Check its syntax.' },
  ],
  [
    'an empty body',
    'json',
    '',
    { code: 'ERR_BAD_REQUEST', message: 'The request body is not valid JSON. Check its syntax.' },
  ],
  [
    'blanks',
    'json',
    ' \n',
    { code: 'ERR_BAD_REQUEST', message: 'The request body is not valid JSON. Check its syntax.' },
  ],
  ['an optional body', 'optional', '{}', { value: {} }],
  ['a missing optional body', 'optional', '', { value: null }],
  [
    'a key that would change the prototype',
    'json',
    `{"a":[{"\\u005f_proto__":"${secret}"}]}`,
    {
      code: 'ERR_BAD_REQUEST',
      message: 'The JSON in the request body has a key named "__proto__". Rename or remove it.',
    },
  ],
  [
    'a form, in the order of its fields',
    'pairs',
    'b=%C3%BC+1&a=2&b=3',
    {
      value: [
        ['b', 'ü 1'],
        ['a', '2'],
        ['b', '3'],
      ],
    },
  ],
  [
    'names that the qs parser would turn into nested objects',
    'form',
    'a[b]=1&a.c=2&__proto__=3',
    {
      value: [
        ['a[b]', '1'],
        ['a.c', '2'],
        ['__proto__', '3'],
      ],
    },
  ],
  [
    'a form with too many fields',
    'form',
    'a=1&a=1&a=1&a=1&a=1&a=1',
    { code: 'ERR_TOO_MANY_FIELDS', message: 'The form has 6 fields, but at most 5 are allowed. Send fewer fields.' },
  ],
  ['bytes', 'bytes', Buffer.from('ff00fe', 'hex'), { value: 'ff00fe' }],
])('reads %s', async (_what, reader, body, outcome) => {
  expect(await sendWhole(reader, body)).toEqual(outcome)
})

const tooLarge: Outcome = {
  code: 'ERR_BODY_TOO_LARGE',
  message: 'The request body is larger than the maximum of 1000 bytes. Send less data.',
}

test.each(['json', 'optional', 'form', 'bytes'])('%s: a body above the limit is rejected', async (reader) => {
  const sizes = [LIMIT + 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1]
  for (const size of sizes) expect(await send(reader, [`Content-Length: ${size}`])).toEqual(tooLarge)
  const chunk = `${(LIMIT + 1).toString(16)}\r\n${'1'.repeat(LIMIT + 1)}\r\n`
  expect(await send(reader, ['Transfer-Encoding: chunked'], chunk)).toEqual(tooLarge)
  expect(await sendWhole(reader, '1'.repeat(LIMIT))).not.toHaveProperty('code', 'ERR_BODY_TOO_LARGE')
})

test.each(['json', 'form', 'bytes'])('%s: a compressed body is rejected before it is read', async (reader) => {
  const bomb = gzipSync('1'.repeat(10 * LIMIT))
  for (const encoding of ['gzip', 'deflate', 'br', 'GZIP', 'gzip, gzip']) {
    const message = `The content encoding ${encoding} is not supported here. Send the request body uncompressed.`
    const outcome = { code: 'ERR_CONTENT_TYPE', message }
    expect(await sendWhole(reader, bomb, [`Content-Encoding: ${encoding}`])).toEqual(outcome)
    expect(await send(reader, ['Content-Length: 10', `Content-Encoding: ${encoding}`])).toEqual(outcome)
  }
  expect(await sendWhole('json', '{}', ['Content-Encoding: identity'])).toEqual({ value: {} })
})

test.each([
  ...['text/plain', 'text/json', 'application/vnd.api+json', 'application/json-patch+json', 'application/scim+json'],
  ...['json', 'application/json, text/plain', 'application/x-www-form-urlencoded'],
])('json: a body of type %s is rejected', async (type) => {
  const outcome = {
    code: 'ERR_CONTENT_TYPE',
    message: `The Content-Type header must be application/json, but is ${type}.`,
  }
  expect(await send('json', ['Content-Length: 2'], '{}', type)).toEqual(outcome)
})

test('an error does not quote the body', async () => {
  for (const body of [`{"a":"${secret}`, `{"__proto__":"${secret}"}`]) {
    errors.clear()
    await sendWhole('json', body)
    expect([...errors.values()]).toHaveLength(1)
    expect(inspect([...errors.values()], { depth: 9, showHidden: true })).not.toContain(secret)
  }
})

const CUT = 'The connection ended before the whole request body was received. Send the request again.'
const isBegun = (name: string) => expect.poll(() => begun.has(name)).toBe(true)
const isCut = (name: string) => expect.poll(() => errors.get(name)?.message).toBe(CUT)

test.each(['json', 'form', 'bytes', 'late'])('%s: a truncated body over HTTP/1.1 is an error', async (reader) => {
  for (const [how, head] of [
    ['destroy', 'Content-Length: 50\r\n\r\n{'],
    ['resetAndDestroy', 'Content-Length: 50\r\n\r\n{'],
    ['end', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'],
  ] as const) {
    const name = `${reader}-${how}`
    const socket = connect(portOf(server), '127.0.0.1').on('error', () => {})
    socket.write(`POST /${reader}?${name} HTTP/1.1\r\nHost: a\r\nContent-Type: ${typeOf(reader)}\r\n${head}`)
    await isBegun(name)
    socket[how]()
    await isCut(name)
    socket.destroy()
  }
})

test.each(['json', 'form', 'bytes', 'late'])('%s: a truncated body over HTTP/2 is an error', async (reader) => {
  for (const how of ['cancel', 'no error', 'session']) {
    const name = `${reader}-${how.replace(' ', '-')}-2`
    const session = connectHttp2(`http://127.0.0.1:${portOf(http2)}`).on('error', () => {})
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${reader}?${name}`,
      'content-type': typeOf(reader),
      'content-length': '50',
    })
    stream.on('error', () => {}).write('{')
    await isBegun(name)
    if (how === 'session') session.destroy()
    else stream.close(how === 'cancel' ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_NO_ERROR)
    await isCut(name)
    session.destroy()
  }
})
