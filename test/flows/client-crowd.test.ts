import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClientPage, openClient, openClientPage } from '../support/client-page.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor, type Visitor } from '../support/http.ts'
import { bundleOf } from '../support/zip.ts'

// Many clients lose their connections at the same moment, while button presses are being sent.

const COUNT = 50
const PRESSES = 5

let host: TestHost
beforeAll(async () => {
  host = await startTestHost({ CLIENTS_ADDRESS: String(COUNT) })
  const files = {
    'forms/main.json': JSON.stringify(
      formWith(
        { type: 'label', name: 'count', label: '0' },
        { type: 'button', name: 'up', label: 'Up', onAction: 'up' },
      ),
    ),
    'forms/main.js': 'let count = 0\nfunction up() { count++; forms.main.elements.count.label = String(count) }',
  }
  const uploaded = await host.upload('crowd', await bundleOf({ name: 'crowd', authenticator: 'NONE' }, files))
  expect(await uploaded.json()).toMatchObject({ active: true, warnings: [] })
})
afterAll(() => host.stop())

test('clients: 50 clients that lose their connections during presses all reconnect, and no press is lost or runs twice', async () => {
  const visitor = createVisitor(host.url)
  await visitor.get('/solution/crowd/index.html')
  const opened = await Promise.all(Array.from({ length: COUNT }, () => openClient(host.url, 'crowd', visitor)))
  const ids = await Promise.all(opened.map(async (page) => (await page.frame('hello')).client))
  expect(new Set(ids).size).toBe(COUNT)
  opened.forEach((page, index) => {
    for (let press = 0; press < PRESSES; press++) page.fire('main', 'up', 'onAction')
    // Some connections are cut later, when the host has already handled and acknowledged some presses.
    if (index % 2 === 0) page.drop()
    else setTimeout(page.drop, index)
  })
  await Promise.all(opened.map((page) => page.closed()))
  const counts = await Promise.all(opened.map((page, index) => reconnect(page, ids[index] as string, visitor)))
  expect(counts).toEqual(Array.from({ length: COUNT }, () => String(PRESSES)))
})

/**
 * Reconnects as the browser's script does, and resends every event that the host has not handled.
 * @returns the label's final text
 */
async function reconnect({ page }: ClientPage, client: string, visitor: Visitor): Promise<string> {
  const again = await openClientPage(host.url, 'crowd', visitor, { client, page })
  again.hello()
  const hello = await again.frame('hello')
  expect(hello).toMatchObject({ client, isNew: false })
  for (let seq = hello.seq + 1; seq <= PRESSES; seq++) {
    again.send({ kind: 'event', seq, form: 'main', element: 'up', type: 'onAction', value: null })
  }
  await again.until('last press', () => again.text('main', 'count') === String(PRESSES) || null)
  again.close()
  return again.text('main', 'count')
}
