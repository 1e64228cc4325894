import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { expect, onTestFinished, test } from 'vitest'
import { closeServer, listening } from '../../../base/tls/listen.ts'
import { httpServer } from '../../../base/tls/server.ts'
import { ask } from '../../support/http.ts'

test('listen: a failed accept does not crash the process, and the next connection works', async () => {
  const app = new Koa()
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  const server = await listening(httpServer(app), 0, '127.0.0.1')
  onTestFinished(() => closeServer(server))
  // Simulates the event that Node.js emits if accept(2) fails, for example with EMFILE, ECONNABORTED or EPERM.
  server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' }))
  expect((await ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).text).toBe('ok')
})

test('listen: if the port is in use, the promise is rejected', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  await expect(listening(httpServer(new Koa()), port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
