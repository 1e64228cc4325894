import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { RunOptions } from 'axe-core'
import { type Browser, type CDPSession, chromium, type Frame, type LaunchOptions, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { unicodeEscape } from '../../runtime/template/escape.ts'
import { PATIENCE } from './patience.ts'
import { waitUntil } from './wait-until.ts'

/** The path of Debian's Chromium, or undefined if it is not installed. Tests that need it are then skipped. */
export const wholeBrowserPath = installed('/usr/bin/chromium')
/**
 * The path of the headless shell, or of the full browser if the shell is not installed. The shell is the same engine
 * without Chromium's own UI (tabs, address bar). That UI would use ten times as much CPU time as our pages.
 */
export const browserPath = installed('/usr/bin/chromium-headless-shell') ?? wholeBrowserPath

function installed(path: string): string | undefined {
  return existsSync(path) ? path : undefined
}

/** Starts a headless browser that sends no background requests. The caller closes it. */
export function launchBrowser(options: LaunchOptions = {}): Promise<Browser> {
  return launch(browserPath, options)
}

let shared: Promise<Browser> | undefined

/**
 * Returns the browser that this worker's test files share. Each file uses and closes its own browser context, and must
 * not close the browser.
 */
export function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser()
  return shared
}

/**
 * Closes all of the browser's contexts.
 * @param browser undefined if the test hook that starts the browser failed
 */
export async function closeContexts(browser: Browser | undefined): Promise<void> {
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()))
}

/**
 * Starts the full browser, for tests of features that the headless shell lacks, such as the back/forward cache or
 * windows that affect each other.
 */
export function launchWholeBrowser(options: LaunchOptions = {}): Promise<Browser> {
  return launch(wholeBrowserPath, options)
}

async function launch(path: string | undefined, options: LaunchOptions): Promise<Browser> {
  if (path === undefined) throw new TypeError('there is no Chromium to launch: skip the test')
  const browser = await chromium.launch({
    ...options,
    executablePath: path,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--renderer-process-limit=1',
      // With RenderDocument for all frames, a page load takes twice as much CPU time. This argument replaces Playwright's
      // own, so the first feature is Playwright's.
      '--enable-features=CDPScreenshotNewSurface,RenderDocument:level/crashed-frame',
      // Tests close pages too soon for optimised code to pay off. A larger young generation (in MB) saves most of the
      // time for garbage collection.
      '--js-flags=--no-maglev,--no-turbofan,--min-semi-space-size=16',
      ...(options.args ?? []),
    ],
  })
  browser.on('context', (context) => {
    // Shorter than the test timeout, so that the error shows what the test was waiting for.
    context.setDefaultTimeout(PATIENCE)
    context.on('page', actAfterLoad)
  })
  return browser
}

/** The methods of a frame that act on an element. Those of pages and locators call them. */
const ACTIONS = [
  'click',
  'dblclick',
  'fill',
  'type',
  'press',
  'selectOption',
  'check',
  'uncheck',
  'setInputFiles',
] as const
const patched = new WeakSet<object>()
/** The frames that have loaded another page since the last action. */
const navigated = new WeakSet<Frame>()

/**
 * Makes the actions of all frames wait until the page has loaded. Otherwise, a test that follows a link could use the
 * next page before its script has run, which no person is fast enough to do. Waits only if the frame has navigated since
 * the last action, and for at most a second, because some tests load pages that never finish.
 */
function actAfterLoad(page: Page): void {
  page.on('framenavigated', (frame) => void navigated.add(frame))
  const prototype = Object.getPrototypeOf(page.mainFrame()) as Record<
    (typeof ACTIONS)[number],
    (...args: unknown[]) => unknown
  >
  if (patched.has(prototype)) return
  patched.add(prototype)
  for (const name of ACTIONS) {
    const act = prototype[name]
    prototype[name] = async function (this: Frame, ...args: unknown[]) {
      if (navigated.delete(this)) await this.waitForLoadState('load', { timeout: 1000 }).catch(() => {})
      return act.apply(this, args)
    }
  }
}

/**
 * What Chromium writes to the console when the page is left while its WebSocket still connects. With RenderDocument, it
 * writes this to the page that was left, where nobody sees it.
 */
export const LEFT_WHILE_CONNECTING =
  /^WebSocket connection to '.+' failed: WebSocket is closed before the connection is established\.$/

/**
 * Collects what the page writes to the console, and its uncaught errors.
 * @param into receives the texts; pass the same array to collect from several pages
 * @param isOurs decides from a console message's text and its script's URL whether to collect it
 */
export function complaintsOf(
  page: Page,
  into: string[] = [],
  isOurs = (_url: string, _text: string): boolean => true,
): string[] {
  page.on('console', (message) => {
    const text = message.text()
    if (!LEFT_WHILE_CONNECTING.test(text) && isOurs(message.location().url, text)) into.push(text)
  })
  page.on('pageerror', (error) => into.push(error.message))
  return into
}

/** The properties of a virtual authenticator for passkeys. */
export type Device = {
  /** The protocol. The default is 'ctap2'. */
  readonly protocol?: 'ctap2' | 'u2f'
  /** Whether the authenticator verifies the user, for example with a PIN or fingerprint. True by default. */
  readonly verifies?: boolean
}

