import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { ADMIN_PASSWORD } from '../support/host.ts'
import { startHostProcess } from '../support/host-process.ts'
import { ask, createVisitor } from '../support/http.ts'

const PAGE = '/solution/tenant-login/index.html'
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }

/** @returns the HTTP status, or the error's code */
function statusFrom(url: string, localAddress: string): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>()
  const asked = request(url, { agent: false, localAddress }, (answer) => {
    resolve(answer.statusCode ?? 0)
    answer.resume()
  })
  asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  asked.end()
  return promise
}

async function openIdle(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  // The host rejects some of these connections.
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  return socket
}

test('400 idle connections from one address do not use up 256 file descriptors: others are served, and so is that address once they close', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-descriptors-'))
  const before = ['/bin/sh', '-c', 'ulimit -n 256; exec "$@"', 'sh']
  const host = await startHostProcess(home, { SERVLET_PASSWORD: ADMIN_PASSWORD }, undefined, before)
  onTestFinished(async () => {
    host.child.kill('SIGKILL')
    await host.gone
    rmSync(home, { recursive: true, force: true })
  })
  const admin = { authorization: `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}` }
  const uploaded = await ask(`${host.url}/admin/api/solutions/tenant-login`, {
    method: 'PUT',
    headers: { ...admin, 'content-type': 'application/zip' },
    body: Buffer.from(await packFolder(exampleFolder('tenant-login'))),
  })
  expect(uploaded.status).toBe(201)

  const idle: Socket[] = []
  for (let opened = 0; opened < 400; opened++) idle.push(await openIdle(host.url))
  expect(await statusFrom(`${host.url}${PAGE}`, '127.0.0.2')).toBe(200)
  for (const socket of idle) socket.destroy()

  await expect.poll(() => statusFrom(`${host.url}/health/live`, '127.0.0.1')).toBe(200)
  const visitor = createVisitor(host.url)
  await visitor.get(PAGE)
  expect((await visitor.post(PAGE, ANNA, { headers: { origin: host.url } })).status).toBe(303)
  expect(host.child.exitCode).toBe(null)
})
