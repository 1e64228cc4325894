import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createSecureServer } from 'node:http2'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { healthUrl, whoRuns, whyUnhealthy } from '../../bin/health-check.js'
import { temporaryFolder } from '../support/cli.ts'

const running: Server[] = []

afterEach(async () => {
  for (const server of running.splice(0)) await new Promise((resolve) => server.close(resolve))
})

/** Starts the server on a free port. @returns the port */
async function listen(server: Server): Promise<number> {
  running.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

test.each([
  [{}, 'http://127.0.0.1:8080/health/live'],
  [{ HOST: '0.0.0.0', PORT: '9000' }, 'http://127.0.0.1:9000/health/live'],
  [{ HOST: '', PORT: '', CERTIFICATE_NAME: '' }, 'http://127.0.0.1:8080/health/live'],
  [{ HOST: '::' }, 'http://[::1]:8080/health/live'],
  [{ HOST: 'fd00::2' }, 'http://[fd00::2]:8080/health/live'],
  [{ HOST: '10.1.2.3', CERTIFICATE_NAME: 'server.p12' }, 'https://10.1.2.3:8080/health/live'],
])('health check: with the settings %j, it requests %s', (environment, url) => {
  expect(healthUrl(environment)).toBe(url)
})

test.each([
  ['node\0--disable-sigusr1\0/opt/solhost/cli/entry.ts\0start\0', 'http://127.0.0.1:8080/health/live'],
  ['node\0--disable-sigusr1\0/opt/solhost/control-center/start.ts\0', 'http://127.0.0.1:8090/health/live'],
  ['/sbin/docker-init\0--\0control-center\0', 'http://127.0.0.1:8090/health/live'],
])('health check: if process 1 is %j, it requests %s', (commandLine, url) => {
  using folder = temporaryFolder({ cmdline: commandLine })
  expect(healthUrl({}, whoRuns(join(folder.path, 'cmdline')))).toBe(url)
  expect(healthUrl({ PORT: '9' }, whoRuns(join(folder.path, 'none')))).toBe('http://127.0.0.1:9/health/live')
})

test('health check: status 200 is healthy; any other status is reported as an error', async () => {
  const answer: RequestListener = (request, response) => {
    response.statusCode = request.url === '/health/live' ? 200 : 503
    response.end('{}')
  }
  const port = await listen(createHttpServer(answer))
  expect(await whyUnhealthy(healthUrl({ PORT: String(port) }))).toBeNull()
  expect(await whyUnhealthy(`http://127.0.0.1:${port}/other`)).toBe('responded with HTTP 503')
})

test('health check: a host with TLS is checked over TLS, and any name in its certificate is accepted', async () => {
  const [key, cert] = ['key', 'certificate'].map((name) =>
    readFileSync(new URL(`../support/tls/${name}.pem`, import.meta.url)),
  )
  const options = { key, cert, allowHTTP1: true } as { key: Buffer; cert: Buffer; allowHTTP1: true }
  const port = await listen(createSecureServer(options, (_request, response) => void response.end('{}')))
  expect(await whyUnhealthy(healthUrl({ PORT: String(port), CERTIFICATE_NAME: 'server.p12' }))).toBeNull()
  expect(await whyUnhealthy(healthUrl({ PORT: String(port) }))).toMatch(
    /socket hang up|ECONNRESET|Parse Error|answered/,
  )
})

test('health check: a refused connection and a missing response are reported as unhealthy', async () => {
  const silent = createServer((socket) => void socket.on('error', () => {}).resume())
  const port = await listen(silent)
  expect(await whyUnhealthy(healthUrl({ PORT: String(port) }), 50)).toBe('no response within 0.05 s')
  await new Promise((resolve) => running.pop()?.close(resolve))
  expect(await whyUnhealthy(healthUrl({ PORT: String(port) }))).toContain('ECONNREFUSED')
})
