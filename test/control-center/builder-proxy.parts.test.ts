import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createBuilderHosts } from '../../control-center/pipelines/builder-hosts.ts'
import { openBuilderProxy } from '../../control-center/pipelines/builder-proxy.ts'
import { readUpstreamProxy } from '../../control-center/pipelines/upstream-proxy.ts'

type Given = {
  readonly names?: Readonly<Record<string, string>>
  readonly allowed?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Opens a proxy. `said` are its log lines, and `asked` are the host names that it resolved. */
async function openProxy({ names = {}, allowed = [], environment = {} }: Given = {}) {
  const said: string[] = []
  const asked: string[] = []
  const lookUp = async (name: string) => {
    asked.push(name)
    const address = names[name]
    if (address === undefined) throw new Error('ENOTFOUND')
    return [{ address, family: 4 }]
  }
  const proxy = await openBuilderProxy({
    hosts: createBuilderHosts(allowed, { lookUp }),
    say: (line) => void said.push(line),
    upstream: readUpstreamProxy(environment),
    fence: null,
  })
  onTestFinished(() => proxy.close())
  return { proxy, url: new URL(proxy.environment.HTTPS_PROXY ?? ''), said, asked }
}

/** Sends a CONNECT request to the proxy, as a builder does. */
function connectBy(url: URL, place: string, login = `${url.username}:${url.password}`) {
  const { promise, resolve, reject } = Promise.withResolvers<{ answer: IncomingMessage; socket: Socket }>()
  const headers = { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }
  const asked = request({ host: url.hostname, port: url.port, method: 'CONNECT', path: place, headers, agent: false })
  asked.on('connect', (answer, socket, head) => {
    if (head.length > 0) socket.unshift(head)
    resolve({ answer, socket: socket as Socket })
  })
  asked.on('error', reject)
  asked.end()
  onTestFinished(async () => void (await promise.catch(() => null))?.socket.destroy())
  return promise
}

function getBy(url: URL, address: string): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const headers = {
    'proxy-authorization': `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`,
    host: new URL(address).host,
  }
  const asked = request(
    { host: url.hostname, port: url.port, path: address, headers, agent: false },
    async (answer) => {
      const chunks = await answer.toArray()
      resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() })
    },
  )
  asked.on('error', reject)
  asked.end()
  return promise
}

