import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openClient } from '../../support/client-page.ts'
import { addClientSolution, button, outputOf } from '../../support/client-solution.ts'
import { startTestHost, type TestHost } from '../../support/host.ts'
import { createVisitor } from '../../support/http.ts'

// The operating system buffers several MB for each connection. So with the real limit, the test would have to send
// hundreds of MB.
vi.mock('../../../base/http/slow-connections.ts', async (original) => ({
  ...(await original<object>()),
  MOST_HELD: 1.5e6,
}))

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({ CLIENT_GRACE: '200ms' })
})
afterAll(() => host.stop())

test('client: a browser that doesn’t read its forms is disconnected, and others are not', async () => {
  await addClientSolution(host, 'slow', {
    elements: [
      { type: 'table', name: 'list', columns: [{ name: 'text', type: 'text' }], pageSize: 200 },
      button('again'),
    ],
    script: 'function again() { forms.main.title = String(Math.random()) }',
    globals: `let name
      function onSolutionOpen(argument) {
        name = argument
        forms.main.elements.list.rows = Array.from({ length: 200 }, (_, id) => ({ id, text: 'x'.repeat(10_000) }))
      }
      function onSolutionClose() { application.output(name) }`,
  })
  const open = (name: string) => openClient(host.url, 'slow', createVisitor(host.url), { query: `?argument=${name}` })
  const [reader, slow] = await Promise.all([open('reader'), open('slow')])
  slow.socket.pause()
  // Each press sends the form again, which has 2 MB. This is less than the limit of a single connection.
  for (let press = 0; press < 8; press++) slow.fire('main', 'again', 'onAction')
  await expect.poll(() => outputOf(host, 'slow'), { timeout: 15_000 }).toEqual(['slow'])
  await reader.press('main', 'again')
  expect(await outputOf(host, 'slow')).toEqual(['slow'])
})
