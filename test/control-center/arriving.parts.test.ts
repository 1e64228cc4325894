import { type AddressInfo, connect } from 'node:net'
import Koa from 'koa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { statusOf } from '../../base/http/errors.ts'
import { createArriving } from '../../control-center/telemetry/arriving.ts'
import { createShares } from '../../control-center/telemetry/shares.ts'
import { PlatformError } from '../../runtime/errors.ts'

const MOST = 1024 * 1024
const shares = createShares({ environment: 2 * MOST, organisation: 4 * MOST, all: 4 * MOST })
const owner = { id: 'east', organisation: 'acme' }
let server: ReturnType<Koa['listen']>
let port = 0

beforeAll(async () => {
  const arriving = createArriving({ shares, types: ['text/plain'], most: MOST, rate: 100_000, grace: 40 })
  const app = new Koa()
  app.use(async (ctx) => {
    try {
      ctx.body = await arriving.read(ctx, owner, async (body) => `${body.length} ${body.at(-1)}`)
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      ctx.status = statusOf(error)
      ctx.body = error.code
    }
  })
  server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Sends exactly these bytes. @returns the status and the body of the response */
function raw(head: string, body: string): Promise<[number, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number, string]>()
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8')
  socket.on('data', (text) => {
    answer += text
    const found = /^HTTP\/1.1 (\d+)[\s\S]*\r\n\r\n([\s\S]+)$/.exec(answer)
    if (found === null) return
    socket.destroy()
    resolve([Number(found[1]), String(found[2])])
  })
  socket.on('error', reject)
  socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n${head}\r\n\r\n${body}`)
  return promise
}

const free = () => shares.need(owner, 2 * MOST)

test('a body that stops arriving is rejected with 408, and its memory is freed', async () => {
  expect(await raw(`Content-Length: ${MOST}`, 'x')).toEqual([408, 'ERR_BODY_SLOW'])
  expect(await raw('Transfer-Encoding: chunked', '1\r\nx\r\n')).toEqual([408, 'ERR_BODY_SLOW'])
  free()
})

test('a complete body is accepted, with or without a Content-Length', async () => {
  const text = 'y'.repeat(200_000)
  expect(await raw(`Content-Length: ${text.length}`, text)).toEqual([200, '200000 121'])
  const chunks = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
  const [status, answer] = await raw('Transfer-Encoding: chunked', chunks)
  expect([status, answer]).toEqual([200, '200000 121'])
  free()
})

test('a body over the limit is rejected, with or without a Content-Length', async () => {
  expect((await raw(`Content-Length: ${MOST + 1}`, 'x'))[0]).toBe(413)
  const length = MOST + 10
  const chunk = `${length.toString(16)}\r\n${'z'.repeat(length)}`
  expect((await raw('Transfer-Encoding: chunked', chunk))[0]).toBe(413)
  free()
})

test('an empty body is accepted', async () => {
  expect(await raw('Content-Length: 0', '')).toEqual([200, '0 undefined'])
})