/** Adds a virtual authenticator for passkeys to the page's browser profile. It responds immediately. */
export async function addAuthenticator(page: Page, { protocol = 'ctap2', verifies = true }: Device = {}) {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('WebAuthn.enable')
  const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol,
      transport: protocol === 'u2f' ? 'usb' : 'internal',
      hasResidentKey: protocol === 'ctap2',
      hasUserVerification: protocol === 'ctap2' && verifies,
      isUserVerified: verifies,
      automaticPresenceSimulation: true,
    },
  })
  return { devTools, authenticatorId }
}

/**
 * Waits until the expression is true on the page. Use this in place of Playwright's `waitForFunction`, which evaluates
 * strings inside the page. Our Content-Security-Policy forbids that, because it doesn't include 'unsafe-eval'.
 */
export function untilTrue(page: Page | Frame, expression: string): Promise<void> {
  return waitUntil(async () => expect(await page.evaluate(expression), expression).toBe(true))
}

/**
 * Waits for colour transitions (120 ms) to finish. During a transition, axe would report the intermediate colours.
 * Doesn't wait for endless animations.
 */
const TRANSITIONS_OVER = `Promise.allSettled(
  document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
    .map(({ finished }) => finished)
).then(() => {})`

/**
 * The minified script, because it is half the size and every checked page loads it. Its few characters outside ASCII
 * are escaped, because they would double the script's size in the browser.
 */
export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8').replace(
  /[^\0-\x7f]/g,
  unicodeEscape,
)

/**
 * Runs axe on the page, including its best-practice rules.
 * @param rules 'colours' runs only the rules that depend on the colour scheme. Use it for a page that all rules have
 * already checked
 * @returns the violations as 'rule: element'
 */
export async function axeViolations(page: Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  await page.evaluate(TRANSITIONS_OVER)
  if (!(await page.evaluate<boolean>("typeof axe === 'object'"))) await loadAxe(page)
  const options: RunOptions = {
    resultTypes: ['violations'],
    ...(rules === 'colours' ? { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } } : {}),
  }
  return page.evaluate(async (given) => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run(given)
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  }, options)
}

/** Evaluate the script directly. Playwright's `evaluate` passes it as an argument, which takes twice the CPU time. */
async function loadAxe(page: Page): Promise<void> {
  const { exceptionDetails } = await (await devToolsOf(page)).send('Runtime.evaluate', { expression: `${AXE};0` })
  if (exceptionDetails !== undefined) throw new Error(`axe was not loaded: ${exceptionDetails.text}`)
}

export type Look = {
  /** `light` and `dark` are the axe violations in light and dark mode. */
  readonly light: readonly string[]
  readonly dark: readonly string[]
  /** By how many CSS pixels the page is wider than its window. */
  readonly tooWide: number
  readonly tooWideAt320: number
}

const NARROW = { width: 320, height: 640 }

/** The expected result for a page without problems. */
export const SOUND_LOOK: Look = { light: [], dark: [], tooWide: 0, tooWideAt320: 0 }

/**
 * Checks an open page with different users' settings, such as dark mode and a narrow window. Changes the settings in
 * one browser context, because opening the page again would take most of the time.
 * @param darkAt with 320, checks the page in dark mode with all rules in a narrow window; use it for pages whose layout
 * differs there
 */
export async function lookOf(page: Page, darkAt?: 320): Promise<Look> {
  const size = page.viewportSize()
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  const light = await axeViolations(page)
  const tooWide = await tooWideBy(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  if (darkAt === 320) await page.setViewportSize(NARROW)
  const dark = await axeViolations(page, darkAt === 320 ? 'all' : 'colours')
  await page.setViewportSize(NARROW)
  const tooWideAt320 = await tooWideBy(page)
  if (size !== null) await page.setViewportSize(size)
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: null })
  return { light, dark, tooWide, tooWideAt320 }
}

function tooWideBy(page: Page): Promise<number> {
  return page.evaluate('Math.max(0, document.scrollingElement.scrollWidth - innerWidth)')
}

const sessions = new WeakMap<Page, CDPSession>()

/**
 * Returns the page's session for the Chrome DevTools Protocol. Reuses the session, because only the one that set a
 * locale can change it.
 */
async function devToolsOf(page: Page): Promise<CDPSession> {
  const devTools = sessions.get(page) ?? (await page.context().newCDPSession(page))
  sessions.set(page, devTools)
  return devTools
}

/** Changes the browser's language. It applies from the next page load. */
export async function speak(page: Page, locale: string): Promise<void> {
  const devTools = await devToolsOf(page)
  const userAgent = await page.evaluate<string>('navigator.userAgent')
  await devTools.send('Emulation.setUserAgentOverride', { userAgent, acceptLanguage: locale })
  await devTools.send('Emulation.setLocaleOverride', { locale })
}

const NAME_OF_FOCUS = `(() => {
  const element = document.activeElement
  if (element === document.body) return null
  if (element instanceof HTMLInputElement) return element.id
  return element.ariaLabel ?? (element.querySelector('.choice-title') ?? element).textContent.trim()
})()`

/**
 * Presses Tab until the focus leaves the page.
 * @returns the elements that received the focus, in order: inputs by id, and links and buttons by their text
 */
export async function tabOrder(page: Page): Promise<string[]> {
  const reached: string[] = []
  while (reached.length < 20) {
    await page.keyboard.press('Tab')
    const name = await page.evaluate<string | null>(NAME_OF_FOCUS)
    if (name === null) return reached
    reached.push(name)
  }
  return reached
}
