import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createSocketServer,
  type Socket,
  type Server as SocketServer,
} from 'node:net'
import { networkInterfaces } from 'node:os'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import type { Address } from '../../../base/outbound/checked-addresses.ts'
import { createOutbound, type OutboundOptions, type OutboundRequest } from '../../../host/outbound/outbound.ts'

const TLS = new URL('../../support/tls/', import.meta.url)
const AUTHORITY = readFileSync(new URL('authority.pem', TLS), 'utf8')
const PAIR = {
  key: readFileSync(new URL('key.pem', TLS), 'utf8'),
  cert: readFileSync(new URL('certificate.pem', TLS), 'utf8'),
}
const LOOPBACK: Address = { address: '127.0.0.1', family: 4 }

const open: (Server | SocketServer)[] = []
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await Promise.all(open.splice(0).map((server) => new Promise((resolve) => server.close(resolve))))
})

/** Starts the server on a free loopback port. @returns the port */
async function listen(server: Server | SocketServer): Promise<number> {
  open.push(server)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const serve = (listener: RequestListener) => listen(createServer(listener))

/** Starts a server that runs `write` for each client that sends something. */
const serveBytes = (write: (socket: Socket) => void) =>
  listen(createSocketServer((socket) => socket.once('data', () => write(socket))))

/** Sends a request to `api.example.test`. By default, this name resolves to loopback and is in HTTP_ALLOWED_HOSTS. */
function ask(port: number, asked: Partial<OutboundRequest> = {}, options: Partial<OutboundOptions> = {}) {
  const outbound = createOutbound({
    allowedPrivate: [`api.example.test:${port}`],
    setting: 'HTTP_ALLOWED_HOSTS',
    lookUp: async () => [LOOPBACK],
    certificateAuthorities: AUTHORITY,
    ...options,
  })
  const url = `http://api.example.test:${port}/`
  return outbound.request({ url, method: 'GET', headers: {}, body: null, maxBytes: 1000, timeoutMs: 5000, ...asked })
}

function withCode(code: string, message = '') {
  return expect.objectContaining({ code, message: expect.stringContaining(message) })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}

test('a request reaches a listed host by name, with the given headers and body', async () => {
  let seen: unknown
  const port = await serve(async (request, response) => {
    seen = { method: request.method, url: request.url, headers: request.headers, body: await bodyOf(request) }
    response.writeHead(201, { 'X-Made': 'yes' }).end('done')
  })
  const url = `http://API.example.test.:${port}/a?b=c#d`
  const answer = await ask(port, { url, method: 'POST', headers: { 'X-Key': 'k', 'Content-Type': 'a/b' }, body: 'ä' })
  expect(answer.status).toBe(201)
  expect(answer.headers['x-made']).toBe('yes')
  expect(new TextDecoder().decode(answer.body)).toBe('done')
  expect(seen).toEqual({
    method: 'POST',
    url: '/a?b=c',
    headers: {
      host: `api.example.test:${port}`,
      'accept-encoding': 'identity',
      'user-agent': 'solhost',
      'x-key': 'k',
      'content-type': 'a/b',
      'content-length': '2',
      connection: 'close',
    },
    body: 'ä',
  })
})

test('headers are returned without a prototype, and repeated ones are joined', async () => {
  const port = await serve((_request, response) => {
    response.writeHead(200, [
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
      ['__proto__', 'x'],
    ] as never)
    response.end()
  })
  const { headers } = await ask(port)
  expect(Object.getPrototypeOf(headers)).toBeNull()
  expect(headers['set-cookie']).toBe('a=1, b=2')
})

test('a redirect is returned as a response', async () => {
  let requests = 0
  const port = await serve((_request, response) => {
    requests++
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end()
  })
  const answer = await ask(port)
  expect([answer.status, answer.headers.location, requests]).toEqual([
    302,
    'http://169.254.169.254/latest/meta-data/',
    1,
  ])
})

test('each request has its own connection', async () => {
  const ports = new Set<number | undefined>()
  const port = await serve((request, response) => {
    ports.add(request.socket.remotePort)
    response.end()
  })
  await ask(port)
  await ask(port)
  expect(ports.size).toBe(2)
})

// --- addresses -------------------------------------------------------------------------------------------------------

test.each([
  'http://127.0.0.1:{port}/',
  'http://localhost:{port}/',
  'http://2130706433:{port}/',
  'http://0x7f.1:{port}/',
  'http://0177.0.0.1:{port}/',
  'http://127.1:{port}/',
  'http://127.0.0.1.:{port}/',
  'http://0:{port}/',
  'http://0.0.0.0:{port}/',
  'http://①②⑦.⓪.⓪.①:{port}/',
  'http://[::1]:{port}/',
  'http://[::]:{port}/',
  'http://[::ffff:127.0.0.1]:{port}/',
  'http://[::ffff:7f00:1]:{port}/',
  'http://[::127.0.0.1]:{port}/',
  'http://[64:ff9b::7f00:1]:{port}/',
  'http://[2002:7f00:1::]:{port}/',
  'http://169.254.169.254/',
  'http://[fd00:ec2::254]/',
  'http://100.100.100.200/',
  'http://10.0.0.1/',
])('loopback, private networks and metadata cannot be reached by address: %s', async (written) => {
  let requests = 0
  const port = await serve((_request, response) => {
    requests++
    response.end()
  })
  const url = written.replace('{port}', String(port))
  await expect(ask(port, { url })).rejects.toEqual(withCode('ERR_OUTBOUND_PRIVATE', 'HTTP_ALLOWED_HOSTS'))
  expect(requests).toBe(0)
})

test('a name is rejected if any of its addresses is private', async () => {
  const mixed = [
    { address: '1.1.1.1', family: 4 },
    { address: '2606:4700::1111', family: 6 },
    { address: '10.0.0.1', family: 4 },
  ]
  const lookUp = async () => mixed
  const asked = ask(80, { url: 'http://mixed.example.test/' }, { lookUp })
  await expect(asked).rejects.toEqual(withCode('ERR_OUTBOUND_PRIVATE', 'mixed.example.test:80'))
})

test('a public address of this machine is rejected, since the platform listens there', async () => {
  const options = { lookUp: async () => [{ address: '9.9.9.9', family: 4 }], ownAddresses: () => ['9.9.9.9'] }
  await expect(ask(80, { url: 'http://own.example.test/' }, options)).rejects.toEqual(withCode('ERR_OUTBOUND_PRIVATE'))
})

test('the addresses of this machine’s network interfaces are rejected', async () => {
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  expect(own.length).toBeGreaterThan(0)
  for (const { address, family } of own) {
    const host = family === 'IPv6' ? `[${address}]` : address
    await expect(ask(80, { url: `http://${host}/` })).rejects.toEqual(withCode('ERR_OUTBOUND_PRIVATE'))
  }
})

test('an entry in the list allows only its port', async () => {
  const port = await serve((_request, response) => void response.end())
  const other = await serve((_request, response) => void response.end())
  const asked = ask(port, { url: `http://api.example.test:${other}/` })
  await expect(asked).rejects.toEqual(withCode('ERR_OUTBOUND_PRIVATE'))
  expect((await ask(port)).status).toBe(200)
})

test('an entry in the list allows only its name, even if another name resolves to the same machine', async () => {
  const port = await serve((_request, response) => void response.end())
  const asked = ask(port, { url: `http://127.0.0.1:${port}/` })
  await expect(asked).rejects.toEqual(withCode('ERR_OUTBOUND_PRIVATE'))
})

test.each([
  ['127.0.0.1:{port}', 'http://2130706433:{port}/'],
  ['API.Example.Test.:{port}', 'http://api.example.test:{port}/'],
])('an entry is compared in the form that URL parsers return: %s, %s', async (entry, url) => {
  const port = await serve((_request, response) => void response.end())
  const allowedPrivate = [entry.replace('{port}', String(port))]
  const answer = await ask(port, { url: url.replace('{port}', String(port)) }, { allowedPrivate })
  expect(answer.status).toBe(200)
})

test('the host’s code must pass the list with ports: an entry without one throws a TypeError', () => {
  expect(() => createOutbound({ allowedPrivate: ['example.test'], setting: 'X' })).toThrow(TypeError)
})

test('the host connects to the address that was checked: a name is resolved once per request', async () => {
  let lookUps = 0
  const port = await serve((_request, response) => void response.end('the first'))
  const lookUp = async () => {
    lookUps++
    return lookUps === 1 ? [LOOPBACK] : [{ address: '127.0.0.99', family: 4 }]
  }
  const answer = await ask(port, {}, { lookUp })
  expect([new TextDecoder().decode(answer.body), lookUps]).toEqual(['the first', 1])
})

test('if the first address does not respond, the next checked one is used', async () => {
  const port = await serve((_request, response) => void response.end())
  const lookUp = async () => [{ address: '::1', family: 6 }, LOOPBACK]
  expect((await ask(port, {}, { lookUp })).status).toBe(200)
})

test('a name without addresses and an unknown name fail with that reason', async () => {
  await expect(ask(80, {}, { lookUp: async () => [] })).rejects.toEqual(
    withCode('ERR_OUTBOUND_FAILED', 'has no IP address'),
  )
  const lookUp = () => Promise.reject(Object.assign(new Error('of the system'), { code: 'ENOTFOUND' }))
  await expect(ask(80, {}, { lookUp })).rejects.toEqual(withCode('ERR_OUTBOUND_FAILED', '(ENOTFOUND)'))
})

test('if a connection is refused, the error does not reveal the address', async () => {
  const port = await serve(() => {})
  await new Promise((resolve) => open.pop()?.close(resolve))
  const error = await ask(port).catch((thrown: Error) => thrown)
  expect(error).toEqual(withCode('ERR_OUTBOUND_FAILED', '(ECONNREFUSED)'))
  expect((error as Error).message).not.toContain('127.0.0.1')
})

// --- limits ----------------------------------------------------------------------------------------------------------

test('a response of exactly the maximum size is accepted, and one byte more is rejected', async () => {
  const port = await serve((request, response) => void response.end('a'.repeat(Number(request.url?.slice(1)))))
  const sized = (size: number) => ask(port, { url: `http://api.example.test:${port}/${size}` })
  expect((await sized(1000)).body.length).toBe(1000)
  await expect(sized(1001)).rejects.toEqual(withCode('ERR_OUTBOUND_SIZE', '1000 bytes'))
})

test('an endless response is cut off at the size limit, and its connection is closed', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const port = await serve((_request, response) => {
    response.on('close', resolve)
    const write = (error?: Error | null) => void (error || response.write('a'.repeat(16_384), write))
    write()
  })
  await expect(ask(port)).rejects.toEqual(withCode('ERR_OUTBOUND_SIZE'))
  await closed
})

