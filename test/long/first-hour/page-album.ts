import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { PLATFORM_LOCALES } from '../../../base/web/texts.ts'
import { axeViolations } from '../../support/browser.ts'
import { openWatched, type Watched } from '../../support/client-browser.ts'

/** The window sizes, in px. A picture shows the whole page. */
const WINDOWS = [
  { width: 1280, height: 800 },
  { width: 320, height: 640 },
] as const

/** The axe rules to run. In the second colour scheme, only the colour rules can produce different results. */
const SCHEMES = [
  ['light', 'all'],
  ['dark', 'colours'],
] as const

const OTHER_LOCALES = PLATFORM_LOCALES.filter((locale) => locale !== 'en')

/** Pages show `!its.key!` in place of a missing text. */
const MISSING_TEXT = /![a-z]+(?:[.-][a-z]+)+!/g

/**
 * Expected console messages. Chromium logs the error status of a refused sign-in. axe logs that it can't access the
 * sandboxed preview of a login page.
 */
const EXPECTED = /status of 4\d\d|Failed to execute 'postMessage' on 'DOMWindow'/

export type AddOptions = {
  /**
   * Also loads the page in the other languages. Use this for pages that end users see. A function is called first to
   * sign in, because a session keeps its language.
   */
  readonly inLanguages?: boolean | Enter
  /** A selector for content that shows that the page has loaded. */
  readonly ready?: string
}

type Enter = (page: Page) => Promise<unknown>

export type Album = ReturnType<typeof createAlbum>

/** Takes a screenshot of each page, checks the page, and prints a line about it. */
export function createAlbum(browser: Browser, folder: string) {
  mkdirSync(folder, { recursive: true })
  let pages = 0
  let pictures = 0
  const withProblems: string[] = []

  async function picture(page: Page, name: string): Promise<void> {
    // Chromium draws a sandboxed frame only if it was visible.
    for (const frame of await page.locator('iframe').all()) await frame.scrollIntoViewIfNeeded()
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
    pictures++
  }

  /** Checks a page in all window sizes and colour schemes, and takes the screenshots. @returns the problems found */
  async function look({ page, complaints }: Watched, file: string): Promise<string[]> {
    const problems: string[] = []
    for (const window of WINDOWS) {
      await page.setViewportSize(window)
      for (const [colorScheme, rules] of SCHEMES) {
        await page.emulateMedia({ colorScheme })
        const found = await axeViolations(page, rules)
        problems.push(
          ...[...found, ...(await tooWide(page))].map((one) => `${window.width} px, ${colorScheme}: ${one}`),
        )
        await picture(page, `${file}-${window.width}-${colorScheme}`)
      }
    }
    await page.setViewportSize(WINDOWS[0])
    await page.emulateMedia({ colorScheme: 'light' })
    problems.push(...(await missingTexts(page)))
    problems.push(...complaints.splice(0).filter((text) => !EXPECTED.test(text)))
    return problems
  }

  async function lookInLanguages({ page }: Watched, file: string, ready: string, enter: Enter): Promise<string[]> {
    const problems: string[] = []
    for (const locale of OTHER_LOCALES) {
      await using opened = await openWatched(browser, { locale, viewport: WINDOWS[1] })
      await enter(opened.page)
      await opened.page.goto(page.url())
      await opened.page.waitForSelector(ready)
      const found = [...(await tooWide(opened.page)), ...(await missingTexts(opened.page)), ...opened.complaints]
      problems.push(...found.filter((text) => !EXPECTED.test(text)).map((one) => `${locale}: ${one}`))
      await picture(opened.page, `${file}-320-${locale}`)
    }
    return problems
  }

  return {
    /** Opens a separate browser profile, like another user's. */
    open: () => openWatched(browser, { viewport: WINDOWS[0] }),
    async add(opened: Watched, name: string, { inLanguages = false, ready = 'main' }: AddOptions = {}): Promise<void> {
      pages++
      const file = `${String(pages).padStart(2, '0')}-${name}`
      await opened.page.waitForSelector(ready)
      const problems = await look(opened, file)
      if (inLanguages !== false) {
        const enter = inLanguages === true ? async () => {} : inLanguages
        problems.push(...(await lookInLanguages(opened, file, ready, enter)))
      }
      if (problems.length > 0) withProblems.push(name)
      const languages = inLanguages !== false ? `, in ${PLATFORM_LOCALES.length} languages` : ''
      const result = problems.length === 0 ? 'no problems' : problems.map((one) => one.replace(/\s+/g, ' ')).join('; ')
      process.stdout.write(`${file}${languages}: ${result}\n`)
    },
    /** Saves a terminal's content next to the pictures. */
    addScreen(name: string, screen: string): void {
      writeFileSync(join(folder, `terminal-${name}.txt`), `${screen}\n`)
    },
    count: () => ({ pages, pictures, withProblems: withProblems.length }),
  }
}

async function tooWide(page: Page): Promise<string[]> {
  const sideways = await page.evaluate<number>('document.scrollingElement.scrollWidth - innerWidth')
  return sideways > 0 ? [`the page scrolls sideways by ${sideways} px`] : []
}

async function missingTexts(page: Page): Promise<string[]> {
  const shown = await page.evaluate<string>('document.documentElement.innerText')
  return [...new Set(shown.match(MISSING_TEXT) ?? [])].map((key) => `a text is missing: ${key}`)
}
