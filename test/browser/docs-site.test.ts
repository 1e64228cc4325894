import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import Router from '@koa/router'
import Koa from 'koa'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addGuideRoutes, guidePath } from '../../base/http/guides.ts'
import { CENTER_GUIDES } from '../../control-center/pages/guides.ts'
import { pathOf, readPages } from '../../docs/site/pages.ts'
import { ADMIN_GUIDES } from '../../host/pages/guides.ts'
import { closeContexts, sharedBrowser } from '../support/browser.ts'
import { eventually, faultsOfScreen, openWatched } from '../support/client-browser.ts'

// The docs as a static site, served as a web host would serve them.

const site = mkdtempSync(join(tmpdir(), 'solhost-site-'))
let browser: Browser
let server: Server
let url: string

beforeAll(async () => {
  const build = fileURLToPath(new URL('../../docs/site/build.ts', import.meta.url))
  await promisify(execFile)(process.execPath, [build, site])
  const router = new Router()
  addGuideRoutes(router, site)
  server = createServer(new Koa().use(router.routes()).callback()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/guides`
  browser = await sharedBrowser()
})
afterAll(async () => {
  await closeContexts(browser)
  server?.close()
  rmSync(site, { recursive: true })
})

test('pages are readable on a phone, in dark mode and with a screen reader, and load nothing from other sites', async () => {
  await using opened = await openWatched(browser)
  const { page, complaints } = opened
  const requests: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  for (const path of ['index.html', 'docs/index.html', 'docs/tls.html']) {
    await page.goto(`${url}/${path}`)
    expect(await faultsOfScreen(page, `site-${path.replaceAll('/', '-')}`), path).toEqual([])
  }
  expect(requests.filter((request) => !request.startsWith(url))).toEqual([])
  expect(complaints).toEqual([])
})

test('the search finds a section by its text and opens it, by keyboard', async () => {
  await using opened = await openWatched(browser)
  const { page, complaints } = opened
  await page.goto(`${url}/docs/security/known-limits.html`)
  await page.getByLabel('Search the docs').focus()
  await page.keyboard.type('maintenance')
  await eventually(() => page.getByRole('status').innerText()).toMatch(/\d+ results/)
  await page.getByRole('link', { name: 'Maintenance', exact: true }).first().focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/docs\/operating\.html#maintenance$/)
  await page.getByLabel('Search the docs').fill('xylophone')
  await eventually(() => page.getByRole('status').innerText()).toBe('Nothing found for "xylophone".')
  expect(complaints).toEqual([])
})

test('every link on every page points to an existing page and heading', async () => {
  const source = (file: string) => readFileSync(join(site, file), 'utf8')
  const broken = readPages().flatMap(({ file }) => {
    const path = pathOf(file)
    const links = [...source(path).matchAll(/<a\b[^>]* href="([^"]+)"/g)].map(([, href = '']) => href)
    return links
      .filter((href) => !/^[a-z]+:/.test(href))
      .filter((href) => {
        const target = new URL(href, `http://site/${path}`)
        try {
          const content = source(decodeURIComponent(target.pathname))
          return target.hash !== '' && !content.includes(`id="${decodeURIComponent(target.hash.slice(1))}"`)
        } catch {
          return true
        }
      })
      .map((href) => `${path}: ${href}`)
  })
  expect(broken).toEqual([])
})

test('each guide that a page of the product links to is an existing page or heading in the docs', async () => {
  const guides = [...Object.values(ADMIN_GUIDES), ...Object.values(CENTER_GUIDES)].filter((guide) => guide !== null)
  for (const guide of new Set(guides)) {
    const path = guidePath('', guide, site)
    const [page = '', anchor] = (path ?? '').replace('/guides/', '').split('#')
    const answer = await fetch(`${url}/${page}`)
    expect([guide, answer.status]).toEqual([guide, 200])
    if (anchor !== undefined) expect(await answer.text()).toContain(`id="${anchor}"`)
  }
})

test('only the site’s files are served', async () => {
  for (const path of ['..%2f..%2fpackage.json', 'docs/../../etc/passwd', 'docs', 'nothing.html', 'docs%00.html']) {
    expect([path, (await fetch(`${url}/${path}`)).status]).toEqual([path, 404])
  }
  expect(guidePath('/admin', 'operating#users', join(site, 'nowhere'))).toBe(null)
})
