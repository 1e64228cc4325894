import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMemoryBound } from '../../runtime/memory-bound.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

const MEGABYTE = 1024 ** 2
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

let host: TestHost
/** Memory that simulates a busy host. The host runs in the test's process, so this array is part of its memory use. */
let ballast: Uint8Array | null = null
beforeAll(async () => {
  // The memory in use includes child processes of other test files, which ran earlier in this process.
  const bound = createMemoryBound({ configured: Number.POSITIVE_INFINITY })
  const { used } = bound.measure({ known: [], begun: [], leaving: [] })
  host = await startTestHost({ RUNTIME_XMX: `${Math.ceil(used / MEGABYTE) + 300}m` })
  expect((await host.upload('shop', await bundle('1.0.0'))).status).toBe(201)
})
afterAll(() => host.stop())

function bundle(version: string): Promise<Uint8Array> {
  return bundleOf(
    { name: 'shop', version, authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': "function onSolutionOpen(arg, q) { security.login(q.username, 'u', ['Users']) }",
    },
  )
}

async function memory() {
  const answer = await fetch(`${host.url}/admin/api/health`, { headers: { authorization: host.admin } })
  return ((await answer.json()) as { memory: { used: number; maximum: number } }).memory
}

test('memory: a host over its limit rejects uploads and sign-ins with 503 and Retry-After, stays alive, and recovers', async () => {
  const person = createVisitor(host.url)
  await person.get('/solution/shop/index.html')
  ballast = new Uint8Array(600 * MEGABYTE).fill(1)
  const busy = await untilAnswered(503, () => person.post('/solution/shop/index.html', { username: 'anna' }))
  expect(busy.headers['retry-after']).toBe('5')
  expect(busy.text).toContain('The server is busy')
  const refused = await host.upload('shop', await bundle('2.0.0'))
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  expect(await refused.json()).toMatchObject({ code: 'ERR_MEMORY_FULL' })
  const { used, maximum } = await memory()
  expect(used).toBeGreaterThan(maximum)
  expect((await fetch(`${host.url}/health/live`)).status).toBe(200)
  expect((await person.get('/solution/shop/index.html')).status).toBe(200)

  expect(ballast.length).toBe(600 * MEGABYTE)
  ballast = null
  collectGarbage()
  await untilAnswered(303, () => person.post('/solution/shop/index.html', { username: 'anna' }))
  expect((await host.upload('shop', await bundle('2.0.0'))).status).toBe(201)
})

/**
 * Repeats the request until the response has this status. Polls, because the host measures its memory only four times
 * per second.
 */
async function untilAnswered<A extends { readonly status: number }>(status: number, ask: () => Promise<A>): Promise<A> {
  for (;;) {
    const answer = await ask()
    if (answer.status === status) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
