import { mkdirSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { HostFrame } from '../../host/web/frames.ts'
import { axeViolations } from './browser.ts'
import { PASSWORD } from './users.ts'

/** The folder for screenshots. Tests save screenshots only if SCREENSHOTS is set. Git ignores the folder. */
export const SCREENSHOTS = fileURLToPath(new URL('../.output/screenshots/', import.meta.url))

const WIDTHS = [320, 1280] as const

/**
 * The colour schemes to check, and the axe rules to run in each. In dark mode, only the colour rules can produce
 * different results.
 */
const SCHEMES = [
  ['light', 'all'],
  ['dark', 'colours'],
] as const

/**
 * Console messages to ignore. Chromium logs most of them when a test cuts the network. One is advice on `sandbox`,
 * which is meant for iframes.
 */
const EXPECTED = /WebSocket connection to|ERR_|status of 404|can escape its sandboxing/

export type Watched = Awaited<ReturnType<typeof openWatched>>

/**
 * Opens a page in a separate browser profile. Records the WebSocket frames and the HTML that its pages receive. Also
 * records errors: uncaught exceptions, console warnings and errors, and violations of the Content-Security-Policy.
 */
export async function openWatched(browser: Browser, options: BrowserContextOptions = {}) {
  const profile = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: 'en-GB',
    // Without transitions, axe doesn't report intermediate colours.
    reducedMotion: 'reduce',
    ...options,
  })
  const complaints: string[] = []
  const texts: string[] = []
  const sources: string[] = []
  await profile.addInitScript(`addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    console.error('refused by the policy: ' + violatedDirective + ' ' + blockedURI))`)
  profile.on('page', (page) => {
    page.on('console', (message) => {
      if (['warning', 'error'].includes(message.type()) && !EXPECTED.test(message.text()))
        complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => void texts.push(String(payload))))
    page.on('response', async (response) => {
      const type = response.headers()['content-type'] ?? ''
      if (type.startsWith('text/html')) sources.push(await response.text().catch(() => ''))
    })
  })
  return {
    profile,
    page: await profile.newPage(),
    complaints,
    /** The HTML source of each loaded page, in order. */
    sources,
    /** Returns all frames that the pages have received. */
    frames: () => texts.map((text) => JSON.parse(text) as HostFrame),
    [Symbol.asyncDispose]: () => profile.close(),
  }
}

/** Signs in on the default login page and waits for the client's first form. */
export async function signIn(page: Page, address: string, username: string): Promise<void> {
  await page.goto(address)
  await page.fill('#username', username)
  await page.fill('#password', PASSWORD)
  await page.press('#password', 'Enter')
  await page.waitForSelector('form[data-form]')
}

/**
 * Saves a screenshot of the page if SCREENSHOTS is set. Screenshots are for people to look at; no test compares them.
 */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS === undefined) return
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png`, fullPage: true })
}

/**
 * Runs axe on the page in its current state, in light and dark mode, each in a narrow and a wide window.
 * @returns the violations, and an error for each window in which the page scrolls horizontally
 */
export async function faultsOfScreen(page: Page, name: string): Promise<string[]> {
  const faults: string[] = []
  const before = page.viewportSize() ?? { width: 1280, height: 900 }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    for (const [colorScheme, rules] of SCHEMES) {
      await page.emulateMedia({ colorScheme })
      const found = await axeViolations(page, rules)
      const sideways = await page.evaluate<number>('document.scrollingElement.scrollWidth')
      if (sideways > width) found.push(`the page is ${sideways} px wide`)
      faults.push(...found.map((fault) => `${colorScheme}, ${width} px: ${fault}`))
      await keepPicture(page, `${name}-${colorScheme}-${width}`)
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(before)
  return faults
}

/** Like `expect.poll`, but polls every 50 ms. */
export function eventually<T>(look: () => T | Promise<T>) {
  return expect.poll(look, { interval: 50 })
}

/**
 * Observes a live region like a screen reader. The region must be visible on the page before text is added to it.
 * @returns a function that reads the region's text; null if the region was removed
 */
export async function hear(page: Page, selector: string): Promise<() => Promise<string | null>> {
  const region = await page.waitForSelector(selector, { state: 'attached' })
  const isHeard = await region.evaluate((element) => {
    const live = element.matches('[role=status], [role=alert], [aria-live=polite], [aria-live=assertive]')
    return live && element.checkVisibility({ visibilityProperty: true })
  })
  expect(isHeard, `${selector} is a live region that screen readers have`).toBe(true)
  return () => region.evaluate((element) => (element.isConnected ? (element.textContent ?? '').trim() : null))
}

const NAME_OF_FOCUS = `(() => {
  const element = document.activeElement
  return element === null || element === document.body ? null : element.id || element.textContent.trim()
})()`

const HAS_FOCUS_RING = `(() => {
  const element = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const { width, height, bottom, top } = element.getBoundingClientRect()
  const isInWindow = bottom > 0 && top < innerHeight && width > 0 && height > 0
  return isInWindow && outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2
})()`

/** Returns the id of the focused element, or its text if it has no id. Null if no element has the focus. */
export function nameOfFocus(page: Page): Promise<string | null> {
  return page.evaluate<string | null>(NAME_OF_FOCUS)
}

/**
 * Presses a key until an element has the focus. Fails if the focus is not visible after a press.
 * @param name the element's name, as `nameOfFocus` returns it
 */
export async function pressUntil(page: Page, key: string, name: string): Promise<void> {
  const passed: (string | null)[] = []
  while (passed.length < 80) {
    await page.keyboard.press(key)
    const focused = await nameOfFocus(page)
    if (focused !== null)
      expect(await page.evaluate<boolean>(HAS_FOCUS_RING), `${focused} shows that it has the focus`).toBe(true)
    if (focused === name) return
    passed.push(focused)
  }
  throw new Error(`${key} does not lead to ${name}, but to ${passed.join(', ')}`)
}

/** Simulates a network between a browser and a host. A test can cut it: open connections break, and new ones fail. */
export async function openNetwork(to: string) {
  const { hostname, port } = new URL(to)
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) return void near.destroy()
    const far = connect(Number(port), hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true
      for (const socket of open) socket.destroy()
    },
    restore() {
      isCut = false
    },
    close() {
      this.cut()
      server.close()
    },
  }
}