test('a slow response is cut off at the time limit, and its connection is closed', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const port = await serve((_request, response) => {
    const timer = setInterval(() => response.write('a'), 20)
    response.on('close', () => {
      clearInterval(timer)
      resolve()
    })
  })
  await expect(ask(port, { timeoutMs: 200 })).rejects.toEqual(withCode('ERR_OUTBOUND_TIME', '200 ms'))
  await closed
})

test('slow response headers are cut off at the time limit', async () => {
  const port = await serveBytes((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write('x-a: 1\r\n'), 20)
    socket.on('close', () => clearInterval(timer))
  })
  await expect(ask(port, { timeoutMs: 200 })).rejects.toEqual(withCode('ERR_OUTBOUND_TIME'))
})

test('endless interim responses are cut off at the time limit', async () => {
  const port = await serveBytes((socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 5)
    socket.on('close', () => clearInterval(timer))
  })
  await expect(ask(port, { timeoutMs: 200 })).rejects.toEqual(withCode('ERR_OUTBOUND_TIME'))
})

test('a server that never responds is cut off at the time limit', async () => {
  const port = await serve(() => {})
  await expect(ask(port, { timeoutMs: 100 })).rejects.toEqual(withCode('ERR_OUTBOUND_TIME'))
})

test('resolving the name counts against the time limit', async () => {
  const lookUp = () => new Promise<never>(() => {})
  await expect(ask(80, { timeoutMs: 100 }, { lookUp })).rejects.toEqual(withCode('ERR_OUTBOUND_TIME'))
})

