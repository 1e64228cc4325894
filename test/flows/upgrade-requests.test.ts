import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDebugger } from '../../host/debugger/debugger.ts'
import { startTestCenter, type TestCenter } from '../support/center.ts'
import { CERTIFICATE_PASS, type CertificateFolder, certificateFolder } from '../support/certificates.ts'
import { startTestHost, type TestHost } from '../support/host.ts'

// Node.js emits `upgrade` even if the request's body has not arrived yet, or if earlier requests on the connection have
// not been answered. Every server must respond to such a request and keep running.

let folder: CertificateFolder
let host: TestHost
let secureHost: TestHost
let center: TestCenter
let secureCenter: TestCenter
let inspector: Awaited<ReturnType<typeof startDebugger>>
/** The URLs of all servers, by name. */
let servers: Readonly<Record<string, string>>

beforeAll(async () => {
  folder = await certificateFolder()
  await folder.issue('site')
  const tls = { CERTIFICATE_FOLDER: folder.path, CERTIFICATE_NAME: 'site.p12', CERTIFICATE_PASS }
  host = await startTestHost({ METRICS_PORT: '0' })
  secureHost = await startTestHost({ ...tls, ADMIN_HOST: '0.0.0.0', HTTP_REDIRECT_PORT: '0' })
  center = await startTestCenter()
  secureCenter = await startTestCenter(tls)
  const targets = { list: async () => [], find: async () => null }
  inspector = await startDebugger({ targets, attach: async () => null, nodeVersion: '24.0.0' }, 0)
  servers = {
    'pages port': host.url,
    'pages port with TLS': secureHost.url,
    'admin port': host.adminUrl,
    'admin port with TLS': secureHost.adminUrl,
    'redirect port': `http://127.0.0.1:${secureHost.redirectPort}`,
    'metrics port': host.metricsUrl ?? '',
    'control center': center.url,
    'control center with TLS': secureCenter.url,
    debugger: `http://${inspector.address}`,
  }
})
afterAll(async () => {
  await Promise.all([host.stop(), secureHost.stop(), center.stop(), secureCenter.stop(), inspector.stop()])
  folder[Symbol.dispose]()
})

async function connect(url: string): Promise<Socket> {
  const { protocol, port } = new URL(url)
  const place = { host: '127.0.0.1', port: Number(port) }
  if (protocol === 'http:') {
    const socket = connectTcp(place)
    await once(socket, 'connect')
    return socket
  }
  const socket = connectTls({ ...place, ca: folder.bytes('ca.pem'), ALPNProtocols: ['http/1.1'] })
  await once(socket, 'secureConnect')
  return socket
}

/**
 * Sends bytes and reads until `count` responses have arrived.
 * @returns their statuses, and 'closed' if the server closed the connection
 */
async function send(url: string, bytes: string, count: number, isClosing: boolean): Promise<(number | 'closed')[]> {
  const socket = await connect(url)
  let text = ''
  let isClosed = false
  socket.on('data', (chunk: Buffer) => {
    text += String(chunk)
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))
  socket.write(bytes)
  await expect.poll(() => isClosed || (!isClosing && statuses().length >= count)).toBe(true)
  socket.destroy()
  return isClosing ? [...statuses(), 'closed'] : statuses()
}

const HANDSHAKE = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
const LENGTH = `${HANDSHAKE}Content-Length: 5\r\n\r\n`
const CHUNKED = `${HANDSHAKE}Transfer-Encoding: chunked\r\n\r\n`
const BODIES: Readonly<Record<string, string>> = {
  'Content-Length and no body': LENGTH,
  'Content-Length and a part of the body': `${LENGTH}abc`,
  'Content-Length and the body': `${LENGTH}abcde`,
  'Content-Length and more than the body': `${LENGTH}abcde${LENGTH}`,
  'chunked and no chunk': CHUNKED,
  'chunked and a part of a chunk': `${CHUNKED}5\r\nabc`,
  'chunked and all chunks': `${CHUNKED}5\r\nabcde\r\n0\r\n\r\n`,
}

const NAMES = [
  ...['pages port', 'pages port with TLS', 'admin port', 'admin port with TLS', 'redirect port', 'control center'],
  ...['control center with TLS', 'debugger'],
]

test.each(NAMES.flatMap((name) => Object.keys(BODIES).map((body) => [name, body] as const)))(
  '%s: a WebSocket handshake with %s gets 400, and the connection is closed',
  async (name, body) => {
    expect(await send(servers[name] ?? '', BODIES[body] ?? '', 1, true)).toEqual([400, 'closed'])
  },
)

test.each(NAMES)('%s: a handshake after a pending request is rejected after that request’s response', async (name) => {
  const first = 'GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n'
  expect(await send(servers[name] ?? '', `${first}${HANDSHAKE}\r\n`, 2, true)).toEqual([
    expect.any(Number),
    400,
    'closed',
  ])
})

test.each(Object.keys(BODIES))('metrics port: a handshake with %s is handled like any other request', async (body) => {
  expect(await send(servers['metrics port'] ?? '', BODIES[body] ?? '', 1, false)).toContain(404)
})

test('the response to a rejected handshake says what to do', async () => {
  const socket = await connect(host.url)
  socket.write(LENGTH)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  expect(text).toMatch(/^content-type: application\/problem\+json/im)
  expect(text).toMatch(/^x-content-type-options: nosniff/im)
  expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toEqual({
    type: 'about:blank',
    title: 'Bad Request',
    status: 400,
    code: 'ERR_BAD_REQUEST',
    detail: 'A WebSocket handshake must not have a body. Send it without Content-Length and Transfer-Encoding.',
  })
})
