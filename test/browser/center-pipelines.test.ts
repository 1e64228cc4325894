import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  axeViolations,
  browserPath,
  closeContexts,
  complaintsOf,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
} from '../support/browser.ts'
import { openCenterPage, startTestCenter, type TestCenter } from '../support/center.ts'
import { makeTestPipeline, uploadPackage } from '../support/pipelines.ts'
import { bundleOf } from '../support/zip.ts'

const HOST = '123456789012.dkr.ecr.eu-west-1.amazonaws.com'

describe.skipIf(browserPath === undefined)('packages and pipelines in a browser', () => {
  let center: TestCenter
  let browser: Browser
  let folder: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'center-packages-'))
    center = await startTestCenter()
    browser = await sharedBrowser()
    await uploadPackage(center, await bundleOf({ name: 'orders', title: 'Orders and invoices of the whole house' }))
    await makeTestPipeline(center, { name: 'orders-image', package: 'orders', repository: 'orders' })
  })
  afterAll(async () => {
    await closeContexts(browser)
    await center?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(path: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'], ...options })
    const page = await context.newPage()
    const complaints = complaintsOf(page)
    await openCenterPage(page, center, path)
    return { page, complaints, close: () => context.close() }
  }

  const clipboard = (page: Page) => page.evaluate<string>('navigator.clipboard.readText()')

  test('a package is uploaded, its image is built, and the page shows how to deploy it', async () => {
    const { page, complaints, close } = await open('/o/acme/packages')
    const [file, broken] = [join(folder, 'shop.zip'), join(folder, 'broken.zip')]
    writeFileSync(file, await bundleOf({ name: 'shop', title: 'Shop' }))
    writeFileSync(broken, await bundleOf({ name: 'shop' }, { 'globals.js': 'function (' }))

    await page.setInputFiles('#bundle', broken)
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByText('globals.js:1').waitFor()
    await page.setInputFiles('#bundle', file)
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByText('shop 1.0.0 was uploaded.').waitFor()
    await page.locator('.upload-open').click()
    await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor()

    await page.getByRole('link', { name: 'Pipelines', exact: true }).click()
    await page.fill('#name', 'shop-image')
    await page.selectOption('#package', 'shop')
    await page.fill('#repository', 'shop')
    await page.fill('#base-image', 'registry.example.org/solhost:1.0')
    await page.getByRole('button', { name: 'Create pipeline' }).click()
    await page.getByText('Pipeline created.').waitFor()

    await page.getByRole('link', { name: 'shop-image' }).click()
    await page.fill('#stamp-commit', 'abcdef0123')
    await page.getByRole('button', { name: 'Run pipeline' }).click()
    await page.waitForURL('**/pipelines/shop-image/runs/1')
    await page.locator('#run-state', { hasText: 'Done' }).waitFor()
    await page.getByText('commit: abcdef0123').waitFor()
    const states = await page.locator('.run-steps .state').allTextContents()
    expect(states).toEqual(['Done', 'Done', 'Done', 'Not configured', 'Not configured'])
    expect(await page.evaluate(`document.querySelector('#run-progress').value`)).toBe(5)

    await page.getByRole('link', { name: 'Package artifacts' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: /^Download shop-1\.0\.0-1-context\.zip/ }).click(),
    ])
    expect(download.suggestedFilename()).toBe('shop-1.0.0-1-context.zip')
    await page.getByRole('button', { name: 'Docker information: shop-image' }).click()
    await page.getByRole('dialog').getByText('docker-repo-name').waitFor()
    // Ignore the rejected upload, whose status browsers log to the console.
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([])
    await close()
  })

  test('a form that is filled in while the page’s script is still loading is sent by that script', async () => {
    const { page, complaints, close } = await open('/o/acme/packages')
    await page.route('**/center.js?*', async (route) => {
      await setTimeout(1_000)
      await route.continue()
    })
    await page.goto(`${center.url}/o/acme/pipelines`, { waitUntil: 'commit' })
    await page.fill('#name', 'early-image')
    await page.fill('#repository', 'early')
    await page.fill('#base-image', 'registry.example.org/solhost:1.0')
    await page.getByRole('button', { name: 'Create pipeline' }).click()
    await page.getByText('Pipeline created.').waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('the context menu and the Docker dialog work by keyboard, including tabs and copying, and the focus returns', async () => {
    const { page, complaints, close } = await open('/o/acme/pipelines')
    const button = page.getByRole('button', { name: 'Actions for orders, orders-image' })
    await button.focus()
    await page.keyboard.press('Enter')
    const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()')
    expect(await button.getAttribute('aria-expanded')).toBe('true')
    expect(await focused()).toBe('Runs and settings')
    await page.keyboard.press('ArrowUp')
    expect(await focused()).toBe('Docker information')
    await page.keyboard.press('Home')
    await page.keyboard.press('o')
    expect(await focused()).toBe('Open package')
    await page.keyboard.press('Escape')
    expect(await button.getAttribute('aria-expanded')).toBe('false')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Docker information: orders' })
    await dialog.waitFor()
    expect(await dialog.locator('pre:visible').allTextContents()).toEqual([
      JSON.stringify({ credHelpers: { [HOST]: 'ecr-login' } }, null, 2),
      `aws ecr get-login-password --region eu-west-1 | docker login --username AWS --password-stdin ${HOST}`,
      `docker pull ${HOST}/acme-solutions/orders:latest`,
      'sudo install -d -m 0700 -o 10001 -g 10001 /srv/solhost',
      expect.stringContaining('-e REMOTE_ENVIRONMENT_TOKEN='),
    ])
    await dialog.getByRole('tab', { name: 'Linux and macOS' }).focus()
    await page.keyboard.press('ArrowRight')
    expect(await focused()).toBe('Windows')
    await dialog.getByRole('button', { name: 'Copy: Sign in to the registry' }).click()
    await dialog.getByText('Copied.').waitFor()
    expect(await clipboard(page)).toBe(
      `(Get-ECRLoginCommand -Region eu-west-1).Password | docker login --username AWS --password-stdin ${HOST}`,
    )
    await page.keyboard.press('Escape')
    await expect.poll(() => button.evaluate((element) => element.matches(':focus'))).toBe(true)
    expect(complaints).toEqual([])
    await close()
  })

  test('a right click on a pipeline opens its menu at the pointer; a right click on a link opens the browser’s menu', async () => {
    const { page, complaints, close } = await open('/o/acme/pipelines')
    const menu = page.locator('#menu-orders-image')
    const row = page.locator('tr', { has: page.locator('#menu-button-orders-image') })
    const code = await row.locator('code').boundingBox()
    const [x, y] = [Math.ceil(code?.x ?? 0) + 4, Math.ceil(code?.y ?? 0) + 4]
    await page.mouse.click(x, y, { button: 'right' })
    await menu.waitFor()
    const at = await menu.boundingBox()
    expect(Math.abs((at?.x ?? 0) - x)).toBeLessThanOrEqual(1)
    expect(Math.abs((at?.y ?? 0) - y)).toBeLessThanOrEqual(1)
    expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('Runs and settings')
    await page.keyboard.press('Escape')
    await menu.waitFor({ state: 'hidden' })
    await row.getByRole('link', { name: 'orders-image' }).click({ button: 'right' })
    expect(await menu.isVisible()).toBe(false)
    await row.locator('code').click({ button: 'right' })
    await menu.getByRole('menuitem', { name: 'Docker information' }).click()
    await page.getByRole('dialog', { name: 'Docker information: orders' }).waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  test('axe finds no violation, and nothing scrolls horizontally, in a wide window and in a narrow window in dark mode', async () => {
    const { page, complaints, close } = await open('/o/acme/packages', { viewport: { width: 1200, height: 900 } })
    await center.api('POST', 'organisations/acme/pipelines/orders-image/runs', { branch: 'main' })
    const { body } = await center.api('GET', 'organisations/acme/pipelines/orders-image/runs')
    const run = `pipelines/orders-image/runs/${body.items[0].number}`
    await expect.poll(async () => (await center.api('GET', `organisations/acme/${run}`)).body.state).toBe('done')
    const paths = [
      'packages',
      'packages/orders',
      'packages/orders/artifacts',
      'pipelines',
      'pipelines/orders-image',
      run,
    ]
    for (const path of paths) {
      await page.goto(`${center.url}/o/acme/${path}`)
      expect([path, await lookOf(page, 320)]).toEqual([path, SOUND_LOOK])
    }
    await page.goto(`${center.url}/o/acme/pipelines`)
    await page.getByRole('button', { name: 'Actions for orders, orders-image' }).click()
    expect(['menu', await axeViolations(page)]).toEqual(['menu', []])
    await page.getByRole('menuitem', { name: 'Docker information' }).click()
    expect(['dialog', await axeViolations(page)]).toEqual(['dialog', []])
    await page.setViewportSize({ width: 320, height: 640 })
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(['dialog', await axeViolations(page)]).toEqual(['dialog', []])
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Actions for orders, orders-image' }).click()
    expect(['menu', await axeViolations(page)]).toEqual(['menu', []])
    expect(complaints).toEqual([])
    await close()
  })
})