test('nothing is sent if resolving the name took longer than the time limit', async () => {
  let requests = 0
  const port = await serve((_request, response) => {
    requests++
    response.end()
  })
  const { promise: looked, resolve } = Promise.withResolvers<Address[]>()
  await expect(ask(port, { timeoutMs: 50 }, { lookUp: () => looked })).rejects.toEqual(withCode('ERR_OUTBOUND_TIME'))
  resolve([LOOPBACK])
  expect((await ask(port)).status).toBe(200)
  expect(requests).toBe(1)
})

// --- invalid responses ------------------------------------------------------------------------------------------------

test('huge response headers are rejected', async () => {
  const port = await serveBytes((socket) => {
    socket.end(`HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(32 * 1024)}\r\nContent-Length: 0\r\n\r\n`)
  })
  await expect(ask(port)).rejects.toEqual(withCode('ERR_OUTBOUND_FAILED', 'HPE_HEADER_OVERFLOW'))
})

test.each([
  ['something other than HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
  [
    'both kinds of length',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
  ],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ['a body that ends early', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab'],
  ['an invalid chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
  ['a protocol switch', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ['nothing', ''],
])('an invalid response is an error: %s', async (_what, bytes) => {
  const port = await serveBytes((socket) => void socket.end(bytes))
  await expect(ask(port)).rejects.toEqual(withCode('ERR_OUTBOUND_FAILED'))
})

test('a compressed response is rejected, since none was requested', async () => {
  const port = await serve((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('a'.repeat(100_000)))
  })
  await expect(ask(port)).rejects.toEqual(withCode('ERR_OUTBOUND_FAILED', 'compressed'))
})

test('a response to HEAD has its headers and no body', async () => {
  const port = await serve((_request, response) => void response.writeHead(200, { 'content-length': 5000 }).end())
  const answer = await ask(port, { method: 'HEAD' })
  expect([answer.headers['content-length'], answer.body.length]).toEqual(['5000', 0])
})

test('a POST without a body has a Content-Length of 0', async () => {
  let length: string | undefined
  const port = await serve((request, response) => {
    length = request.headers['content-length']
    response.end()
  })
  await ask(port, { method: 'POST' })
  expect(length).toBe('0')
})

// --- TLS -------------------------------------------------------------------------------------------------------------

/** Starts a TLS server. @returns its port, and the server names (SNI) that clients requested */
async function serveSecurely() {
  const names: unknown[] = []
  const server = createSecureServer({
    ...PAIR,
    SNICallback: (name, done) => done(null, void names.push(name) as never),
  })
  server.on('request', (_request, response) => void response.end('secret'))
  server.on('tlsClientError', () => {})
  return { port: await listen(server), names }
}

test('over TLS the connection sends the name (SNI), and the certificate is checked for it', async () => {
  const { port, names } = await serveSecurely()
  const answer = await ask(port, { url: `https://api.example.test:${port}/` })
  expect([new TextDecoder().decode(answer.body), names]).toEqual(['secret', ['api.example.test']])
})

test('a certificate for another name is rejected', async () => {
  const { port } = await serveSecurely()
  const options = { allowedPrivate: [`other.example.test:${port}`] }
  await expect(ask(port, { url: `https://other.example.test:${port}/` }, options)).rejects.toEqual(
    withCode('ERR_OUTBOUND_FAILED', 'ERR_TLS_CERT_ALTNAME_INVALID'),
  )
})

test('a certificate from an untrusted authority is rejected, whatever the environment says', async () => {
  const { port } = await serveSecurely()
  const allowedPrivate = [`api.example.test:${port}`]
  const outbound = createOutbound({ allowedPrivate, setting: 'X', lookUp: async () => [LOOPBACK] })
  const asked = { method: 'GET', headers: {}, body: null, maxBytes: 1000, timeoutMs: 5000 }
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  try {
    await expect(outbound.request({ ...asked, url: `https://api.example.test:${port}/` })).rejects.toEqual(
      withCode('ERR_OUTBOUND_FAILED', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    )
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  }
})

test('for a URL with an IP address, a certificate that does not include the address is rejected', async () => {
  const { port } = await serveSecurely()
  const options = { allowedPrivate: [`127.0.0.1:${port}`] }
  await expect(ask(port, { url: `https://127.0.0.1:${port}/` }, options)).rejects.toEqual(
    withCode('ERR_OUTBOUND_FAILED', 'ERR_TLS_CERT_ALTNAME_INVALID'),
  )
})

test('a proxy in the environment is not used, since it would resolve names itself', async () => {
  const port = await serve((request, response) => void response.end(request.url))
  process.env.HTTP_PROXY = 'http://127.0.0.1:1'
  process.env.NODE_USE_ENV_PROXY = '1'
  try {
    const answer = await ask(port)
    expect(new TextDecoder().decode(answer.body)).toBe('/')
  } finally {
    delete process.env.HTTP_PROXY
    delete process.env.NODE_USE_ENV_PROXY
  }
})