/** Starts a TCP echo server on loopback. */
async function startEcho(): Promise<number> {
  const server = createServer((socket) => socket.pipe(socket).on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function saidBack(socket: Socket, text: string): Promise<string> {
  socket.write(text)
  const [chunk] = await socket.take(1).toArray()
  return String(chunk)
}

test('the proxy: a listed host name is resolved once and reached at that address', async () => {
  const port = await startEcho()
  const place = `registry.example.test:${port}`
  const { url, asked } = await openProxy({ names: { 'registry.example.test': '127.0.0.1' }, allowed: [place] })
  const { answer, socket } = await connectBy(url, place)
  expect([answer.statusCode, await saidBack(socket, 'hello')]).toEqual([200, 'hello'])
  expect(asked).toEqual(['registry.example.test'])
})

test.each([
  ['10.0.0.7:443', '10.0.0.7:443'],
  ['127.0.0.1:5000', '127.0.0.1:5000'],
  ['[::ffff:7f00:1]:443', '[::ffff:7f00:1]:443'],
  ['2130706433:443', '127.0.0.1:443'],
  ['metadata.example.test:80', 'metadata.example.test:80'],
  ['INSIDE.example.test.:443', 'inside.example.test:443'],
])('the proxy: %s is rejected, and the log says which setting would allow it', async (asked, named) => {
  const names = { 'metadata.example.test': '169.254.169.254', 'inside.example.test': '192.168.1.7' }
  const { url, said } = await openProxy({ names, allowed: ['inside.example.test:8443'] })
  const statuses = [await connectBy(url, asked), await connectBy(url, asked)].map(({ answer }) => answer.statusCode)
  expect(statuses).toEqual([403, 403])
  expect(said).toEqual([
    `The control center blocked a connection from the builder: "${named}" is on the control center’s machine or in a private network, so pipelines are not allowed to connect to it. ` +
      `To allow it, the operator can add ${named} to REGISTRY_ALLOWED_HOSTS.`,
  ])
})

test('the proxy: a client without its password gets no information; a target without host and port is a bad request', async () => {
  const { url, said, asked } = await openProxy()
  expect((await connectBy(url, 'registry.example.test:443', 'run:wrong')).answer.statusCode).toBe(407)
  expect((await connectBy(url, 'registry.example.test')).answer.statusCode).toBe(400)
  expect([said, asked]).toEqual([[], []])
})

test('the proxy: an unknown host name is logged; the number of logged rejections is limited', async () => {
  const { url, said } = await openProxy()
  expect((await connectBy(url, 'nowhere.example.test:443')).answer.statusCode).toBe(502)
  expect(said).toEqual([
    'A connection from the builder failed: DNS could not resolve "nowhere.example.test". Check the host name.',
  ])
  for (let port = 1; port <= 40; port++) await connectBy(url, `10.0.0.7:${port}`)
  expect(said).toHaveLength(20)
})

test('the proxy: requests without TLS can only reach listed hosts', async () => {
  const asked: (string | undefined)[] = []
  const server = createHttpServer((request, response) => {
    asked.push(request.url, request.headers.host, request.headers['proxy-authorization'])
    response.end('an answer')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const place = `registry.example.test:${(server.address() as AddressInfo).port}`
  const names = { 'registry.example.test': '127.0.0.1', 'public.example.test': '203.0.114.7' }
  const { url, said } = await openProxy({ names, allowed: [place] })
  expect(await getBy(url, `http://${place}/v2/?a=b`)).toEqual({ status: 200, text: 'an answer' })
  expect(asked).toEqual(['/v2/?a=b', place, undefined])
  expect((await getBy(url, 'http://public.example.test/v2/')).status).toBe(403)
  expect(said.join()).toContain('"http://public.example.test:80" does not use TLS, so the connection was blocked.')
})

test('the proxy: everything that a registry sent before it closed the connection arrives', async () => {
  const much = 20 * 1024 ** 2
  const server = createServer((socket) => socket.on('error', () => {}).end(Buffer.alloc(much)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const { url } = await openProxy({ allowed: [place] })
  const { socket } = await connectBy(url, place)
  let length = 0
  for await (const chunk of socket) length += (chunk as Buffer).length
  expect(length).toBe(much)
})

test('the proxy: all its connections end when the run ends', async () => {
  const port = await startEcho()
  const { proxy, url } = await openProxy({ allowed: [`127.0.0.1:${port}`] })
  const { socket } = await connectBy(url, `127.0.0.1:${port}`)
  expect(await saidBack(socket, 'hello')).toBe('hello')
  const closed = new Promise((resolve) => socket.once('close', resolve).resume())
  await proxy.close()
  await closed
  await expect(connectBy(url, `127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('the proxy: it uses the operator’s proxy, except for NO_PROXY, and still rejects private hosts', async () => {
  const port = await startEcho()
  const asked: string[] = []
  const upstream = createHttpServer()
  upstream.on('connect', (request, socket) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void upstream.close())
  const environment = {
    HTTPS_PROXY: `http://me:my%20own@127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    NO_PROXY: '.inside.test, 127.0.0.0/8',
  }
  const names = { 'a.inside.test': '127.0.0.1', 'private.example.test': '10.0.0.7' }
  const { url } = await openProxy({ environment, names, allowed: [`a.inside.test:${port}`] })
  const { socket } = await connectBy(url, 'known-to-the-proxy.example.test:443')
  expect(await saidBack(socket, 'hello')).toBe('hello')
  expect(asked).toEqual([`known-to-the-proxy.example.test:443 Basic ${Buffer.from('me:my own').toString('base64')}`])
  expect((await connectBy(url, 'private.example.test:443')).answer.statusCode).toBe(403)
  expect((await connectBy(url, `a.inside.test:${port}`)).answer.statusCode).toBe(200)
  expect(asked).toHaveLength(1)
})

test.each([
  ['000', 502],
  ['099', 502],
  ['600', 600],
])(
  'the proxy: a registry that responds with the status %s does not crash the control center',
  async (status, expected) => {
    const registry = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(`HTTP/1.1 ${status} x\r\nContent-Length: 2\r\n\r\nok`))
    })
    registry.listen(0, '127.0.0.1')
    await once(registry, 'listening')
    onTestFinished(() => void registry.close())
    const { port } = registry.address() as AddressInfo
    const { url } = await openProxy({ allowed: [`127.0.0.1:${port}`] })
    expect(await getBy(url, `http://127.0.0.1:${port}/`)).toEqual({ status: expected, text: 'ok' })
  },
)
