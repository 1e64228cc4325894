import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { bundleOf } from '../support/zip.ts'

const MB = 1024 ** 2
const FILM = randomBytes(3 * MB + 7)

let host: TestHost
let film: string
beforeAll(async () => {
  host = await startTestHost()
  const files = { 'media/film.bin': FILM, 'media/empty.txt': '', 'media/logo.txt': 'logo' }
  await host.upload('crm', await bundleOf({ authenticator: 'NONE' }, files))
  film = `${host.url}/solution/crm/media/film.bin`
})
afterAll(() => host.stop())

test('media: large, small and empty files arrive complete, with Content-Length', async () => {
  const answer = await fetch(film)
  expect(answer.headers.get('content-length')).toBe(String(FILM.length))
  expect(Buffer.compare(Buffer.from(await answer.arrayBuffer()), FILM)).toBe(0)
  const small = await ask(film.replace('film.bin', 'logo.txt'))
  expect([small.text, small.headers['content-length']]).toEqual(['logo', '4'])
  const empty = await ask(film.replace('film.bin', 'empty.txt'))
  expect([empty.status, empty.text, empty.headers['content-length']]).toEqual([200, '', '0'])
})

test('media: HEAD returns the length and the ETag, and a request with that ETag gets 304', async () => {
  const { status, headers } = await ask(film, { method: 'HEAD' })
  expect([status, headers['content-length']]).toEqual([200, String(FILM.length)])
  const fresh = await ask(film, { headers: { 'if-none-match': headers.etag ?? '' } })
  expect([fresh.status, fresh.text, fresh.headers.etag]).toEqual([304, '', headers.etag])
})

test('media: 300 requests for a large file on a connection that never reads use little memory and do not block others', async () => {
  const { port } = new URL(host.url)
  const held = () => process.memoryUsage().arrayBuffers / MB
  const before = held()
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  socket.on('error', () => {})
  const request = `GET ${new URL(film).pathname} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`
  await new Promise<void>((resolve) => socket.write(request.repeat(300), () => resolve()))
  // Wait for the first data. By then, the host has sent two chunks of the file.
  await new Promise((resolve) => socket.once('readable', resolve))
  for (let times = 0; times < 5; times++) expect((await ask(film, { method: 'HEAD' })).status).toBe(200)
  expect(held() - before).toBeLessThan(100)
  socket.destroy()
})
