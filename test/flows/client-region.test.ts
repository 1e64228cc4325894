import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClient } from '../support/client-page.ts'
import { addClientSolution } from '../support/client-solution.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
  const columns = [
    { name: 'due', type: 'date' },
    { name: 'sum', type: 'number', decimals: 2 },
  ]
  await addClientSolution(host, 'region', {
    elements: [{ type: 'table', name: 'list', columns, value: [{ id: 1, due: '2026-12-24', sum: 1234.5 }] }],
    script: '',
    files: { 'i18n/en.json': '{}', 'i18n/de.json': '{}' },
  })
})
afterAll(() => host.stop())

test.each([
  ['en-GB,en;q=0.8', 'en', '24 Dec 2026', '1,234.50'],
  ['en-US', 'en', 'Dec 24, 2026', '1,234.50'],
  ['de-CH', 'de', '24.12.2026', '1&#39;234.50'],
  ['de', 'de', '24.12.2026', '1.234,50'],
])(
  'a browser that requests %s gets text in %s, with its region’s date and number formats',
  async (asked, language, ...shown) => {
    const headers = { 'accept-language': asked }
    const page = await openClient(host.url, 'region', createVisitor(host.url), { headers })
    const { html } = await page.frame('form')
    expect(html).toContain(`lang="${language}"`)
    for (const text of shown) expect(html).toContain(text)
  },
)
