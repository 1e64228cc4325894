import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { browserPath, closeContexts, sharedBrowser } from '../support/browser.ts'

const PAGES: Readonly<Record<string, string>> = {
  '/': '<a href="/form">Form</a>',
  '/form': '<input id="name"><script type="module" src="/slow.js"></script>',
  '/slow.js': 'document.getElementById("name").addEventListener("input", () => { document.title = "noticed" })',
}

test.skipIf(browserPath === undefined)('a test’s actions wait until the page’s script has run', async () => {
  const server = createServer(async ({ url = '' }, response) => {
    if (url === '/slow.js') await wait(300)
    response.setHeader('content-type', url === '/slow.js' ? 'text/javascript' : 'text/html')
    response.end(PAGES[url] ?? '')
  }).listen(0, '127.0.0.1')
  const browser = await sharedBrowser()
  onTestFinished(async () => {
    await closeContexts(browser)
    server.close()
  })
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  await page.click('a')
  await page.fill('#name', 'x')
  expect(await page.title()).toBe('noticed')
})
